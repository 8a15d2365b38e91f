"""Every message that the chat's parts post to each other. Worker threads post these and touch no widget."""

from __future__ import annotations

from collections.abc import Sequence

from textual.message import Message

from localmem import types
from localmem.events import Event, Replied
from localmem.layers.idle import Backlog
from localmem.models.protocols import ChatModel
from localmem.tui.text import Entry


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


class SessionRead(Message):
    """A session was read: ``entries`` are its last messages, ``older`` counts those left out."""

    def __init__(self, session: types.Session, entries: Sequence[Entry], older: int) -> None:
        self.session = session
        self.entries = entries
        self.older = older
        super().__init__()


class SessionsRead(Message):
    """The list of sessions was read, newest first."""

    def __init__(self, sessions: Sequence[types.Session]) -> None:
        self.sessions = sessions
        super().__init__()


class BacklogRead(Message):
    """How far the work of idle time is."""

    def __init__(self, backlog: Backlog) -> None:
        self.backlog = backlog
        super().__init__()


class ReplyEvent(Message):
    """A reply went on by one event."""

    def __init__(self, event: Event) -> None:
        self.event = event
        super().__init__()


class ReplyDone(Message):
    """A reply is complete; ``sources`` are the cited messages, each with its session's title."""

    def __init__(self, replied: Replied, sources: Sequence[tuple[types.Message, str]]) -> None:
        self.replied = replied
        self.sources = sources
        super().__init__()
