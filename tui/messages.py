"""Every message that the chat's parts post to each other. Worker threads post these and touch no widget."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.message import Message

from localmem import types
from localmem.events import Event, Replied
from localmem.layers.idle import Backlog
from localmem.models.protocols import ChatModel
from localmem.tui.reading import Entry, Way


class Submitted(Message):
    """The person pressed Enter."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__()


class ModelReady(Message):
    """The model is loaded."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model
        super().__init__()


class WayRead(Message):
    """A session was read: ``entries`` are those to be shown first, from place ``first`` on."""

    def __init__(self, way: Way, entries: Sequence[Entry], first: int) -> None:
        self.way = way
        self.entries = entries
        self.first = first
        super().__init__()


class EntriesRead(Message):
    """More of the session was read, above or below what is shown."""

    def __init__(self, way: Way, entries: Sequence[Entry], place: int, *, older: bool) -> None:
        self.way = way
        self.entries = entries
        self.place = place
        """Where they end if they are older, else where they begin."""
        self.older = older
        super().__init__()


class Opened(Message):
    """A session is on the screen."""

    def __init__(self, way: Way) -> None:
        self.way = way
        super().__init__()


class BacklogRead(Message):
    """How far the work of idle time is."""

    def __init__(self, backlog: Backlog) -> None:
        self.backlog = backlog
        super().__init__()


class HistoryRead(Message):
    """What the person said lately, the oldest first, and how many messages memory has."""

    def __init__(self, said: Sequence[str], messages: int) -> None:
        self.said = said
        self.messages = messages
        super().__init__()


class ReplyEvent(Message):
    """A reply went on by one event; ``replaces`` is the message that it is another version of."""

    def __init__(self, event: Event, replaces: int | None) -> None:
        self.event = event
        self.replaces = replaces
        super().__init__()


class SaidStored(Message):
    """What the person said is stored."""

    def __init__(self, said: types.Message) -> None:
        self.said = said
        super().__init__()


class ReplyDone(Message):
    """A reply is complete; ``entry`` is what was stored of it, None: nothing was."""

    def __init__(self, replied: Replied, entry: Entry | None) -> None:
        self.replied = replied
        self.entry = entry
        super().__init__()


class ReplyTold(Message):
    """A reply that is complete is on the screen."""

    def __init__(self, replied: Replied) -> None:
        self.replied = replied
        super().__init__()


class ReplyEnded(Message):
    """Whatever way a reply went, it is over."""


class DoneApart(Message):
    """What was done in a thread is done; ``then`` is what follows it."""

    def __init__(self, then: Callable[[], object]) -> None:
        self.then = then
        super().__init__()


class StatusChanged(Message):
    """What goes on, for the status line; empty: nothing does."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__()


class Failed(Message):
    """Something failed; the person is told in the transcript."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__()


class SessionsRead(Message):
    """The list of sessions was read, or what was looked for in it: newest or best first."""

    def __init__(self, sought: str, sessions: Sequence[types.Session]) -> None:
        self.sought = sought
        self.sessions = sessions
        super().__init__()


class MessagesFound(Message):
    """Messages that were looked for, best first, each with its session's title."""

    def __init__(self, sought: str, found: Sequence[tuple[types.Message, str]]) -> None:
        self.sought = sought
        self.found = found
        super().__init__()


class SessionBack(Message):
    """A session that was deleted, whole or in part, is back; None: it is not, and ``problem`` says why."""

    def __init__(self, session: types.Session | None, problem: str = "") -> None:
        self.session = session
        self.problem = problem
        super().__init__()
