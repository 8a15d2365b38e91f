"""A widget that draws blocks of text, however many, line by line as they are seen."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual
from textual.widget import Widget

from localmem.tui.markdown import CODE, Block
from localmem.tui.themes import PLAIN
from localmem.tui.typesetting import Line, typeset


class Written(Widget):
    """Blocks of text. Its links open nothing; a click on one tells where it leads."""

    class LinkClicked(Message):
        """A link was clicked."""

        def __init__(self, href: str) -> None:
            self.href = href
            super().__init__()

    def __init__(self, blocks: Sequence[Block] = ()) -> None:
        super().__init__()
        self.auto_links = False  # links have a style of their own
        self._blocks = blocks
        self._set_for: tuple[int, bool] | None = None  # width, whether it is plain
        self._lines: list[Line] = []

    def show(self, blocks: Sequence[Block]) -> None:
        """Draw these instead."""
        self._blocks = blocks
        self._set_for = None
        self.refresh(layout=True)

    def action_link(self, href: str) -> None:
        """Tell that a link was clicked."""
        self.post_message(self.LinkClicked(href))

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """All there is."""
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """A row for each line."""
        return len(self._set(width))

    def render_line(self, y: int) -> Strip:
        """Draw a line of the text."""
        width, style = self.size.width, self.visual_style
        lines = self._set(width)
        if y >= len(lines) or not width:
            return Strip.blank(width, style.rich_style)
        line = lines[y]
        content = line.content
        if line.code:
            room = width - line.before.cell_length - content.cell_length
            content = content.pad_right(max(room, 0)).stylize_before(CODE)
        content = line.before + content
        if self.text_selection is not None and (span := self.text_selection.get_span(y)):
            start, end = span
            selected = Style.from_styles(self.screen.get_component_styles("screen--selection"))
            content = content.stylize(selected, start, end if end >= 0 else None)
        (strip,) = Visual.to_strips(self, content, width, 1, style, apply_selection=False, pad=True)
        return strip.apply_offsets(0, y)

    def get_selection(self, selection: Selection) -> tuple[str, str]:
        """The selected text, its lines as long as they were written."""
        copied = joint = ""
        for y, line in enumerate(self._lines):
            if span := selection.get_span(y):
                start, end = span
                text = (line.before + line.content).plain
                copied += joint + text[max(start, line.begins) : end if end >= 0 else None]
                joint = line.joint
        return copied, "\n"

    def _set(self, width: int) -> list[Line]:
        now = width, self.app.theme == PLAIN.name
        if now != self._set_for:
            self._lines = typeset(self._blocks, width, plain=now[1])
            self._set_for = now
        return self._lines
