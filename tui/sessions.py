"""The list of sessions to open."""

from __future__ import annotations

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import Worker, WorkerState, get_current_worker

from localmem.memory import Memory
from localmem.tui.failures import failure_text
from localmem.tui.messages import SessionsRead
from localmem.tui.text import one_line
from localmem.types import Session

LISTED = 2000
"""Sessions in the list; each has to be laid out before the first is seen (0.1 s for all)."""


class SessionList(ModalScreen[int | None]):
    """All sessions, newest first; returns the id of the one chosen, or None."""

    AUTO_FOCUS = "OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Back")]

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory

    def compose(self) -> ComposeResult:
        """A heading above the list."""
        with Vertical():
            yield Static("Reading the sessions…", id="heading", markup=False)
            yield OptionList(markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Read the list."""
        self._read()

    @work(thread=True, exclusive=True, group="sessions", exit_on_error=False)
    def _read(self) -> None:
        sessions = self._memory.sessions()
        if not get_current_worker().is_cancelled:
            self.post_message(SessionsRead(sessions))

    def on_sessions_read(self, message: SessionsRead) -> None:
        """Show the list."""
        sessions = message.sessions
        heading = (
            f"{len(sessions):,} sessions, newest first. Enter opens one." if sessions else "No sessions yet."
        )
        if len(sessions) > LISTED:
            heading += f" (the first {LISTED:,}; `localmem sessions` lists all)"
        self.query_one("#heading", Static).update(Content(heading))
        options = self.query_one(OptionList)
        options.add_options([Option(_line(session), id=str(session.id)) for session in sessions[:LISTED]])
        options.action_first()

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        if event.option_id is not None:
            self.dismiss(int(event.option_id))

    @on(Worker.StateChanged)
    def _failed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR:
            self.query_one("#heading", Static).update(Content(failure_text(event.worker.error)))


def _line(session: Session) -> Content:
    day = f"{session.started_at:%Y-%m-%d}" if session.started_at else "undated"
    title = one_line(session.title) or one_line(session.external_id)
    return Content(f"{day:10}  {session.messages:6,}  {one_line(session.source, 12):12}  {title}")
