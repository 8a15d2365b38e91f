"""The chat screen: it shows the events of :meth:`Memory.chat`, which a worker thread posts to it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Markdown, Static
from textual.worker import Worker, WorkerState, get_current_worker

from localmem.answering.prompting import REPLY_TOKENS
from localmem.events import AnswerDelta, Fallback, Recalled, Replied, Stored
from localmem.layers.idle import IdleBuilder
from localmem.memory import CHAT_SOURCE, TITLE_LENGTH, Memory
from localmem.models.protocols import ChatMessage, ChatModel
from localmem.roles.trust import TRUSTED, Trust
from localmem.tui.composer import Composer
from localmem.tui.failures import failure_text
from localmem.tui.messages import BacklogRead, ModelReady, ReplyDone, ReplyEvent, SessionRead, Submitted
from localmem.tui.sessions import SessionList
from localmem.tui.text import backlog_text, entries_of, one_line, shown
from localmem.tui.transcript import Plain, Reply, Said, Transcript

BACKLOG_S = 2.0
"""How often the work of idle time is told."""
_ENDED = (WorkerState.SUCCESS, WorkerState.ERROR, WorkerState.CANCELLED)


class ChatScreen(Screen[None]):
    """One session at a time; one reply at a time."""

    AUTO_FOCUS = "Composer"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop"),
        Binding("ctrl+n", "new_chat", "New chat"),
        Binding("ctrl+o", "sessions", "Sessions"),
    ]

    def __init__(
        self,
        memory: Memory,
        load_model: Callable[[], ChatModel],
        session_id: int | None,
        trust: Trust = TRUSTED,
        idle: IdleBuilder | None = None,
    ) -> None:
        super().__init__()
        self._memory = memory
        self._trust = trust
        self._idle = idle
        self._tells_backlog = False
        self._load = load_model
        self._model: ChatModel | None = None
        self._session_id = session_id
        self._cancel: threading.Event | None = None
        """Set to stop the reply that is running; None: none is."""
        self._reply: Reply | None = None
        self._opening = False
        self._leaving = False

    def compose(self) -> ComposeResult:
        """Title, messages, input, status, keys."""
        yield Static("New chat", id="title", markup=False)
        yield Transcript(can_focus=True)
        yield Composer(
            placeholder="Say something. Enter sends, Ctrl+J begins a new line.",
            compact=True,
            highlight_cursor_line=False,
        )
        yield Static("", id="status", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Load the model and read the session, after the first frame."""
        self.query_one(Transcript).anchor()
        self._start_loading()
        if self._session_id is not None:
            self._open(self._session_id)
        if self._idle is not None:
            self.set_interval(BACKLOG_S, self._read_backlog)

    def on_unmount(self) -> None:
        """However the screen ends, a reply that is running is stopped and then stored by its thread."""
        if self._cancel is not None:
            self._cancel.set()

    # The model

    def _start_loading(self) -> None:
        self._status("Loading the model…")
        self._load_model()

    @work(thread=True, exclusive=True, group="model", exit_on_error=False)
    def _load_model(self) -> None:
        model = self._load()
        model.count([ChatMessage("user", "")])  # a model is loaded when it is first asked for something
        self.post_message(ModelReady(model))

    def on_model_ready(self, message: ModelReady) -> None:
        """From now on messages can be sent."""
        self._model = message.model
        self._status(self._ready())

    def _ready(self) -> str:
        return f"{self._model.name} is ready." if self._model else "No model yet: sending tries again."

    # Idle time

    @work(thread=True, exclusive=True, group="backlog", exit_on_error=False)
    def _read_backlog(self) -> None:
        assert self._idle is not None
        self.post_message(BacklogRead(self._idle.backlog()))

    def on_backlog_read(self, message: BacklogRead) -> None:
        """Tell what the machine is busy with, and for how long still."""
        if self._cancel is not None or self._model is None:
            return
        text = backlog_text(message.backlog)
        if text or self._tells_backlog:
            self._status(text or self._ready())
        self._tells_backlog = bool(text)

    # A session

    def _open(self, session_id: int) -> None:
        self._opening = True
        self._read_session(session_id)

    @work(thread=True, exclusive=True, group="session", exit_on_error=False)
    def _read_session(self, session_id: int) -> None:
        session = self._memory.session(session_id)
        messages = self._memory.messages(session_id)
        entries = entries_of(messages)
        if not get_current_worker().is_cancelled:
            self.post_message(SessionRead(session, entries, len(messages) - len(entries)))

    async def on_session_read(self, message: SessionRead) -> None:
        """Show the session; one that was imported can be read only."""
        session = message.session
        self._opening = False
        imported = session.source != CHAT_SOURCE
        title = one_line(session.title) or one_line(session.external_id)
        if imported:
            title += f" ({one_line(session.source)}, read only)"
        await self._begin(session.id, title)
        older = f"{message.older:,} older messages: localmem show {session.id}" if message.older else ""
        fill = self.query_one(Transcript).fill(message.entries, older)
        self.run_worker(fill, group="history", exclusive=True, exit_on_error=False)
        if imported:
            self.query_one(Composer).disabled = True
            self.query_one(Transcript).focus()
            self._status("This history was imported: it can be read. Ctrl+N begins a new chat.")

    async def _begin(self, session_id: int | None, title: str) -> None:
        self.workers.cancel_group(self, "history")
        self._session_id = session_id
        self.query_one("#title", Static).update(Content(title))
        await self.query_one(Transcript).clear()
        composer = self.query_one(Composer)
        composer.disabled = False
        composer.focus()
        if self._model is not None:
            self._status(self._ready())

    async def action_new_chat(self) -> None:
        """Begin a new chat."""
        if not self._refuse():
            await self._begin(None, "New chat")

    def action_sessions(self) -> None:
        """Choose a session to open."""
        if not self._refuse():
            self.app.push_screen(SessionList(self._memory), self._chosen)

    def _chosen(self, session_id: int | None) -> None:
        if session_id is not None:
            self._open(session_id)

    # A reply

    def on_submitted(self, message: Submitted) -> None:
        """Send a message, unless a reply is running or the model is not there; the text is kept then."""
        if self._refuse():
            return
        if self._model is None:
            self._say("The model is not loaded yet. Your text is kept.")
            if not any(worker.group == "model" and not worker.is_finished for worker in self.workers):
                self._start_loading()
            return
        self._cancel = threading.Event()
        self.refresh_bindings()
        self._status("Searching memory…")
        self._answer(message.text, self._model, self._session_id, self._cancel)

    @work(thread=True, exclusive=True, group="reply", exit_on_error=False, description="reply")
    def _answer(self, text: str, model: ChatModel, session_id: int | None, cancel: threading.Event) -> None:
        with self._idle.held() if self._idle else nullcontext():
            self._reply_to(text, model, session_id, cancel)

    def _reply_to(self, text: str, model: ChatModel, session_id: int | None, cancel: threading.Event) -> None:
        recalled = {}
        for event in self._memory.chat(
            text, model=model, session_id=session_id, trust=self._trust, cancel=cancel
        ):
            if isinstance(event, Recalled):
                recalled = {item.message.id: item.message for item in event.evidence}
            if isinstance(event, Replied):
                cited = [recalled[identity] for identity in event.citations]
                sessions = {m.session_id: self._memory.session(m.session_id) for m in cited}
                titles = {i: session.title or session.external_id for i, session in sessions.items()}
                self.post_message(ReplyDone(event, [(m, titles[m.session_id]) for m in cited]))
            else:
                self.post_message(ReplyEvent(event))

    async def on_reply_event(self, message: ReplyEvent) -> None:
        """Show how the reply goes on."""
        match message.event:
            case Stored(stored):
                await self._show_stored(stored.session_id, stored.text)
            case Recalled(evidence):
                self._status(f"Reading {len(evidence)} recalled messages… Esc stops.")
            case Fallback() if self._reply is not None:
                await self._reply.withdraw()
            case AnswerDelta(text) if self._reply is not None:
                self._status("Writing… Esc stops.")
                await self._reply.write(text)

    async def _show_stored(self, session_id: int, text: str) -> None:
        if self._session_id is None:
            self._session_id = session_id
            self.query_one("#title", Static).update(Content(one_line(text, TITLE_LENGTH)))
        self.query_one(Composer).sent(text)
        transcript = self.query_one(Transcript)
        await transcript.add(Said("You", shown(text, session_id)))
        self._reply = Reply("Assistant")
        await transcript.add(self._reply)

    async def on_reply_done(self, message: ReplyDone) -> None:
        """Show the reply as it was stored, with what it rests on."""
        replied = message.replied
        if self._reply is None:
            return
        note = ""
        if replied.stopped:
            note = "stopped by you"
        elif replied.message is None:
            note = "the model wrote nothing"
        elif replied.ledger.tokens_written >= REPLY_TOKENS:
            note = f"cut off at {REPLY_TOKENS} tokens"
        await self._reply.end(replied.message.text if replied.message else "", self._session_id)
        await self._reply.add_cost(replied.ledger, note, message.sources)
        self._reply = None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is something to stop only while a reply is running."""
        return action != "stop" or self._cancel is not None

    def action_stop(self) -> None:
        """Stop the reply that is running; what was written is kept."""
        if self._cancel is not None:
            self._cancel.set()
            self._status("Stopping…")

    # Ends

    @on(Worker.StateChanged)
    async def _worker_ended(self, event: Worker.StateChanged) -> None:
        if event.state not in _ENDED:
            return
        group, error = event.worker.group, event.worker.error
        if group == "session" and event.state is not WorkerState.CANCELLED:
            self._opening = False
        if group == "reply":
            await self._reply_ended()
        if event.state is WorkerState.ERROR:
            await self.query_one(Transcript).add(Plain(failure_text(error), "failure"))
            self._status(self._ready())

    async def _reply_ended(self) -> None:
        if self._reply is not None:
            await self._reply.fail()
            self._reply = None
        self._cancel = None
        self.refresh_bindings()
        self._status(self._ready())
        if self._leaving:
            self.app.exit()

    def leave(self) -> None:
        """Exit; when a reply is running, after it has been stopped and stored."""
        if self._cancel is None:
            self.app.exit()
            return
        self._leaving = True
        self._cancel.set()
        self._status("Stopping the reply and storing it…")

    @on(Markdown.LinkClicked)
    def _show_link(self, event: Markdown.LinkClicked) -> None:
        # Nothing here opens a connection, and a link's text may hide where it leads.
        self._say(one_line(event.href))

    def _refuse(self) -> bool:
        """Whether something else has to end first; the person is told."""
        if self._cancel is not None:
            self._say("A reply is running. Esc stops it.")
            return True
        if self._opening:
            self._say("The session is still being opened.")
            return True
        return False

    def _say(self, text: str) -> None:
        self.notify(text, markup=False)

    def _status(self, text: str) -> None:
        self.query_one("#status", Static).update(Content(text))
