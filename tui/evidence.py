"""The evidence of an answer: what it rests on, how that was found, and what can be done about it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.message import Message as Posted
from textual.screen import ModalScreen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import Worker, WorkerState, get_current_worker

from localmem.disclosure.budget import EFFORTS, Budget
from localmem.events import Event
from localmem.memory import Memory
from localmem.privacy.selection import Selection
from localmem.steps import Step
from localmem.tui.basis import Basis
from localmem.tui.choice import Choice
from localmem.tui.commands import Place, bindings
from localmem.tui.evidence_rows import Row, rows_of
from localmem.tui.failures import failure_text
from localmem.tui.text import counted, one_line, shown
from localmem.types import Message

LOW = 25
"""Rows below which only the list, the cost and a deeper answer are shown."""
LOOK_S = 0.2
"""How often a search that is running is looked at."""

Ask = Callable[[Budget, int | None, threading.Event], Iterator[Event]]
"""Asks the question within a budget, or goes on from a trace; the event cancels it."""


@dataclass(frozen=True, slots=True)
class Left:
    """How the panel was left."""

    session_id: int | None = None
    """The session to open, None: none; at this message:"""
    message_id: int | None = None
    toggled: int | None = None
    """Id of a message that the answer must do without, or may use again."""
    keep: Basis | None = None
    """That of the deeper answer, which is to go into the chat."""
    correct: Message | None = None
    """The message that the person wants to correct."""
    forgotten: bool = False
    """Whether something was forgotten for ever."""


class RowsRead(Posted):
    """What there is to show: headings without a message, lines with the one they lead to."""

    def __init__(self, rows: Sequence[Row]) -> None:
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
    Evidence #question { height: 1; text-style: bold; text-wrap: nowrap; text-overflow: ellipsis; }
    Evidence #about { color: $text-muted; height: auto; max-height: 4; }
    Evidence #deeper { height: auto; max-height: 40%; display: none; border-left: outer $success;
        padding: 0 1; margin: 1 0 0 0; }
    Evidence OptionList, Evidence OptionList:focus {
        height: 1fr; border: none; padding: 0; background: $surface; margin: 1 0 0 0;
        scrollbar-size-vertical: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    Evidence #whole { height: auto; max-height: 30%; border-top: solid $foreground 25%; }
    Evidence #whole-text { color: $text-muted; }
    Evidence.-low #whole, Evidence #whole.-empty { display: none; }
    Evidence.-low OptionList, Evidence.-low #deeper { margin: 0; }
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
        self._basis = self._first = basis
        self._ask = ask
        self._why_not = why_not
        self._seen: object = None
        self._cancel: threading.Event | None = None
        self._leads: dict[str, Message] = {}
        self._forgotten = False

    def compose(self) -> ComposeResult:
        """The question and the cost, a deeper answer, the lines."""
        with Vertical():
            yield Static(Content(self._question), id="question", markup=False)
            yield Static("", id="about", markup=False)
            with VerticalScroll(id="deeper", can_focus=False):
                yield Static("", id="deeper-text", markup=False)
            yield OptionList(markup=False)
            with VerticalScroll(id="whole", classes="-empty", can_focus=False):
                yield Static("", id="whole-text", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Look now, and as long as there may be more."""
        self._look()
        self.set_interval(LOOK_S, self._look)

    def on_resize(self, event: Resize) -> None:
        """In a low window the list needs the room."""
        self.set_class(event.size.height < LOW, "-low")

    def on_unmount(self) -> None:
        """Whatever closes it, a question that is being asked is given up."""
        if self._cancel is not None:
            self._cancel.set()

    def _look(self) -> None:
        basis = self._basis
        self.query_one("#about", Static).update(Content(self._now()))
        size = (id(basis), basis.size)
        if size == self._seen:
            return
        self._seen = size
        self.query_one("#deeper").display = basis.answer is not None
        if basis.answer is not None:
            self.query_one("#deeper-text", Static).update(Content(shown(basis.answer.text)))
        self.refresh_bindings()
        self._read(basis)

    def _now(self) -> str:
        """What it cost; while it works, how far it is and what it may cost."""
        basis = self._basis
        if basis.over and basis.answer is not None:
            return f"{basis.cost}\nm goes on from here, k keeps this answer in the chat."
        if basis.over:
            return basis.cost
        if basis.budget is None:
            return "Looking…"
        steps = sum(isinstance(step, Step) for step in basis.steps)
        now = f"{counted(steps, 'step')} in {time.monotonic() - basis.started:.0f} s"
        stops = (
            "Stopping…"
            if self._cancel and self._cancel.is_set()
            else "Esc stops and answers with what it has."
        )
        doing = "Writing the answer" if basis.recalled else "Spending more"
        return f"{doing}: {now}. {stops}\nAt most: {limits_text(basis.budget)}."

    @work(thread=True, exclusive=True, group="rows", exit_on_error=False)
    def _read(self, basis: Basis) -> None:
        rows = rows_of(self._memory, basis)
        if not get_current_worker().is_cancelled:
            self.post_message(RowsRead(rows))

    def on_rows_read(self, message: RowsRead) -> None:
        """Show the lines; the one that was highlighted stays so."""
        options = self.query_one(OptionList)
        highlighted = options.highlighted_option
        before = self._leads.get(highlighted.id or "") if highlighted else None
        options.clear_options()
        self._leads = {str(i): lead for i, (_, lead) in enumerate(message.rows) if lead is not None}
        options.add_options(
            Option(text, id=str(i), disabled=lead is None) for i, (text, lead) in enumerate(message.rows)
        )
        same = (int(i) for i, lead in self._leads.items() if before is not None and lead.id == before.id)
        options.highlighted = place = next(same, None)
        if place is None:
            options.highlighted = min(map(int, self._leads), default=None)
            options.scroll_home(animate=False)  # what stands above the first message is to be seen

    def _lead(self) -> Message | None:
        """The message of the highlighted line; without one the person is told."""
        option = self.query_one(OptionList).highlighted_option
        lead = self._leads.get(option.id or "") if option else None
        if lead is None:
            self._say("Select a message first.")
        return lead

    @on(OptionList.OptionHighlighted)
    def _show_whole(self, event: OptionList.OptionHighlighted) -> None:
        lead = self._leads.get(event.option_id or "")
        self.query_one("#whole").set_class(lead is None, "-empty")
        if lead is not None:
            text = "\n".join(filter(None, (lead.text, lead.attachments)))
            self.query_one("#whole-text", Static).update(Content(shown(text, lead.session_id or None)))

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
        """Ask the same question with more effort; once that was done, go on from there with more still."""
        if self._busy():
            return
        if self._ask is None:
            self._say(self._why_not)
            return
        before = self._first.deeper
        self._basis = Basis(budget=more_than(before.budget if before else None))
        self._cancel = threading.Event()
        self._leads = {}
        self._look()
        self._deeper(self._ask, self._basis, before and before.answer and before.answer.trace, self._cancel)

    @work(thread=True, exclusive=True, group="deeper", exit_on_error=False)
    def _deeper(self, ask: Ask, basis: Basis, trace: int | None, cancel: threading.Event) -> None:
        assert basis.budget is not None
        for event in ask(basis.budget, trace, cancel):
            basis.take(event)
        self._first.deeper = basis

    def action_keep(self) -> None:
        """Put the deeper answer into the chat."""
        if not self._busy() and self._basis.answer is not None:
            self.dismiss(Left(keep=self._basis, forgotten=self._forgotten))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is something to keep once more was spent."""
        return action != "keep" or (self._basis.over and self._basis.answer is not None)

    def action_without(self) -> None:
        """Have the chat answer again without this message, or with it again."""
        lead = None if self._busy() else self._lead()
        if lead is not None:
            self.dismiss(Left(toggled=lead.id, forgotten=self._forgotten))

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
        goes = f"{counted(len(selection.messages), 'message')} and "
        goes += f"{counted(len(selection.answers), 'answer')} that rest on it"

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
            self.refresh_bindings()
        if event.state is WorkerState.ERROR:
            self._basis.cost = self._basis.cost or "It failed."
            self._say(failure_text(event.worker.error))

    def _say(self, text: str) -> None:
        self.notify(text, markup=False)


def more_than(budget: Budget | None) -> Budget:
    """What may be spent next: at first what effort ``high`` may, then as much again, in as much time."""
    high = EFFORTS["high"]
    if budget is None:
        return high
    return high.but(
        steps=budget.steps + high.steps,
        calls=budget.calls + high.calls,
        records=budget.records + high.records,
        model_tokens=budget.model_tokens + high.model_tokens,
    )


def limits_text(budget: Budget) -> str:
    """What an answer may cost at most."""
    return (
        f"{counted(budget.steps, 'step')}, {budget.calls:,} searches, "
        f"{counted(budget.records, 'message')}, {counted(budget.model_tokens, 'token')} of the model, "
        f"{budget.seconds / 60:.0f} min"
    )
