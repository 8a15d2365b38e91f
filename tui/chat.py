"""The chat screen: what is said, where it is typed, and what can be done, each a part of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static
from textual.worker import Worker, WorkerState

from localmem.answering.keepers import CHAT_SOURCE
from localmem.events import UNCHANGED
from localmem.layers.idle import IdleBuilder
from localmem.memory import Memory
from localmem.models.protocols import ChatMessage, ChatModel
from localmem.roles.trust import TRUSTED, Trust
from localmem.text import printable, titled
from localmem.tui.attachments import joined
from localmem.tui.commands import BY_NAME, SLASH, Place, bindings, matching, read_slash
from localmem.tui.composer import Composer
from localmem.tui.failures import failure_text
from localmem.tui.footer import Keys
from localmem.tui.memory_actions import MemoryActions
from localmem.tui.memory_standing import BACKLOG_S
from localmem.tui.message_actions import MessageActions
from localmem.tui.messages import (
    BacklogRead,
    Failed,
    HistoryRead,
    ModelReady,
    Opened,
    ReplyEnded,
    ReplyTold,
    SaidStored,
    StatusChanged,
    Submitted,
)
from localmem.tui.models_picker import ModelsPicker
from localmem.tui.status import StatusBar
from localmem.tui.talk import Talk
from localmem.tui.text import backlog_text, one_line, title_of
from localmem.tui.views import Plain
from localmem.tui.written import Written

HINTS = 6
"""Commands that are shown while one is typed."""


class ChatScreen(MemoryActions, MessageActions):
    """One session at a time; one reply at a time."""

    AUTO_FOCUS = "Composer"
    BINDINGS: ClassVar[list[BindingType]] = list(bindings(Place.CHAT))

    def __init__(
        self,
        memory: Memory,
        load_model: Callable[[], ChatModel],
        session_id: int | None,
        trust: Trust = TRUSTED,
        idle: IdleBuilder | None = None,
        *,
        private: bool = False,
    ) -> None:
        super().__init__()
        self.memory = memory
        self.talk = Talk(memory, trust, idle.held if idle else nullcontext)
        self.idle = idle
        self._tells_backlog = False
        self._load = load_model
        self.model: ChatModel | None = None
        self._session_id = session_id
        self._private = private
        self._leaving = False
        self._heading = "New chat"
        self._untitled = True

    def compose(self) -> ComposeResult:
        """Title, messages, input, status, keys."""
        yield Static("New chat", id="title", markup=False)
        yield self.talk
        yield Static("", id="hints", markup=False)
        yield Static("", id="attached", markup=False)
        composer = Composer()
        composer.cursor_blink = False  # each blink is sent to the terminal, also over a slow line
        yield composer
        yield StatusBar()
        yield Keys()

    async def on_mount(self) -> None:
        """Load the model and read the session, after the first frame."""
        self._start_loading()
        self.read_history()
        if self._private:
            await self.begin(private=True)
        elif self._session_id is not None:
            self.talk.open(self._session_id)
        if self.idle is not None:
            self.set_interval(BACKLOG_S, self._read_backlog)

    # The model

    def _start_loading(self) -> None:
        self.status("Loading the model…")
        self._load_model()

    @work(thread=True, exclusive=True, group="model", exit_on_error=False)
    def _load_model(self) -> None:
        model = self._load()
        model.count([ChatMessage("user", "")])  # a model is loaded when it is first asked for something
        self.post_message(ModelReady(model))

    def on_model_ready(self, message: ModelReady) -> None:
        """From now on messages can be sent."""
        self.model = message.model
        self.query_one(StatusBar).count(context=message.model.context)
        self.status(self.ready())

    def ready(self) -> str:
        """What the status line says when nothing goes on."""
        return f"{self.model.name} is ready." if self.model else "No model yet: sending tries again."

    def model_or_refusal(self) -> ChatModel | None:
        """The model; without one the person is told, and it is loaded again if it is not being loaded."""
        if self.model is None:
            self.say("The model is not loaded yet. Your text is kept.")
            if not any(worker.group == "model" and not worker.is_finished for worker in self.workers):
                self._start_loading()
        return self.model

    def action_models(self) -> None:
        """Choose who does what."""
        models = self.app.models  # type: ignore[attr-defined]
        if models is None:
            self.say("There is no home folder with models here.")
        elif not self.refuse():
            self.app.push_screen(ModelsPicker(models), self._chosen_answerer)

    def _chosen_answerer(self, trust: Trust | None) -> None:
        if trust is not None:
            self.talk.trust = trust
            self.model = None
            self._start_loading()

    # What memory holds, and idle time

    @work(thread=True, exclusive=True, group="history", exit_on_error=False)
    def read_history(self) -> None:
        """Read what Up brings back, and how much memory holds."""
        _, messages = self.memory.counts()
        self.post_message(HistoryRead(self.memory.desk.said_lately(CHAT_SOURCE), messages))

    def on_history_read(self, message: HistoryRead) -> None:
        """What a private chat heard is not among it: it is in no file."""
        self.query_one(Composer).remember(message.said)
        self.query_one(StatusBar).count(messages=message.messages)

    @work(thread=True, exclusive=True, group="backlog", exit_on_error=False)
    def _read_backlog(self) -> None:
        assert self.idle is not None
        self.post_message(BacklogRead(self.idle.backlog()))

    def on_backlog_read(self, message: BacklogRead) -> None:
        """Tell what the machine is busy with, and for how long still."""
        if self.talk.cancel is not None or self.model is None:
            return
        text = backlog_text(message.backlog)
        if text or self._tells_backlog:
            self.status(text or self.ready())
        self._tells_backlog = bool(text)

    # A session

    async def begin(self, *, private: bool = False) -> None:
        """Begin a new chat."""
        await self.talk.begin(private=private)
        self.show_title("New chat")
        self._untitled = not private
        self._be_private(private)
        composer = self.query_one(Composer)
        composer.disabled = False
        composer.focus()
        self.editing(None)
        self.read_history()
        if self.model is not None:
            self.status(self.ready())

    def _be_private(self, private: bool) -> bool:
        """Show whether the chat is private; whether the one before was: then Up must not bring it back."""
        before = self.has_class("-private")
        if before:
            self.query_one(Composer).forget_commands()
        self.set_class(private, "-private")
        return before

    def action_think(self) -> None:
        """Let the model think before it replies, or not."""
        self.talk.thinks = not self.talk.thinks
        self.say(
            "From the next reply on the model may think first, if it is one that can. What it thinks is "
            "shown on a line above the answer, and not kept. /think again ends it."
            if self.talk.thinks
            else "From the next reply on the model answers at once."
        )
        self.show_title()

    def show_title(self, title: str | None = None) -> None:
        """Show the session's title, a new one if it is given, behind what is special about the chat."""
        self._heading = self._heading if title is None else title
        marks = {
            "Private: nothing of this chat is kept": self.talk.dialogue.private,
            "System prompt": bool(self.talk.dialogue.system),
            "Thinks first": self.talk.thinks,
        }
        parts = [mark for mark, there in marks.items() if there]
        self.query_one("#title", Static).update(Content(" · ".join([*parts, self._heading])))

    def on_opened(self, message: Opened) -> None:
        """Say which session it is; one that was imported can be read only."""
        session = message.way.session
        if session is None:  # private, or nothing was said yet
            return
        self._untitled = False
        imported = session.source != CHAT_SOURCE
        title = title_of(session)
        title += "".join(f"  #{one_line(tag)}" for tag in session.tags)
        if session.archived:
            title += " (put away)"
        if imported:
            title += f" ({one_line(session.source)}, read only)"
        if self._be_private(False):
            self.read_history()
        self.show_title(title)
        composer = self.query_one(Composer)
        composer.disabled = imported
        if message.way.focus is None and imported:
            views = self.talk.transcript.views
            (views[-1] if views else self.talk.transcript).focus()
        elif message.way.focus is None:
            self.set_focus(composer)  # at once: the next key may be on its way
        if imported:
            self.status("This history was imported: it can be read. Ctrl+N begins a new chat.")
        elif self.model is not None:
            self.status(self.ready())

    def open_session(self, session_id: int, message_id: int | None = None) -> None:
        """Open a session, at a message or at its end."""
        if not self.refuse():
            self.editing(None)
            self.talk.open(session_id, message_id)

    # What is typed

    def on_submitted(self, message: Submitted) -> None:
        """Send a message, or run a command; the text is kept when it cannot be done now."""
        command = read_slash(message.text)
        if command is not None:
            if self.run_command(*command):
                self.query_one(Composer).write("")
            return
        if self.refuse():
            return
        model = self.model_or_refusal()
        if model is not None:
            attachments = joined(self.query_one(Composer).attachments)
            self.talk.say(message.text, model, attachments, self.edited)
            self.refresh_bindings()

    def run_command(self, name: str, argument: str) -> bool:
        """Run a slash command; False when there is none of this name."""
        if name not in {command.name for command in SLASH}:
            self.say(f"There is no command /{one_line(name, 40)}. /help lists them.")
            return False
        act = getattr(self, f"action_{BY_NAME[name].action}")
        self.call_later(act, argument) if argument else self.call_later(act)
        return True

    @on(Composer.Changed)
    def _hint(self) -> None:
        found = matching(self.query_one(Composer).text)
        lines = [f"/{c.name} {c.argument}".ljust(20) + c.about for c in found[:HINTS]]
        if len(found) > HINTS:
            lines.append(f"… {len(found) - HINTS} more; Tab completes the first")
        hints = self.query_one("#hints", Static)
        hints.display = bool(lines)
        hints.update(Content("\n".join(lines)))

    @on(Composer.Attached)
    def _show_attached(self) -> None:
        items = self.query_one(Composer).attachments
        line = self.query_one("#attached", Static)
        line.display = bool(items)
        line.update(Content("Attached: " + ", ".join(item.label() for item in items)))

    @on(Composer.Paged)
    def _turn_page(self, event: Composer.Paged) -> None:
        transcript = self.talk.transcript
        transcript.scroll_page_up() if event.up else transcript.scroll_page_down()

    # A reply

    def on_said_stored(self, message: SaidStored) -> None:
        """What was typed is stored: it leaves the input."""
        if self._untitled:
            self._untitled = False
            self.show_title(titled(printable(message.said.text or message.said.attachments)))
        self.query_one(Composer).sent(message.said.text)
        self.editing(None)

    def on_reply_told(self, message: ReplyTold) -> None:
        """Count what it cost."""
        ledger = message.replied.ledger
        if message.replied.stop_reason == UNCHANGED:
            self.say("The same answer came again, so nothing was added.")
        kept = message.replied.message is not None and not self.talk.dialogue.private
        self.query_one(StatusBar).count(ledger=ledger, messages=ledger.messages + kept)

    def on_reply_ended(self, _: ReplyEnded) -> None:
        """The next message can be sent."""
        self.refresh_bindings()
        self.status(self.ready())
        if self._leaving:
            self.app.exit()

    def on_status_changed(self, message: StatusChanged) -> None:
        """Say what goes on."""
        self.status(message.text)

    async def on_failed(self, message: Failed) -> None:
        """Say what failed, where it cannot be missed."""
        await self.talk.transcript.add(Plain(message.text, "failure"))
        self.status(self.ready())

    @on(Worker.StateChanged)
    def _worker_failed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR:
            self.post_message(Failed(failure_text(event.worker.error)))

    def action_suspend(self) -> None:
        """Stop the process as Ctrl+Z in a shell does; a reply that is running waits too."""
        self.app.action_suspend_process()

    def leave(self) -> None:
        """Exit; when a reply is running, after it has been stopped and stored."""
        if self.talk.cancel is None or self._leaving:
            self.app.exit()
            return
        self._leaving = True
        self.talk.stop()
        self.status("Stopping the reply and storing it…")

    @on(Written.LinkClicked)
    def _show_link(self, event: Written.LinkClicked) -> None:
        # Nothing here opens a connection, and a link's text may hide where it leads.
        self.say(one_line(event.href))

    def refuse(self) -> bool:
        """Whether something else has to end first; the person is told."""
        if self.talk.cancel is not None:
            self.say("A reply is running. Esc stops it.")
            return True
        if self.talk.opening:
            self.say("What was begun last is not done yet: the line at the bottom says what it is.")
            return True
        return False

    def status(self, text: str) -> None:
        """Say what goes on."""
        self.query_one(StatusBar).tell(text)
