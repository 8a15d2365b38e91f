"""The evidence of an answer: what it rests on, how that was found, and what can be done about it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message as Posted
from textual.screen import ModalScreen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import Worker, WorkerState, get_current_worker

from localmem.events import Event
from localmem.memory import Memory
from localmem.privacy.selection import Selection
from localmem.tui import reading
from localmem.tui.basis import Basis
from localmem.tui.choice import Choice
from localmem.tui.commands import Place, bindings
from localmem.tui.failures import failure_text
from localmem.tui.text import MUTED, one_line, shown, source_of
from localmem.types import Message

LOOK_S = 0.2
"""How often a search that is running is looked at."""
LINE = 300
"""Characters of a message in the list."""

Ask = Callable[[threading.Event], Iterator[Event]]
"""Asks the question again with more effort; the event cancels it."""


@dataclass(frozen=True, slots=True)
class Left:
    """How the panel was left."""

    session_id: int | None = None
    """The session to open, None: none; at this message:"""
    message_id: int | None = None
    without: int | None = None
    """Id of a message that the answer must do without."""
    correct: Message | None = None
    """The message that the person wants to correct."""
    forgotten: bool = False
    """Whether something was forgotten for ever."""


class RowsRead(Posted):
    """What there is to show: headings without a message, lines with the one they lead to."""

    def __init__(self, rows: Sequence[tuple[Content, Message | None]]) -> None:
        self.rows = rows
        super().__init__()


class Selected(Posted):
    """What would go with a message that is wrong."""

    def __init__(self, message: Message, selection: Selection) -> None:
        self.message = message
        self.selection = selection
        super().__init__()


class Forgotten(Posted):
    """It is gone."""


class Evidence(ModalScreen[Left]):
    """The panel. ``ask`` is None when a deeper answer cannot be had; ``why_not`` says why."""

    AUTO_FOCUS = "OptionList"
    DEFAULT_CSS = """
    Evidence { align: center middle; }
    Evidence > Vertical { width: 96%; max-width: 130; height: 92%; border: round $border; padding: 0 1;
        background: $surface; }
    Evidence #about { color: $text-muted; height: auto; max-height: 3; }
    Evidence #deeper { height: auto; max-height: 40%; display: none; border-left: outer $success;
        padding: 0 1; margin: 1 0 0 0; }
    Evidence OptionList, Evidence OptionList:focus {
        height: 1fr; border: none; background: $surface; margin: 1 0 0 0; }
    Evidence OptionList > .option-list--option-highlighted,
    Evidence OptionList:focus > .option-list--option-highlighted {
        background: $block-cursor-blurred-background; color: $foreground; text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back"),
        *bindings(Place.EVIDENCE),
    ]

    def __init__(self, memory: Memory, question: str, basis: Basis, ask: Ask | None, why_not: str) -> None:
        super().__init__()
        self._memory = memory
        self._question = one_line(question)
        self._basis = basis
        self._ask = ask
        self._why_not = why_not
        self._seen: object = None
        self._cancel: threading.Event | None = None
        self._leads: dict[str, Message] = {}
        self._forgotten = False

    def compose(self) -> ComposeResult:
        """The question and the cost, a deeper answer, the lines."""
        with Vertical():
            yield Static("", id="about", markup=False)
            with VerticalScroll(id="deeper", can_focus=False):
                yield Static("", id="deeper-text", markup=False)
            yield OptionList(markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Look now, and as long as there may be more."""
        self._look()
        self.set_interval(LOOK_S, self._look)

    def on_unmount(self) -> None:
        """Whatever closes it, a question that is being asked is given up."""
        if self._cancel is not None:
            self._cancel.set()

    def _look(self) -> None:
        basis = self._basis
        size = (id(basis), basis.size)
        if size == self._seen:
            return
        self._seen = size
        now = basis.cost if basis.over else "Looking… Esc stops." if self._cancel else "Looking…"
        self.query_one("#about", Static).update(Content(f"{self._question}\n{now}"))
        deeper = self.query_one("#deeper")
        deeper.display = bool(basis.answer)
        self.query_one("#deeper-text", Static).update(Content(shown(basis.answer)))
        self._read(basis)

    @work(thread=True, exclusive=True, group="rows", exit_on_error=False)
    def _read(self, basis: Basis) -> None:
        rows = rows_of(self._memory, basis)
        if not get_current_worker().is_cancelled:
            self.post_message(RowsRead(rows))

    def on_rows_read(self, message: RowsRead) -> None:
        """Show the lines; the one that was highlighted stays so."""
        options = self.query_one(OptionList)
        before = options.highlighted
        options.clear_options()
        self._leads = {str(i): lead for i, (_, lead) in enumerate(message.rows) if lead is not None}
        options.add_options(
            Option(text, id=str(i), disabled=lead is None) for i, (text, lead) in enumerate(message.rows)
        )
        if before is not None and str(before) in self._leads:
            options.highlighted = before
        else:
            options.action_first()

    def _lead(self) -> Message | None:
        """The message of the highlighted line; without one the person is told."""
        option = self.query_one(OptionList).highlighted_option
        lead = self._leads.get(option.id or "") if option else None
        if lead is None:
            self._say("Select a message first.")
        return lead

    # What can be done

    def action_leave(self) -> None:
        """Stop the question that is being asked, else back to the chat."""
        if self._cancel is not None:
            self._cancel.set()
        else:
            self.dismiss(Left(forgotten=self._forgotten))

    @on(OptionList.OptionSelected)
    def _jump(self) -> None:
        lead = self._lead()
        if lead is None:
            return
        if not lead.session_id:
            self._say("This message is kept in no session.")
        else:
            self.dismiss(Left(lead.session_id, lead.id, forgotten=self._forgotten))

    def action_more(self) -> None:
        """Ask the same question with more effort."""
        if self._busy():
            return
        if self._ask is None:
            self._say(self._why_not)
            return
        self._basis, self._cancel = Basis(), threading.Event()
        self._look()
        self._deeper(self._ask, self._basis, self._cancel)

    @work(thread=True, exclusive=True, group="deeper", exit_on_error=False)
    def _deeper(self, ask: Ask, basis: Basis, cancel: threading.Event) -> None:
        for event in ask(cancel):
            basis.take(event)

    def action_without(self) -> None:
        """Have the chat answer again without this message."""
        lead = None if self._busy() else self._lead()
        if lead is not None:
            self.dismiss(Left(without=lead.id, forgotten=self._forgotten))

    def action_wrong(self) -> None:
        """Forget a message, or say what is right."""
        lead = None if self._busy() else self._lead()
        if lead is not None:
            self._select(lead)

    @work(thread=True, exclusive=True, group="select", exit_on_error=False)
    def _select(self, message: Message) -> None:
        self.post_message(Selected(message, self._memory.select(message_id=message.id)))

    def on_selected(self, message: Selected) -> None:
        """Ask what is to be done, and tell what goes with it."""
        wrong, selection = message.message, message.selection
        goes = f"{_count(len(selection.messages), 'message')} and "
        goes += f"{_count(len(selection.answers), 'answer')} that rest on it"

        def chosen(way: str | None) -> None:
            if way == "correct":
                self.dismiss(Left(correct=wrong, forgotten=self._forgotten))
            elif way == "forget":
                self._say("Forgetting…")
                self._forget(selection)

        ways = {
            "keep": "Leave it as it is",
            "correct": "Write what is right: what is said later counts",
            "forget": f"Forget it for ever, without undo: {goes}",
        }
        self.app.push_screen(Choice(f"“{one_line(wrong.text)}”", ways), chosen)

    @work(thread=True, exclusive=True, group="forget", exit_on_error=False)
    def _forget(self, selection: Selection) -> None:
        self._memory.forget(selection)
        self.post_message(Forgotten())

    def on_forgotten(self) -> None:
        """Back to the chat, whose answers may be gone too."""
        self.dismiss(Left(forgotten=True))

    def _busy(self) -> bool:
        if not self._basis.over:
            self._say("Something is still being looked for.")
        return not self._basis.over

    @on(Worker.StateChanged)
    def _ended(self, event: Worker.StateChanged) -> None:
        done = event.state in (WorkerState.SUCCESS, WorkerState.ERROR, WorkerState.CANCELLED)
        if event.worker.group == "deeper" and done:
            self._basis.over = True
            self._cancel = None
        if event.state is WorkerState.ERROR:
            self._basis.cost = self._basis.cost or "It failed."
            self._say(failure_text(event.worker.error))

    def _say(self, text: str) -> None:
        self.notify(text, markup=False)


def rows_of(memory: Memory, basis: Basis) -> list[tuple[Content, Message | None]]:
    """The lines of the panel; reads memory."""
    ids = [*basis.cited, *(i for need in basis.needs for i in need.met_by), *(m.id for m in basis.recalled)]
    found = {message.id: (message, title) for message, title in reading.sources_of(memory, ids)}
    rows: list[tuple[Content, Message | None]] = []

    def heading(text: str) -> None:
        rows.append((Content.styled(text, "bold $text-primary"), None))

    def line(begin: str, message_id: int) -> None:
        if message_id in found:
            rows.append((_line(begin, *found[message_id]), found[message_id][0]))
        else:
            rows.append((Content.styled(f"{begin}no longer there", MUTED), None))

    if basis.needs:
        heading("What the question requires")
    for need in basis.needs:
        begin = f"{one_line(need.text, 80)}: "
        if not need.met_by:
            rows.append((Content.assemble(begin, ("not found", "$text-warning")), None))
        for message_id in need.met_by:
            line(begin, message_id)
    heading("Cited" if basis.cited else "Nothing is cited" if basis.over else "Nothing is cited yet")
    for number, message_id in enumerate(basis.cited, 1):
        line(f"[{number}] ", message_id)
    others = [message.id for message in basis.recalled if message.id not in basis.cited]
    if others:
        heading("Recalled too")
        for message_id in others:
            line("", message_id)
    if basis.steps:
        heading("How it was found")
        rows += [(Content.styled(step, MUTED), None) for step in list(basis.steps)]
    return rows


def _line(begin: str, message: Message, title: str) -> Content:
    return Content.assemble(begin, (f"{source_of(message, title)}: ", MUTED), one_line(message.text, LINE))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
