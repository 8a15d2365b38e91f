"""Where a dialogue is kept: in a session of the memory file, or in memory only, for a private chat."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from localmem.store import Database, SessionStore
from localmem.store.bin import Bin
from localmem.store.branches import Branches
from localmem.store.desk import Desk
from localmem.store.replies import ReplyStore, StoredReply
from localmem.text import titled
from localmem.types import Message, NewMessage, NewSession, Role
from localmem.writing import Writer

CHAT_SOURCE = "chat"
"""The source of sessions held in localmem's own chat."""


class StoredSession:
    """A session of the file; begun with its first message. ``wake`` is called when one was stored."""

    private = False

    def __init__(
        self, database: Database, writer: Writer, wake: Callable[[], None], session_id: int | None
    ) -> None:
        self._database = database
        self._sessions = SessionStore(database)
        self._desk = Desk(database)
        self._writer = writer
        self._wake = wake
        self._session_id = session_id
        self._system = ""  # until there is a session that could have it

    @property
    def session_id(self) -> int | None:
        """Id of the session; None: nothing was said yet."""
        return self._session_id

    @property
    def system(self) -> str:
        """The person's own system prompt."""
        return self._system if self._session_id is None else self._desk.system(self._session_id)

    @system.setter
    def system(self, text: str) -> None:
        if self._session_id is None:
            self._system = text
        else:
            self._desk.set_system(self._session_id, text)

    @property
    def leaf(self) -> int | None:
        """Id of the message that the session goes on from; None: its last one."""
        return None if self._session_id is None else self._desk.leaf(self._session_id)

    @leaf.setter
    def leaf(self, message_id: int) -> None:
        if self._session_id is not None:
            self._desk.set_leaf(self._session_id, message_id)

    def messages(self) -> list[Message]:
        """All messages of the session by position."""
        return [] if self._session_id is None else self._sessions.messages(self._session_id)

    def last(self) -> int | None:
        """Id of the last message by position."""
        return None if self._session_id is None else self._sessions.last(self._session_id)

    def notice(self, message: NewMessage) -> tuple[str, ...]:
        """The kinds of secrets in a message that is to be kept."""
        return self._writer.screen.notice(message)

    def add(self, message: NewMessage) -> Message:
        """Store a message; the session is made with its first one. Raises :class:`SecretRefused`."""
        screen = self._writer.screen  # before the session is named after the message
        message = screen.admit(message) if message.role is Role.USER else screen.admit_reply(message)
        now = datetime.now().astimezone()
        with self._database.atomic():
            session_id = self._session_id
            if session_id is None:
                title = titled(message.text or message.attachments)
                new = NewSession(CHAT_SOURCE, uuid.uuid4().hex, (), title=title, started_at=now)
                session_id = self._sessions.open_session(new)
                if self._system:
                    self._desk.set_system(session_id, self._system)
            ids = self._writer.append(session_id, [replace(message, sent_at=now)])
        self._session_id = session_id
        self._wake()
        return self._sessions.messages_by_id(ids)[ids[0]]

    def delete(self, message_id: int) -> None:
        """Put a message into the bin."""
        Bin(self._database, self._sessions).delete_message(message_id)

    def note(self, message_id: int, reply: StoredReply) -> None:
        """Keep what an answer rested on and cost."""
        ReplyStore(self._database).put(message_id, reply)


class Unstored:
    """A private chat: kept in this object, which has no way to write anything."""

    private = True
    session_id = None

    def __init__(self) -> None:
        self.system = ""
        self.leaf: int | None = None
        self._messages: list[Message] = []
        self._next = 1

    def messages(self) -> list[Message]:
        """All messages by position."""
        return list(self._messages)

    def last(self) -> int | None:
        """Id of the last message by position."""
        return self._messages[-1].id if self._messages else None

    def notice(self, message: NewMessage) -> tuple[str, ...]:
        """Nothing: it is not kept."""
        return ()

    def add(self, message: NewMessage) -> Message:
        """Keep a message until the program ends. Its id is negative: it is none of the file's."""
        kept = Message(
            id=-self._next,
            session_id=0,
            position=self._next,
            turn=self._next,
            role=message.role,
            speaker="",
            text=message.text,
            sent_at=datetime.now().astimezone(),
            sent_at_inferred=False,
            external_id=f"#{self._next}",
            source=CHAT_SOURCE,
            origin=message.origin,
            attachments=message.attachments,
            parent=message.parent,
        )
        self._next += 1
        self._messages.append(kept)
        self.leaf = None
        return kept

    def delete(self, message_id: int) -> None:
        """Forget a message at once."""
        branches = Branches(self._messages)
        before = branches.before(message_id)
        parent = before.external_id if before else ""
        self._messages = [
            replace(message, parent=parent)
            if (at := branches.before(message.id)) is not None and at.id == message_id
            else message
            for message in self._messages
            if message.id != message_id
        ]
        if self.leaf == message_id:
            self.leaf = None

    def note(self, message_id: int, reply: StoredReply) -> None:
        """Nothing is kept of it."""
