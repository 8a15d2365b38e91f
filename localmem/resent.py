"""Conversations that another program keeps and sends whole, or their latest part, with each message.

What of it is stored already is found by comparing, so that nothing is stored twice: not when it is sent
again with each turn, not when only its last messages are sent, not when a reply is asked for anew. A message
that was edited, and what follows it, is added beside what it replaced and names the message it answers.
"""

from __future__ import annotations

import hashlib
import json
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from localmem.answering.converse import Ask, reply
from localmem.answering.prompting import REPLY_TOKENS
from localmem.answering.recall import Recall
from localmem.errors import BadInput
from localmem.events import Event, Stored
from localmem.models.protocols import ChatModel
from localmem.roles.trust import Trust
from localmem.store import Database, SessionStore
from localmem.text import titled
from localmem.types import Message, NewMessage, NewSession, Origin, Role
from localmem.writing import Writer

ASKED_ANEW = timedelta(minutes=10)
"""A conversation that begins with the words of one that is younger is that one, its first reply asked for
anew; of an older one it is a new conversation ("Hello")."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the other program sent."""

    messages: tuple[NewMessage, ...]
    """In order; the last is the user's, to be replied to. Ids are not needed."""
    source: str
    """Which program, or which of its users."""
    session: str | None = None
    """The other program's name for the conversation, where it gives one."""
    system: str = ""
    """The system prompt that it sent; never stored."""
    max_tokens: int = REPLY_TOKENS
    """The longest reply that it wants."""
    keep: bool = True
    """False: nothing of it is stored."""

    def __post_init__(self) -> None:
        if not self.messages or self.messages[-1].role is not Role.USER:
            raise BadInput("The last message must be the user's: it is the one to reply to.")
        if not self.messages[-1].text.strip():
            raise BadInput("The last message is empty.")


class Resent:
    """Stores what is new of a conversation, then the reply."""

    def __init__(
        self, conversation: Conversation, database: Database, writer: Writer, wake: Callable[[], None]
    ) -> None:
        self._conversation = conversation
        self._database = database
        self._sessions = SessionStore(database)
        self._writer = writer
        self._wake = wake
        *self._before, self._last = conversation.messages

    def reply(
        self,
        recall_without: Callable[[int], Recall],
        model: ChatModel,
        trust: Trust,
        cancel: threading.Event | None,
    ) -> Iterator[Event]:
        """Store what is new and reply; the last event is :class:`~localmem.events.Replied`."""
        ask = self._ask()
        yield Stored(ask.message)
        recall = recall_without(ask.message.session_id)
        yield from reply(ask, lambda said: self._store(ask.message, said), recall, model, trust, cancel)

    def _ask(self) -> Ask:
        """Store the message to reply to, and what is new before it."""
        asked = replace(self._last, sent_at=datetime.now().astimezone())
        if self._conversation.keep:
            with self._database.atomic():
                stored = self._take_in(asked)
            self._wake()
        else:
            stored = _unstored(asked)
        return Ask(
            stored,
            [_unstored(message) for message in self._before],
            self._conversation.system,
            max_tokens=min(self._conversation.max_tokens, REPLY_TOKENS),
        )

    def _store(self, asked: Message, said: NewMessage) -> Message:
        """Store the reply to a message that is stored."""
        said = replace(said, sent_at=datetime.now().astimezone())
        if not self._conversation.keep:
            return _unstored(said)
        with self._database.atomic():
            at = _At(self._sessions.messages(asked.session_id), asked.position)
            key = _keys([self._last, said])[-1]  # as it was sent: that is how it will be sent again
            said = self._writer.screen.admit_reply(said)
            stored = at.following(key) or self._add(asked.session_id, at, key, said)
        self._wake()
        return stored

    def _take_in(self, asked: NewMessage) -> Message:
        told = [*self._before, asked]
        keys = _keys(told)
        session_id = self._session(keys)
        at = _At(self._sessions.messages(session_id))
        # What stands before something known is known too: where only the latest part is sent, its first
        # message has lost the one before it, by which it would be recognised.
        known = next((i for i in reversed(range(len(told) - 1)) if at.move_to(keys[i])), -1)
        message: Message | None = None
        for index in range(known + 1, len(told)):
            message = at.following(keys[index]) or self._add(session_id, at, keys[index], told[index])
        assert message is not None  # the range holds the last index at least
        return message

    def _add(self, session_id: int, at: _At, key: str, message: NewMessage) -> Message:
        """Add a message to a session, behind where ``at`` stands, and go there."""
        named = replace(message, external_id=at.unused(key), parent=at.name)
        (added,) = self._writer.append(session_id, [named])
        stored = self._sessions.messages_by_id([added])[added]
        at.messages.append(stored)
        at.position = stored.position
        return stored

    def _session(self, keys: Sequence[str]) -> int:
        """The session that the conversation belongs to, made if there is none."""
        given = self._conversation.session
        found = None if given else self._known_session(keys)
        if found is not None:
            return found
        first = self._writer.screen.admit(self._conversation.messages[0])
        title = titled(first.text)
        now = datetime.now().astimezone()
        name = given or uuid.uuid4().hex
        return self._sessions.open_session(
            NewSession(self._conversation.source, name, (), title=title, started_at=now)
        )

    def _known_session(self, keys: Sequence[str]) -> int | None:
        """The latest session that holds the latest possible message of what was said before."""
        rows = self._database.connection().execute(
            "SELECT k.key, s.id, m.sent_at FROM session s JOIN message m ON m.session_id = s.id "
            "JOIN json_each(?) k ON m.external_id = k.value WHERE s.source = ? "
            "ORDER BY k.key DESC, s.id DESC",
            (json.dumps(list(keys[:-1] or keys)), self._conversation.source),
        )
        for _, session_id, sent_at in rows:
            age = datetime.now(UTC) - datetime.fromisoformat(sent_at) if sent_at else timedelta.max
            if len(keys) > 1 or age < ASKED_ANEW:
                return int(session_id)
        return None


@dataclass(slots=True)
class _At:
    """A place in a session's messages."""

    messages: list[Message]
    position: int = -1
    """Of the message it stands at; -1: before all."""

    @property
    def name(self) -> str:
        """External id of the message it stands at; empty: it stands before all."""
        return next((m.external_id for m in self.messages if m.position == self.position), "")

    def move_to(self, key: str) -> bool:
        """Go to the latest message with this key; whether there is one."""
        found = [m.position for m in self.messages if _key(m) == key]
        if found:
            self.position = found[-1]
        return bool(found)

    def following(self, key: str) -> Message | None:
        """Go to the next message with this key."""
        for message in self.messages:
            if message.position > self.position and _key(message) == key:
                self.position = message.position
                return message
        return None

    def unused(self, key: str) -> str:
        """An external id with this key that no message has."""
        count = sum(_key(message) == key for message in self.messages)
        return f"{key}.{count + 1}" if count else key


def _keys(messages: Sequence[NewMessage | Message]) -> list[str]:
    """What each message is known by: its words and those of the one before it."""
    parts = ["\0".join((message.role, *message.text.split())) for message in messages]
    return [
        hashlib.sha256(f"{before}\1{part}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
        for before, part in pairwise(["", *parts])
    ]


def _key(message: Message) -> str:
    return message.external_id.partition(".")[0]


def _unstored(message: NewMessage) -> Message:
    """A message as it is handed to the model; ids of 0 are no message's."""
    return Message(
        id=0,
        session_id=0,
        position=0,
        turn=0,
        role=message.role,
        speaker=message.speaker,
        text=message.text,
        sent_at=message.sent_at,
        sent_at_inferred=False,
        external_id="",
        source="",
        origin=Origin.SAID,
        attachments="",
    )
