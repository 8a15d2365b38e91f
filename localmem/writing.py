"""The one way into the store: messages, their terms, summaries and place in the queue, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from localmem.index import segments
from localmem.index.terms import store_terms
from localmem.layers.queue import SummaryQueue
from localmem.store import Database, SessionStore
from localmem.types import NewMessage, NewSession


class Writer:
    """Stores messages so that they can be found lexically, and read as summaries, once they are committed."""

    def __init__(self, database: Database, sessions: SessionStore) -> None:
        self._database = database
        self._sessions = sessions
        self._summaries = SummaryQueue(database)

    def add(self, session: NewSession) -> list[int]:
        """Take in those messages of a session that are not there yet; return their ids."""
        with self._database.atomic():
            return self.append(self._sessions.open_session(session), session.messages)

    def append(self, session_id: int, messages: Sequence[NewMessage]) -> list[int]:
        """Add messages to a session; return the ids of the new ones."""
        with self._database.atomic() as connection:
            ids = self._sessions.append(session_id, messages)
            added = self._sessions.messages_by_id(ids)
            store_terms(connection, added.values())
            connection.executemany("INSERT INTO pending_embedding VALUES (?)", ((i,) for i in ids))
            self._summaries.make_for(added)
            if segments.due(connection):
                segments.merge(connection)
        return ids
