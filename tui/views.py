"""What one message looks like: what a person said, an answer, and the messages that it cites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from markdown_it import MarkdownIt
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Markdown, Static
from textual.widgets.markdown import MarkdownStream

from localmem import types
from localmem.tui import reading
from localmem.tui.commands import Place, bindings
from localmem.tui.reading import Entry
from localmem.tui.text import (
    MARKDOWN_BLOCKS,
    MUTED,
    SHOWN_CHARACTERS,
    block_count,
    markdown_parser,
    one_line,
    shown,
    source_of,
)


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


class Said(Static, can_focus=True):
    """What a person said, as it is; Enter opens what is attached to it."""

    BINDINGS: ClassVar[list[BindingType]] = list(bindings(Place.MESSAGE))

    def __init__(self, entry: Entry) -> None:
        self.message = entry.message
        self._entry = entry
        super().__init__(self._content(opened=False))
        self.set_class(entry.user, "-user")

    def action_open(self) -> None:
        """Show what is attached, or only its first line."""
        self.toggle_class("-open")
        self.update(self._content(opened=self.has_class("-open")))

    def _content(self, *, opened: bool) -> Content:
        entry = self._entry
        lines = [_label(entry.label, entry.version, user=entry.user), Content(entry.text)]
        if entry.attached:
            text = entry.attached
            if opened:
                text = shown(entry.message.attachments, entry.message.session_id or None)
            lines.append(Content.styled(text, MUTED))
        return Content("\n").join(line for line in lines if line.plain)


class Source(Static, can_focus=True):
    """A cited message on one line; Enter or a click opens the whole."""

    BINDINGS: ClassVar[list[BindingType]] = list(bindings(Place.MESSAGE, lambda c: c.name == "open"))

    def __init__(self, number: int, message: types.Message, title: str) -> None:
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


class Thoughts(Static, can_focus=True):
    """What the model thought before it answered, on one line; Enter or a click opens the whole."""

    BINDINGS: ClassVar[list[BindingType]] = list(bindings(Place.MESSAGE, lambda c: c.name == "open"))

    def __init__(self, text: str, *, over: bool) -> None:
        super().__init__()
        self._text = text
        self._over = over
        self.update(self._content())

    def think(self, piece: str) -> None:
        """Add a piece."""
        self._text += piece
        self.update(self._content())

    def end(self) -> None:
        """It is thought out."""
        self._over = True
        self.update(self._content())

    def action_open(self) -> None:
        """Open or close it."""
        self.toggle_class("-open")
        self.update(self._content())

    def on_click(self) -> None:
        """A click does what Enter does."""
        self.action_open()

    def _content(self) -> Content:
        words = len(self._text.split())
        line = f"{'Thought' if self._over else 'Thinking…'}: {words:,} {'word' if words == 1 else 'words'}"
        if self.has_class("-open"):
            return Content(f"{line}\n{shown(self._text.strip())}")
        return Content(f"{line} (Enter opens)")


class Answer(Vertical, can_focus=True):
    """An answer, drawn as Markdown, with its cost and what it cites."""

    BINDINGS: ClassVar[list[BindingType]] = list(bindings(Place.MESSAGE))

    def __init__(self, entry: Entry) -> None:
        super().__init__()
        self.message: types.Message | None = entry.message
        self._entry = entry

    def compose(self) -> ComposeResult:
        """The label and the thoughts above the text, the cost and the cited messages below."""
        entry = self._entry
        yield Static(_label(entry.label, entry.version, user=False), classes="label")
        if entry.thought:
            yield Thoughts(entry.thought, over=True)
        yield Document(entry.text) if entry.blocks else Plain(entry.text, "body")
        yield from _below(entry.cost, entry.sources)

    def action_open(self) -> None:
        """Open or close its thoughts and all of the cited messages."""
        _open_all(self)


class Reply(Vertical, can_focus=True):
    """An answer while it is written; then as any other."""

    BINDINGS: ClassVar[list[BindingType]] = list(bindings(Place.MESSAGE))

    def __init__(self, label: str) -> None:
        super().__init__()
        self.message: types.Message | None = None
        self._label = label
        self._written = ""
        self._document = Document()
        self._plain: Plain | None = None
        self._thoughts: Thoughts | None = None
        self._stream: MarkdownStream | None = None

    def compose(self) -> ComposeResult:
        """The label above the text."""
        yield Static(_label(self._label, "", user=False), classes="label")
        yield self._document

    def action_open(self) -> None:
        """Open or close its thoughts and all of the cited messages."""
        _open_all(self)

    async def think(self, piece: str) -> None:
        """Add a piece of what is thought before the answer."""
        if self._thoughts is None:
            self._thoughts = Thoughts("", over=False)
            await self.mount(self._thoughts, before=self._document)
        self._thoughts.think(piece)

    async def write(self, piece: str) -> None:
        """Add a piece of the answer."""
        if self._thoughts is not None and not self._written:
            self._thoughts.end()
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

    async def end(self, entry: Entry | None, cost: str) -> None:
        """Show the answer as it was stored; None: nothing was. ``cost`` is a line below it."""
        await self._end_stream()
        if entry is not None:
            self.message = entry.message
            self.query_one(".label", Static).update(_label(entry.label, entry.version, user=False))
        final = entry.text if entry else ""
        if self._plain is not None:
            self._plain.update(Content(final))
        else:
            await self._document.finish(final)
        await self.mount_all(_below(cost, entry.sources if entry else ()))

    async def fail(self) -> None:
        """The model failed: what it wrote is stored, and what it cost is not known."""
        await self._end_stream()
        if self._written.strip():
            await self.mount(Plain("not finished; what was written is kept", "cost"))
        else:
            await self.remove()

    async def _show_plain(self, text: str) -> None:
        await self._end_stream()
        self._plain = Plain(text, "body")
        await self.mount(self._plain, after=self._document)
        await self._document.remove()

    async def _end_stream(self) -> None:
        if self._thoughts is not None:
            self._thoughts.end()
        if self._stream is not None:
            await self._stream.stop()
            self._stream = None


def view_of(entry: Entry) -> Said | Answer:
    """The widget of a message."""
    return Said(entry) if entry.user else Answer(entry)


def _label(label: str, version: str, *, user: bool) -> Content:
    who, comma, when = label.partition(", ")
    parts = [(who, "bold $text-primary" if user else "bold $text-success"), (f"{comma}{when}", MUTED)]
    if version:
        parts.append((f"  ‹ {version} ›", "bold $text-warning"))
    return Content.assemble(*parts)


def _below(cost: str, sources: Sequence[reading.Source]) -> list[Widget]:
    lines: list[Widget] = [Plain(cost, "cost")] if cost else []
    return lines + [Source(number, message, title) for number, (message, title) in enumerate(sources, 1)]


def _open_all(view: Widget) -> None:
    for part in view.query(Thoughts):
        part.action_open()
    for source in view.query(Source):
        source.action_open()
