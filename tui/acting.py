"""What the commands of the chat rest on: the screen that they belong to, and the message that is selected."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from textual import on, work
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from localmem.errors import LocalmemError
from localmem.memory import Memory
from localmem.models.protocols import ChatModel
from localmem.tui.composer import Composer
from localmem.tui.failures import failure_text
from localmem.tui.messages import DoneApart, StatusChanged
from localmem.tui.talk import Talk
from localmem.tui.text import one_line
from localmem.tui.transcript import View
from localmem.types import Message, Role

Result = TypeVar("Result")


class Acting(Screen[None]):
    """A screen whose commands are the actions of the classes built on this."""

    memory: Memory
    talk: Talk
    edited: int | None = None
    """Id of the message that what is typed will be another version of; None: it is a new one."""
    _aside = ""  # what was being written when the editing began

    @abstractmethod
    def refuse(self) -> bool:
        """Whether something else has to end first; the person is told."""

    @abstractmethod
    def model_or_refusal(self) -> ChatModel | None:
        """The model; without one the person is told."""

    @abstractmethod
    def ready(self) -> str:
        """What the status line says when nothing goes on."""

    @abstractmethod
    async def begin(self, *, private: bool = False) -> None:
        """Begin a new chat."""

    @abstractmethod
    def show_title(self, title: str | None = None) -> None:
        """Show the session's title, a new one if it is given, behind what is special about the chat."""

    @abstractmethod
    def open_session(self, session_id: int, message_id: int | None = None) -> None:
        """Open a session, at a message or at its end."""

    @abstractmethod
    def read_history(self) -> object:
        """Read again what Up brings back, and how much memory holds."""

    @abstractmethod
    def leave(self) -> None:
        """Exit; when a reply is running, after it has been stopped and stored."""

    def say(self, text: str) -> None:
        """Tell something that does not belong to the conversation."""
        self.notify(text, markup=False)

    def editing(self, message_id: int | None) -> None:
        """Say whether what is typed will be another version of a message; a draft comes back afterwards."""
        composer = self.query_one(Composer)
        if message_id is not None and self.edited is None:
            self._aside = composer.text
        elif message_id is None and self.edited is not None and not composer.text:
            composer.write(self._aside)
        self.edited = message_id
        composer.border_title = "Editing: Enter sends it anew, Esc leaves it" if message_id else ""
        composer.set_class(message_id is not None, "-editing")
        self.refresh_bindings()

    def attempt(self, act: Callable[[], object]) -> bool:
        """Do something that may be refused; whether it was done. The person is told why not."""
        try:
            act()
        except LocalmemError as error:
            self.say(failure_text(error))
            return False
        return True

    def apart(self, act: Callable[[], Result], then: Callable[[Result], object]) -> None:
        """Do in a thread what may take seconds, then ``then``; until that nothing else may begin."""
        self.talk.opening = True
        self._apart(act, then)

    @work(thread=True, group="apart", exit_on_error=False)
    def _apart(self, act: Callable[[], Result], then: Callable[[Result], object]) -> None:
        try:
            done = act()
        except LocalmemError as error:
            self.post_message(DoneApart(partial(self.say, failure_text(error))))
        else:
            self.post_message(DoneApart(partial(then, done)))

    def on_done_apart(self, message: DoneApart) -> None:
        """Other things may begin again."""
        self.talk.opening = False
        self.post_message(StatusChanged(self.ready()))
        message.then()

    @on(Worker.StateChanged)
    def _apart_failed(self, event: Worker.StateChanged) -> None:
        if event.worker.group == "apart" and event.state is WorkerState.ERROR:
            self.talk.opening = False

    def go_to(self, message_id: int) -> bool:
        """Select a message of the session that is open, wherever it stands; whether that may be done now."""
        if any(view.message and view.message.id == message_id for view in self.talk.transcript.views):
            self.talk.transcript.focus_message(message_id)
        elif self.refuse():
            return False
        else:
            self.talk.reopen(message_id)
        return True

    def selected(self) -> View | None:
        """The message that has the focus, or a part of which has it."""
        parts = self.focused.ancestors_with_self if self.focused else ()
        return next((part for part in parts if isinstance(part, View)), None)

    def target(self, role: Role | None) -> Message | None:
        """The selected message if it has this role (None: any); without a selection the last that has."""
        selected = self.selected()
        if selected is not None and selected.message is not None and role in (None, selected.message.role):
            return selected.message
        messages = self.talk.way.messages
        return next((m for m in reversed(messages) if role in (None, m.role)), None)

    def kept(self) -> int | None:
        """Id of the session that is open; None: there is none, and the person is told."""
        if self.refuse():
            return None
        if self.talk.dialogue.private:
            self.say("A private chat is not kept, so it has no title, tags or place in the list.")
            return None
        if self.talk.dialogue.session_id is None:
            self.say("Nothing was said yet.")
        return self.talk.dialogue.session_id

    def read_only(self) -> bool:
        """Whether nothing can be said in this session; the person is told."""
        if self.query_one(Composer).disabled:
            self.say("This history was imported: it can be read. Ctrl+N begins a new chat.")
            return True
        return False

    def title_of(self, session_id: int) -> str:
        """A session's title, to be edited."""
        return one_line(self.memory.session(session_id).title)
