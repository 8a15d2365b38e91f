"""The layers of one session, from the summaries of its turns to what was said."""

from __future__ import annotations

import threading
from collections.abc import Sequence
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
from localmem.memory import Memory
from localmem.steps import DEPTH, Level
from localmem.tui.failures import failure_text
from localmem.tui.text import MUTED, label_of, one_line
from localmem.types import Message, Session

NAMES = ("L0 summaries", "L1 facts", "L2 notes", "L3 what was said")
LINES = 2000
"""Lines that are shown; each has to be laid out before the first is seen."""
LINE = 300
"""Characters of a line."""

Row = tuple[Content, Message | None]


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
        Binding("h", "turn(-1)", show=False),
        Binding("l", "turn(1)", show=False),
        *(Binding(str(place), f"layer({place})", show=False) for place in range(len(DEPTH))),
    ]

    def __init__(self, memory: Memory, session: Session) -> None:
        super().__init__()
        self._memory = memory
        self._session = session
        self._place = 0
        self._leads: dict[str, Message] = {}
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
        rows = message.rows[:LINES]
        self._tell(
            "Nothing to tell."
            if not rows
            else f"The first {LINES:,} of {len(message.rows):,} lines; localmem show has all."
            if len(message.rows) > LINES
            else "Enter opens the message behind a line."
        )
        self._leads = {str(i): lead for i, (_, lead) in enumerate(rows) if lead is not None}
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options(
            Option(text, id=str(i), disabled=lead is None) for i, (text, lead) in enumerate(rows)
        )
        options.action_first()

    @on(OptionList.OptionSelected)
    def _jump(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._leads.get(event.option_id or ""))

    @on(Worker.StateChanged)
    def _failed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR and not self._cancel.is_set():
            self._tell(failure_text(event.worker.error))


def rows_of(memory: Memory, session_id: int, level: Level, cancel: threading.Event) -> list[Row]:
    """The lines of a layer; what is missing of it is made by rule, as when it is asked for."""
    if level is Level.RAW:
        return [
            (Content.assemble((f"{label_of(m)}: ", MUTED), one_line(m.text or m.attachments, LINE)), m)
            for m in memory.path(session_id)
        ]
    messages = {message.id: message for message in memory.messages(session_id)}
    rows: list[Row] = []
    for entry in memory.layer(session_id, Layer(level.value), cancel=cancel):
        rows += _entry_rows(entry, messages)
    return rows


def _entry_rows(entry: Entry, messages: dict[int, Message]) -> list[Row]:
    turn = "" if entry.scope.turn is None else f"{entry.scope.turn + 1}. "
    maker = "" if entry.grade is Grade.MODEL else "  by rule"
    if isinstance(entry.content, Summary):
        told = [(entry.content.text, ", ".join(entry.content.keywords), entry.messages)]
    else:
        told = [(bullet.text, "", bullet.messages) for bullet in entry.content]
    rows: list[Row] = []
    for text, words, ids in told:
        if text:
            after = f"  [{one_line(words)}]" if words else ""
            line = Content.assemble((turn, MUTED), one_line(text, LINE), (after + maker, MUTED))
            rows.append((line, next((messages[i] for i in ids if i in messages), None)))
    return rows
