"""What was said: the scrolling list of messages, answers as they are written, and what they cite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from markdown_it import MarkdownIt
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Markdown, Static
from textual.widgets.markdown import MarkdownStream

from localmem.tui.text import (
    MARKDOWN_BLOCKS,
    SHOWN_CHARACTERS,
    SHOWN_MESSAGES,
    Entry,
    block_count,
    cost_line,
    markdown_parser,
    one_line,
    shown,
    source_of,
)
from localmem.types import Ledger, Message, Role

BATCH_BLOCKS = 40
"""Widgets that opening a session mounts at a time: a fifth of a second, so that keys are answered."""


_LABEL = {Role.USER: "bold $text-primary", Role.ASSISTANT: "bold $text-success"}


class Plain(Static):
    """A text as it is: no markup."""

    def __init__(self, text: str, classes: str | None = None) -> None:
        super().__init__(Content(text), classes=classes)


class Document(Markdown):
    """A text as Markdown. Its links open nothing; a click on one tells where it leads."""

    def __init__(self, text: str = "") -> None:
        super().__init__(text, parser_factory=self._parser, open_links=False)
        self._streaming = False

    def stream(self) -> MarkdownStream:
        """Where pieces of the text are written as they come; :meth:`finish` ends it."""
        self._streaming = True
        return Markdown.get_stream(self)

    async def finish(self, text: str) -> None:
        """Show the whole text."""
        self._streaming = False
        if text != self.source.strip() or block_count(text) != block_count(text, tables=False):
            await self.update(text)

    def on_markdown_table_of_contents_updated(self) -> None:
        """After an update: table cells come with tooltips that are read as markup, and crash on ``[/``."""
        for cell in self.query("MarkdownTableCellContents"):
            cell.tooltip = None

    def _parser(self) -> MarkdownIt:
        # Textual 8 fails on a table that loses a row as it is written, when code follows: drawn at the end.
        return markdown_parser(tables=not self._streaming)


class Said(Static):
    """One message as it is: who, and the text."""

    def __init__(self, label: str, text: str, role: Role = Role.USER) -> None:
        super().__init__(Content.assemble((label, _LABEL[role]), "\n", text))


class Answered(Vertical):
    """An earlier answer, drawn as Markdown."""

    def __init__(self, label: str, text: str) -> None:
        super().__init__()
        self._label = label
        self._text = text

    def compose(self) -> ComposeResult:
        """The label above the text."""
        yield Static(Content.styled(self._label, _LABEL[Role.ASSISTANT]))
        yield Document(self._text)


class Source(Static, can_focus=True):
    """A cited message on one line; Enter or a click opens the whole."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open", "Open or close")]

    def __init__(self, number: int, message: Message, title: str) -> None:
        head = f"[{number}] {source_of(message, title)}:"
        self._line = f"{head} {one_line(message.text)}"
        self._whole = f"{head}\n{shown(message.text, message.session_id)}"
        super().__init__(Content(self._line))

    def action_open(self) -> None:
        """Open or close it."""
        self.toggle_class("-open")
        self.update(Content(self._whole if self.has_class("-open") else self._line))

    def on_click(self) -> None:
        """A click does what Enter does."""
        self.action_open()


class Reply(Vertical):
    """An answer while it is written, then with its cost and what it cites."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self._label = label
        self._written = ""
        self._document = Document()
        self._plain: Plain | None = None
        self._stream: MarkdownStream | None = None

    def compose(self) -> ComposeResult:
        """The label above the text."""
        yield Static(Content.styled(self._label, _LABEL[Role.ASSISTANT]))
        yield self._document

    async def write(self, piece: str) -> None:
        """Add a piece of the answer."""
        self._written += piece
        text = shown(self._written)
        if self._plain is not None:
            self._plain.update(Content(text))
        elif len(self._written) > SHOWN_CHARACTERS or ("\n" in piece and block_count(text) > MARKDOWN_BLOCKS):
            await self._show_plain(text)
        else:
            # The stream is made with the first piece: one that never ran cannot be stopped.
            self._stream = self._stream or self._document.stream()
            await self._stream.write(shown(piece))

    async def withdraw(self) -> None:
        """Take back what was written: another answer follows."""
        await self._end_stream()
        self._written = ""
        if self._plain is not None:
            self._plain.update(Content(""))
        else:
            await self._document.update("")

    async def end(self, text: str, session_id: int | None) -> None:
        """Show the answer as it was stored."""
        await self._end_stream()
        final = shown(text, session_id)
        if self._plain is not None:
            self._plain.update(Content(final))
        else:
            await self._document.finish(final)

    async def fail(self) -> None:
        """The model failed: what it wrote is stored, and what it cost is not known."""
        await self._end_stream()
        if self._written.strip():
            await self.mount(Plain("not finished; what was written is kept", "cost"))
        else:
            await self.remove()

    async def add_cost(self, ledger: Ledger, note: str, sources: Sequence[tuple[Message, str]]) -> None:
        """Add what was recalled, what it cost, and the cited messages."""
        lines: list[Widget] = [Plain(cost_line(ledger, note), "cost")]
        lines += [Source(number, message, title) for number, (message, title) in enumerate(sources, 1)]
        await self.mount_all(lines)

    async def _show_plain(self, text: str) -> None:
        await self._end_stream()
        self._plain = Plain(text)
        await self.mount(self._plain, after=self._document)
        await self._document.remove()

    async def _end_stream(self) -> None:
        if self._stream is not None:
            await self._stream.stop()
            self._stream = None


class Transcript(VerticalScroll):
    """The messages of the session that is open. It stays at the end until the person scrolls up."""

    async def clear(self) -> None:
        """Show nothing."""
        await self.remove_children()
        self.anchor()

    async def add(self, widget: Widget) -> None:
        """Show one more thing at the end."""
        self.anchor()
        await self.mount(widget)
        if len(self.children) > SHOWN_MESSAGES * 3 // 2:  # the more there is, the longer every key takes
            await self.remove_children(self.children[:-SHOWN_MESSAGES])

    async def fill(self, entries: Sequence[Entry], older: str) -> None:
        """Show stored messages above what is there, the newest first, a few at a time.

        ``older`` is a line about those that are left out, or empty.
        """
        widgets: list[Widget] = []
        blocks = 0
        for entry in reversed(entries):
            drawn = entry.blocks > 0
            widgets.append(
                Answered(entry.label, entry.text) if drawn else Said(entry.label, entry.text, entry.role)
            )
            blocks += 1 + entry.blocks
            if blocks >= BATCH_BLOCKS:
                await self._mount_above(widgets)
                widgets, blocks = [], 0
        if older:
            widgets.append(Plain(older, "cost"))
        await self._mount_above(widgets)

    async def _mount_above(self, newest_first: Sequence[Widget]) -> None:
        if newest_first:
            await self.mount_all(newest_first[::-1], before=0 if self.children else None)
