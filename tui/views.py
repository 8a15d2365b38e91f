"""What one message looks like: what a person said, an answer, and the messages that it cites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from localmem import types
from localmem.tui import reading
from localmem.tui.commands import Place, bindings
from localmem.tui.markdown import NOTHING, Block, Growing, blocks_of
from localmem.tui.reading import Entry
from localmem.tui.text import MUTED, SHOWN_CHARACTERS, counted, one_line, shown, source_of
from localmem.tui.written import Written


class Plain(Static):
    """A text as it is: no markup."""

    def __init__(self, text: str, classes: str | None = None) -> None:
        super().__init__(Content(text), classes=classes)


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
        line = f"{'Thought' if self._over else 'Thinking…'}: {counted(words, 'word')}"
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
        label = _label(entry.label, entry.version, user=False)
        if entry.thought:
            yield Static(label)
            yield Thoughts(entry.thought, over=True)
            yield Written([*entry.blocks, *_cost(entry.cost)])
        else:  # one widget where one does
            yield Written([Block(label), *entry.blocks, *_cost(entry.cost)])
        yield from _sources(entry.sources)

    def action_open(self) -> None:
        """Open or close its thoughts and all of the cited messages."""
        _open_all(self)


class Reply(Vertical, can_focus=True):
    """An answer while it is written; then as any other."""

    BINDINGS: ClassVar[list[BindingType]] = list(bindings(Place.MESSAGE))

    def __init__(self, label: str) -> None:
        super().__init__()
        self.message: types.Message | None = None
        self._label = Static(_label(label, "", user=False))
        self._text = ""
        self._growing = Growing()
        self._body = Written()
        self._thoughts: Thoughts | None = None

    def compose(self) -> ComposeResult:
        """The label above the text."""
        yield self._label
        yield self._body

    def action_open(self) -> None:
        """Open or close its thoughts and all of the cited messages."""
        _open_all(self)

    async def think(self, piece: str) -> None:
        """Add a piece of what is thought before the answer."""
        if self._thoughts is None:
            self._thoughts = Thoughts("", over=False)
            await self.mount(self._thoughts, after=self._label)
        self._thoughts.think(piece)

    def write(self, piece: str) -> None:
        """Add a piece of the answer."""
        self._thought()
        self._text += piece
        if len(self._text) <= SHOWN_CHARACTERS:
            self._body.show(self._growing.add(shown(piece)))
        else:
            self._body.show(blocks_of(shown(self._text)))

    def withdraw(self) -> None:
        """Take back what was written: another answer follows."""
        self._text = ""
        self._growing = Growing()
        self._body.show([])

    async def end(self, entry: Entry | None, cost: str) -> None:
        """Show the answer as it was stored; None: nothing was. ``cost`` is a line below it."""
        self._thought()
        if entry is not None:
            self.message = entry.message
            self._label.update(_label(entry.label, entry.version, user=False))
        self._body.show([*(entry.blocks if entry else ()), *_cost(cost)])
        await self.mount_all(_sources(entry.sources if entry else ()))

    async def fail(self) -> None:
        """The model failed: what it wrote is stored, and what it cost is not known."""
        self._thought()
        if self._text.strip():
            await self.mount(Plain("not finished; what was written is kept", "cost"))
        else:
            await self.remove()

    def _thought(self) -> None:
        if self._thoughts is not None:
            self._thoughts.end()


def view_of(entry: Entry) -> Said | Answer:
    """The widget of a message."""
    return Said(entry) if entry.user else Answer(entry)


def _label(label: str, version: str, *, user: bool) -> Content:
    who, comma, when = label.partition(", ")
    parts = [(who, "bold $text-primary" if user else "bold $text-success"), (f"{comma}{when}", MUTED)]
    if version:
        parts.append((f"  ‹ {version} ›", "bold $text-warning"))
    return Content.assemble(*parts)


def _cost(cost: str) -> list[Block]:
    return [Block(NOTHING), Block(Content.styled(cost, MUTED))] if cost else []


def _sources(sources: Sequence[reading.Source]) -> list[Source]:
    return [Source(number, message, title) for number, (message, title) in enumerate(sources, 1)]


def _open_all(view: Widget) -> None:
    for part in view.query(Thoughts):
        part.action_open()
    for source in view.query(Source):
        source.action_open()
