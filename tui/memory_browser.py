"""What memory holds: its sessions with their layers, how complete those are, and a search with filters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message as Posted
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import Worker, WorkerState, get_current_worker

from localmem.errors import BadInput
from localmem.layers.idle import Backlog, IdleBuilder
from localmem.memory import Memory
from localmem.tui.failures import failure_text
from localmem.tui.layer_view import LayerView
from localmem.tui.listing import move, page
from localmem.tui.memory_search import Sought, read_sought
from localmem.tui.sessions import PAUSE_S, found_line, session_line
from localmem.tui.text import coverage_text, left_text
from localmem.types import Message, Session

LISTED = 2000
"""Sessions in the list; each has to be laid out before the first is seen."""
BACKLOG_S = 2.0
"""How often the work of idle time is told."""
HELP = "Words to look for; after:2024-01-31 before:2024-02-28 by:NAME"


class Listed(Posted):
    """The sessions, newest first."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        self.sessions = sessions
        super().__init__()


class Found(Posted):
    """Messages that were looked for, best first, each with its session's title."""

    def __init__(self, sought: Sought, found: Sequence[tuple[Message, str]]) -> None:
        self.sought = sought
        self.found = found
        super().__init__()


class Told(Posted):
    """How complete the layers are, or how far the count of it is; and the work of idle time."""

    def __init__(self, layers: str | None = None, backlog: Backlog | None = None) -> None:
        self.layers = layers
        self.backlog = backlog
        super().__init__()


class MemoryBrowser(ModalScreen[Message | None]):
    """Returns the message to be opened in its session; None: none."""

    AUTO_FOCUS = "Input"
    DEFAULT_CSS = """
    MemoryBrowser { align: center middle; }
    MemoryBrowser > Vertical { width: 96%; max-width: 130; height: 92%; border: round $border;
        background: $surface; }
    MemoryBrowser #stands { color: $text-muted; height: auto; padding: 0 1; }
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
    ]

    def __init__(self, memory: Memory, idle: IdleBuilder | None, sought: str = "") -> None:
        super().__init__()
        self._memory = memory
        self._idle = idle
        self._typed_text = sought
        self._sought: Sought | None = None
        self._counts = "Reading…"
        self._layers = ""
        self._backlog = ""
        self._pause: Timer | None = None
        self._sessions: dict[str, Session] = {}
        self._messages: dict[str, Message] = {}

    def compose(self) -> ComposeResult:
        """How memory stands, a line to type in, the list."""
        with Vertical():
            yield Static("Reading…", id="stands", markup=False)
            yield Input(self._typed_text, placeholder=HELP, compact=True)
            yield OptionList(markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Read what is quick first; the layers are counted meanwhile."""
        self.query_one(OptionList).can_focus = False  # the keys are for the line; it moves the list
        self._count_layers()
        self._look(self._typed_text)
        if self._idle is not None:
            self._read_backlog(self._idle)
            self.set_interval(BACKLOG_S, lambda: self._idle and self._read_backlog(self._idle))

    # How memory stands

    @work(thread=True, exclusive=True, group="layers", exit_on_error=False)
    def _count_layers(self) -> None:
        worker = get_current_worker()

        def progress(done: int, total: int) -> None:
            if worker.is_cancelled:  # the person has left; this is the only way out of a long count
                raise BadInput("No longer wanted.")
            if done % 50 == 0:
                self.post_message(Told(layers=f"Looking at the layers: {done:,} of {total:,} sessions…"))

        stands = self._memory.layer_stats(progress)
        self.post_message(Told(layers=coverage_text(stands)))

    @work(thread=True, exclusive=True, group="backlog", exit_on_error=False)
    def _read_backlog(self, idle: IdleBuilder) -> None:
        self.post_message(Told(backlog=idle.backlog()))

    def on_told(self, message: Told) -> None:
        """Show it above the list."""
        if message.layers is not None:
            self._layers = message.layers
        if message.backlog is not None:
            self._backlog = left_text(message.backlog)
        self._tell()

    def _tell(self) -> None:
        lines = (self._counts, self._layers, self._backlog)
        self.query_one("#stands", Static).update(Content("\n".join(line for line in lines if line)))

    # The list

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        if event.value != self._typed_text:
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
            self._counts = str(error)
        else:
            self._counts = "Searching…" if self._sought.words else "Add a word to look for."
            if self._sought.words:
                self._find(self._sought)
        self._tell()

    @work(thread=True, exclusive=True, group="list", exit_on_error=False)
    def _list(self) -> None:
        sessions = self._memory.sessions()
        if not get_current_worker().is_cancelled:
            self.post_message(Listed(sessions))

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
        self._counts = f"{len(message.sessions):,} sessions, {count:,} messages"
        if len(message.sessions) > LISTED:
            self._counts += f" (the newest {LISTED:,} are listed)"
        self._sessions, self._messages = {f"s{session.id}": session for session in sessions}, {}
        self._show([session_line(session) for session in sessions])

    def on_found(self, message: Found) -> None:
        """Show the messages."""
        if message.sought is not self._sought:
            return
        self._counts = f"{len(message.found):,} messages, the best first"
        self._messages, self._sessions = {f"m{m.session_id}-{m.id}": m for m, _ in message.found}, {}
        self._show([found_line(found, title) for found, title in message.found])

    def _show(self, lines: Sequence[Option]) -> None:
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options(lines)
        options.action_first()
        self._tell()

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

    def action_move(self, by: int) -> None:
        """Go one line up or down."""
        move(self.query_one(OptionList), by)

    def action_page(self, by: int) -> None:
        """Go one page up or down."""
        page(self.query_one(OptionList), by)

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
            self._counts = failure_text(event.worker.error)
            self._tell()
