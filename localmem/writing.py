"""The one way into the store: messages, their terms, summaries and place in the queue, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from localmem.index import segments
from localmem.index.terms import store_terms
from localmem.layers.queue import SummaryQueue
from localmem.store import Database, SessionStore
from localmem.types import NewMessage, NewSession


class Screen(Protocol):
    """What messages pass before they are stored; :class:`localmem.privacy.secrets.Screen` is one."""

    def notice(self, message: NewMessage) -> tuple[str, ...]:
        """The kinds of secrets that it sees in a message."""
        ...

    def admit(self, message: NewMessage) -> NewMessage:
        """The message as it may be stored; admitted again it stays so. Raises :class:`SecretRefused`."""
        ...

    def admit_reply(self, message: NewMessage) -> NewMessage:
        """What this program wrote itself, as it may be stored; never refused."""
        ...

    def admit_session(self, session: NewSession) -> NewSession:
        """A session with all its messages, as it may be stored. Raises :class:`SecretRefused`."""
        ...


class Open:
    """The screen that everything passes unchanged."""

    def notice(self, message: NewMessage) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def admit(self, message: NewMessage) -> NewMessage:
        """The message."""
        return message

    def admit_reply(self, message: NewMessage) -> NewMessage:
        """The message."""
        return message

    def admit_session(self, session: NewSession) -> NewSession:
        """The session."""
        return session


OPEN = Open()


class Writer:
    """Stores messages so that they can be found lexically, and read as summaries, once they are committed."""

    def __init__(self, database: Database, sessions: SessionStore, screen: Screen = OPEN) -> None:
        self.screen = screen
        self._database = database
        self._sessions = sessions
        self._summaries = SummaryQueue(database)

    def add(self, session: NewSession) -> list[int]:
        """Take in those messages of a session that are not there yet; return their ids."""
        session = self.screen.admit_session(session)
        with self._database.atomic():
            source = self._sessions.source_of(session)
            session_id = self._sessions.open_session(replace(session, source=source))
            ids = self.append(session_id, session.messages)
            if ids and session.leaf is not None:
                self._sessions.go_on_from(session_id, session.leaf)
        return ids

    def append(self, session_id: int, messages: Sequence[NewMessage]) -> list[int]:
        """Add messages to a session; return the ids of the new ones."""
        messages = [self.screen.admit(message) for message in messages]
        with self._database.atomic():
            ids = self._sessions.append(session_id, messages)
            self.make_findable(ids)
        return ids

    def make_findable(self, ids: Sequence[int]) -> None:
        """Give messages just put into the file their terms, summaries and place in the queue."""
        with self._database.atomic() as connection:
            added = self._sessions.messages_by_id(ids)
            store_terms(connection, added.values())
            connection.executemany("INSERT INTO pending_embedding VALUES (?)", ((i,) for i in ids))
            self._summaries.make_for(added)
            if segments.due(connection):
                segments.merge(connection)
