"""What memory holds: what is pinned, the sessions with their layers, and a search with filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message as Posted
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Footer, Input, OptionList
from textual.widgets.option_list import Option
from textual.worker import Worker, WorkerState, get_current_worker

from localmem.errors import BadInput, LocalmemError
from localmem.layers.idle import IdleBuilder
from localmem.memory import Memory
from localmem.steps import Level
from localmem.store.pins import Pin
from localmem.tui.commands import Place, bindings
from localmem.tui.failures import failure_text
from localmem.tui.finding import words_in
from localmem.tui.layer_view import LayerView
from localmem.tui.listing import move, page
from localmem.tui.memory_search import Line, Sought, read_sought
from localmem.tui.memory_standing import Standing
from localmem.tui.sessions import PAUSE_S, found_text, session_line
from localmem.tui.text import MUTED, counted, one_line, speaker
from localmem.types import Message, Session

LISTED = 2000
"""Sessions in the list; each has to be laid out before the first is seen."""
HELP = "Words; after:2024-01-31 before:2024-02-28 by:NAME in:summary, facts, notes or raw"


class Listed(Posted):
    """Pins, the last one first, each with the message that it leads to; sessions, the newest first."""

    def __init__(self, pins: Sequence[tuple[Pin, Message]], sessions: Sequence[Session]) -> None:
        self.pins = pins
        self.sessions = sessions
        super().__init__()


class Found(Posted):
    """What was looked for, best first."""

    def __init__(self, sought: Sought, found: Sequence[Line]) -> None:
        self.sought = sought
        self.found = found
        super().__init__()


class MemoryBrowser(ModalScreen[Message | None]):
    """Returns the message to be opened in its session; None: none."""

    AUTO_FOCUS = "Input"
    DEFAULT_CSS = """
    MemoryBrowser { align: center middle; }
    MemoryBrowser > Vertical { width: 96%; max-width: 130; height: 92%; border: round $border;
        background: $surface; }
    MemoryBrowser Input { margin: 0 1; height: 1; border: none; background: $panel; }
    MemoryBrowser OptionList { height: 1fr; border: none; background: $surface; text-wrap: nowrap;
        text-overflow: ellipsis; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back"),
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        *bindings(Place.MEMORY),
    ]

    def __init__(self, memory: Memory, idle: IdleBuilder | None, sought: str = "") -> None:
        super().__init__()
        self._memory = memory
        self._standing = Standing(memory, idle)
        self._typed_text = sought
        self._sought: Sought | None = None
        self._pause: Timer | None = None
        self._sessions: dict[str, Session] = {}
        self._messages: dict[str, Message] = {}
        self._pins: dict[str, Pin] = {}
        self._unpinned: list[Pin] = []
        self._keep: str | None = None  # id of the line to be highlighted when the list was read again

    def compose(self) -> ComposeResult:
        """How memory stands, a line to type in, the list."""
        with Vertical():
            yield self._standing
            yield Input(self._typed_text, placeholder=HELP, compact=True)
            yield OptionList(markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Read the list."""
        self.query_one(OptionList).can_focus = False  # the keys are for the line; it moves the list
        self._look(self._typed_text)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        if event.value != self._typed_text:
            self._standing.say("")
            self._look(event.value)

    def _look(self, text: str) -> None:
        self._typed_text = text
        if self._pause is not None:
            self._pause.stop()
        if text.strip():
            self._pause = self.set_timer(PAUSE_S, lambda: self._begin_search(text))
        else:
            self._sought = None
            self._list()

    def _begin_search(self, text: str) -> None:
        try:
            self._sought = read_sought(text)
        except BadInput as error:
            self._sought = None
            self._standing.tell(str(error))
        else:
            self._standing.tell("Searching…" if self._sought.words else "Add a word to look for.")
            if self._sought.words:
                self._find(self._sought)

    @work(thread=True, exclusive=True, group="list", exit_on_error=False)
    def _list(self) -> None:
        pins = self._memory.pins.all()
        found = self._memory.messages_by_id([max(pin.messages) for pin in pins])
        leads = [(pin, found[max(pin.messages)]) for pin in pins if max(pin.messages) in found]
        sessions = self._memory.sessions()
        if not get_current_worker().is_cancelled:
            self.post_message(Listed(leads, sessions))

    @work(thread=True, exclusive=True, group="list", exit_on_error=False)
    def _find(self, sought: Sought) -> None:
        found = sought.find(self._memory)
        if not get_current_worker().is_cancelled:
            self.post_message(Found(sought, found))

    def on_listed(self, message: Listed) -> None:
        """Show the sessions."""
        if self._typed_text.strip():
            return
        count = sum(session.messages for session in message.sessions)
        sessions = message.sessions[:LISTED]
        counts = f"{counted(len(message.sessions), 'session')}, {counted(count, 'message')}"
        if len(message.sessions) > LISTED:
            counts += f" (the newest {LISTED:,} are listed)"
        self._sessions = {f"s{session.id}": session for session in sessions}
        self._pins = {f"p{pin.id}": pin for pin, _ in message.pins}
        self._messages = {f"p{pin.id}": lead for pin, lead in message.pins}
        lines = [Option(_pin_text(pin, lead), id=f"p{pin.id}") for pin, lead in message.pins]
        if lines:
            lines = [_heading("Pinned: the model has it with every message"), *lines, _heading("Sessions")]
        self._show(counts, [*lines, *map(session_line, sessions)])

    def on_found(self, message: Found) -> None:
        """Show the messages."""
        if message.sought is not self._sought:
            return
        # Several lines may lead to one message, so its id cannot be theirs.
        self._messages = {str(i): line.message for i, line in enumerate(message.found)}
        self._sessions, self._pins = {}, {}
        words = words_in(message.sought.words)
        texts = [found_text(line.message, line.title, line.text, words) for line in message.found]
        self._show(_count_of(message), [Option(text, id=str(i)) for i, text in enumerate(texts)])

    def _show(self, counts: str, lines: Sequence[Option]) -> None:
        self._standing.tell(counts)
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options(lines)
        keep, self._keep = self._keep, None
        if keep in self._pins or keep in self._sessions:
            options.highlighted = options.get_option_index(keep)
        else:
            options.action_first()
        self.refresh_bindings()

    @on(Input.Submitted)
    def _open(self) -> None:
        self.query_one(OptionList).action_select()

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        key = event.option_id or ""
        if key in self._messages:
            self.dismiss(self._messages[key])
        elif key in self._sessions:
            self.app.push_screen(LayerView(self._memory, self._sessions[key]), self._left_layers)

    def _left_layers(self, message: Message | None) -> None:
        if message is not None:
            self.dismiss(message)
        elif not self._typed_text.strip():  # lines of the session may have been pinned
            self._list_again()

    def action_move(self, by: int) -> None:
        """Go one line up or down."""
        move(self.query_one(OptionList), by)

    def action_page(self, by: int) -> None:
        """Go one page up or down."""
        page(self.query_one(OptionList), by)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Pins are taken away where there are any in the list, and brought back after that."""
        return {"unpin": bool(self._pins), "pin_again": bool(self._unpinned)}.get(action, True)

    def action_unpin(self) -> None:
        """Take the highlighted pin away."""
        option = self.query_one(OptionList).highlighted_option
        pin = self._pins.get(option.id or "") if option else None
        if pin is None:
            self._standing.say("Select something that is pinned first.")
        elif self._change(lambda: self._memory.pins.remove(pin.id), "Not pinned any more."):
            self._unpinned.append(pin)

    def action_pin_again(self) -> None:
        """Pin again what was taken away last."""
        pin = self._unpinned.pop()
        self._change(lambda: self._memory.pins.add(pin.text, pin.messages), "Pinned again.")

    def _change(self, act: Callable[[], object], done: str) -> bool:
        """Change the pins and read the list again, at a pin that was made; whether it could be done."""
        try:
            made = act()
        except LocalmemError as error:
            self._standing.say(failure_text(error))
            return False
        self._standing.say(done)
        self._list_again(f"p{made.id}" if isinstance(made, Pin) else None)
        return True

    def _list_again(self, highlight: str | None = None) -> None:
        option = self.query_one(OptionList).highlighted_option
        self._keep = highlight or (option.id if option else None)
        self._list()

    def action_leave(self) -> None:
        """Back to the chat; what was looked for is taken away first."""
        line = self.query_one(Input)
        if line.value:
            line.value = ""
        else:
            self.dismiss(None)

    @on(Worker.StateChanged)
    def _failed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR:
            self._standing.tell(failure_text(event.worker.error))


def _heading(text: str) -> Option:
    return Option(Content.styled(text, "bold $text-primary"), disabled=True)


def _pin_text(pin: Pin, message: Message) -> Content:
    return Content.assemble((f"{speaker(message)}: ", MUTED), one_line(pin.text))


def _count_of(found: Found) -> str:
    level, count = found.sought.level, len(found.found)
    if level is Level.RAW:
        return f"{counted(count, 'message')}, the best first"
    if not count and level is not Level.SUMMARY:
        return f"No {level} found. They are made of a session when they are first read."
    return f"{counted(count, 'line')} of {level}, the best first"
