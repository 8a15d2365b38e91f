"""The layers of one session, from the summaries of its turns to what was said."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message as Posted
from textual.screen import ModalScreen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import Worker, WorkerState

from localmem.entries import Entry, Grade, Layer, Summary
from localmem.errors import LocalmemError
from localmem.memory import Memory
from localmem.steps import DEPTH, Level
from localmem.tui.commands import Place, bindings
from localmem.tui.failures import failure_text
from localmem.tui.text import MUTED, PINNED, UNPINNED, label_of, one_line
from localmem.types import Message, Session

NAMES = ("L0 summaries", "L1 facts", "L2 notes", "L3 what was said")
LINES = 2000
"""Lines that are shown; each has to be laid out before the first is seen."""
LINE = 300
"""Characters of a line."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a layer."""

    before: str
    text: str
    after: str
    lead: Message | None
    """The message that it leads to."""
    sources: tuple[int, ...]
    """Ids of all messages that say it."""

    def shown(self, *, pinned: bool) -> Content:
        """The line as it is drawn."""
        mark = "  pinned" if pinned else ""
        return Content.assemble(
            (self.before, MUTED), one_line(self.text, LINE), (self.after, MUTED), (mark, "$text-warning")
        )


class LayerRead(Posted):
    """The lines of a layer, each with the message that it leads to."""

    def __init__(self, place: int, rows: Sequence[Row]) -> None:
        self.place = place
        self.rows = rows
        super().__init__()


class LayerView(ModalScreen[Message | None]):
    """Returns the message to be opened in its session; None: none."""

    AUTO_FOCUS = "OptionList"
    DEFAULT_CSS = """
    LayerView { align: center middle; }
    LayerView > Vertical { width: 96%; max-width: 130; height: 92%; border: round $border; padding: 0 1;
        background: $surface; }
    LayerView OptionList, LayerView OptionList:focus {
        height: 1fr; border: none; background: $surface; margin: 1 0 0 0; }
    LayerView OptionList > .option-list--option-highlighted,
    LayerView OptionList:focus > .option-list--option-highlighted {
        background: $block-cursor-blurred-background; color: $foreground; text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Back"),
        Binding("left", "turn(-1)", "Coarser"),
        Binding("right", "turn(1)", "Finer"),
        *bindings(Place.LAYERS),
        Binding("h", "turn(-1)", show=False),
        Binding("l", "turn(1)", show=False),
        *(Binding(str(place), f"layer({place})", show=False) for place in range(len(DEPTH))),
    ]

    def __init__(self, memory: Memory, session: Session) -> None:
        super().__init__()
        self._memory = memory
        self._session = session
        self._place = 0
        self._rows: Sequence[Row] = ()
        self._cancel = threading.Event()

    def compose(self) -> ComposeResult:
        """The session and its layers above the lines."""
        with Vertical():
            yield Static("", id="layers", markup=False)
            yield OptionList(markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Begin with the coarsest."""
        self.action_layer(0)

    def on_unmount(self) -> None:
        """Give up a layer that is being made."""
        self._cancel.set()

    def action_turn(self, by: int) -> None:
        """Go one layer finer or coarser."""
        self.action_layer(min(max(self._place + by, 0), len(DEPTH) - 1))

    def action_layer(self, place: int) -> None:
        """Show a layer."""
        self._cancel.set()
        self._cancel = threading.Event()
        self._place = place
        self.query_one(OptionList).clear_options()
        self._tell("Reading…")
        self._read(place, self._cancel)

    def _tell(self, text: str) -> None:
        title = one_line(self._session.title) or one_line(self._session.external_id)
        parts: list[Content | str | tuple[str, str]] = [(f"{title}\n", "bold")]
        for place, name in enumerate(NAMES):
            parts.append((f" {name} ", "reverse" if place == self._place else MUTED))
        self.query_one("#layers", Static).update(Content.assemble(*parts, (f"\n{text}", MUTED)))

    @work(thread=True, exclusive=True, group="layer", exit_on_error=False)
    def _read(self, place: int, cancel: threading.Event) -> None:
        rows = rows_of(self._memory, self._session.id, DEPTH[place], cancel)
        if not cancel.is_set():
            self.post_message(LayerRead(place, rows))

    def on_layer_read(self, message: LayerRead) -> None:
        """Show its lines."""
        if message.place != self._place:
            return
        rows = self._rows = message.rows[:LINES]
        self._tell(
            "Nothing to tell."
            if not rows
            else f"The first {LINES:,} of {len(message.rows):,} lines; localmem show has all."
            if len(message.rows) > LINES
            else "Enter opens the message behind a line, p pins it."
        )
        pinned = self._pinned()
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options(
            Option(row.shown(pinned=_key(row) in pinned), disabled=row.lead is None) for row in rows
        )
        options.action_first()

    def _pinned(self) -> set[tuple[str, tuple[int, ...]]]:
        return {(pin.text, pin.messages) for pin in self._memory.pins.all()}

    @on(OptionList.OptionSelected)
    def _jump(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._rows[event.option_index].lead)

    def action_pin(self) -> None:
        """Pin the highlighted line, or take its pin away."""
        options = self.query_one(OptionList)
        place = options.highlighted
        if place is None:
            return
        row = self._rows[place]
        try:
            pinned = self._memory.pins.toggle(row.text, row.sources)
        except LocalmemError as error:
            self._tell(failure_text(error))
            return
        options.replace_option_prompt_at_index(place, row.shown(pinned=pinned))
        self._tell(PINNED if pinned else UNPINNED)

    @on(Worker.StateChanged)
    def _failed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR and not self._cancel.is_set():
            self._tell(failure_text(event.worker.error))


def rows_of(memory: Memory, session_id: int, level: Level, cancel: threading.Event) -> list[Row]:
    """The lines of a layer; what is missing of it is made by rule, as when it is asked for."""
    if level is Level.RAW:
        return [
            Row(f"{label_of(m)}: ", m.text or m.attachments, "", m, (m.id,)) for m in memory.path(session_id)
        ]
    messages = {message.id: message for message in memory.messages(session_id)}
    rows: list[Row] = []
    for entry in memory.layer(session_id, Layer(level.value), cancel=cancel):
        rows += _entry_rows(entry, messages)
    return rows


def _entry_rows(entry: Entry, messages: dict[int, Message]) -> list[Row]:
    turn = "" if entry.scope.turn is None else f"{entry.scope.turn + 1}. "
    maker = "" if entry.grade is Grade.MODEL else "  by rule"
    keywords = entry.content.keywords if isinstance(entry.content, Summary) else ()
    words = f"  [{one_line(', '.join(keywords))}]" if keywords else ""
    return [
        Row(turn, line.text, words + maker, _first(line.messages, messages), line.messages)
        for line in entry.lines
    ]


def _first(ids: Sequence[int], messages: dict[int, Message]) -> Message | None:
    return next((messages[i] for i in ids if i in messages), None)


def _key(row: Row) -> tuple[str, tuple[int, ...]]:
    return row.text.strip(), tuple(sorted(set(row.sources)))
