"""Sessions, turns and messages: what was said, kept unchanged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import apsw

from localmem.errors import BadInput
from localmem.store.columns import text_from_column, text_to_column, time_from_columns, time_to_columns
from localmem.store.connection import Database
from localmem.types import Message, NewMessage, NewSession, Origin, Role, Session

_MESSAGE = """
    SELECT m.id, m.session_id, m.position, t.number, m.role, m.speaker, m.text, m.sent_at, m.sent_zone,
           m.sent_at_inferred, m.external_id, s.source, m.origin, m.attachments, m.parent
    FROM message m JOIN turn t ON t.id = m.turn_id JOIN session s ON s.id = m.session_id
"""
_SESSION = """
    SELECT s.id, s.external_id, s.source, s.title, s.started_at, s.started_zone,
           (SELECT count(*) FROM message m WHERE m.session_id = s.id), s.ended_at, s.tags, s.archived
    FROM session s
"""


class SessionStore:
    """Reads and writes sessions. A write belongs inside ``Database.atomic`` of the caller."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def open_session(self, session: NewSession) -> int:
        """Id of the session with this source and external id; made when there is none yet."""
        started, zone = time_to_columns(session.started_at)
        with self._database.atomic() as connection:
            connection.execute(
                "INSERT INTO session (source, external_id, title, started_at, started_zone, tags) "
                "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (source, external_id) DO NOTHING",
                (
                    session.source,
                    session.external_id,
                    text_to_column(session.title),
                    started,
                    zone,
                    json.dumps(session.tags),
                ),
            )
            if connection.changes() and (session.archived or session.system):
                connection.execute(
                    "UPDATE session SET archived = ?, system = ? WHERE id = last_insert_rowid()",
                    (int(session.archived), text_to_column(session.system)),
                )
            identity: int = connection.execute(
                "SELECT id FROM session WHERE source = ? AND external_id = ?",
                (session.source, session.external_id),
            ).get
        return identity

    def source_of(self, session: NewSession) -> str:
        """The session's source, or ``SOURCE#2`` ... where it is a file's name that another file has taken.

        That it is another file shows in a message of the same session and id that says something else.
        """
        name, count = session.source, 1
        while session.source_is_file and self._says_else(session, name):
            count += 1
            name = f"{session.source}#{count}"
        return name

    def _says_else(self, session: NewSession, source: str) -> bool:
        said = {message.external_id: (message.role.value, message.text) for message in session.messages}
        rows = self._database.connection().execute(
            "SELECT m.external_id, m.role, m.text FROM message m JOIN session s ON s.id = m.session_id "
            "WHERE s.source = ? AND s.external_id = ?",
            (source, session.external_id),
        )
        return any(key in said and said[key] != (role, text_from_column(text)) for key, role, text in rows)

    def go_on_from(self, session_id: int, external_id: str) -> None:
        """Let a session go on from its message of this id; nothing changes when it has none."""
        with self._database.atomic() as connection:
            connection.execute(
                "UPDATE session SET leaf_id = m.id FROM message m "
                "WHERE session.id = ?1 AND m.session_id = ?1 AND m.external_id = ?2",
                (session_id, external_id),
            )

    def append(self, session_id: int, messages: Sequence[NewMessage]) -> list[int]:
        """Add those of ``messages`` that the session does not have; return the new ids in order.

        A message is known by its external id; one without is always new, and its position becomes its
        id. A message without a time takes that of the one before it (the session's start counts), else
        of the one after it, marked inferred.
        """
        with self._database.atomic() as connection:
            end = _SessionEnd(connection, session_id)
            known = {
                external_id
                for (external_id,) in connection.execute(
                    "SELECT external_id FROM message WHERE session_id = ?", (session_id,)
                )
            }
            added = []
            times = _filled_times(messages, end.time)
            for message, (moment, inferred) in zip(messages, times, strict=True):
                if message.external_id in known:
                    continue
                added.append(end.insert(message, known, moment, inferred))
            if added:
                connection.execute(
                    "UPDATE session SET ended_at = bounds.last, "
                    "started_at = coalesce(started_at, bounds.first) "
                    "FROM (SELECT min(sent_at) AS first, max(sent_at) AS last "
                    "FROM message WHERE session_id = ?1) AS bounds WHERE id = ?1",
                    (session_id,),
                )
        return added

    def session(self, session_id: int) -> Session:
        """One session. Raises :class:`BadInput` when there is none with this id."""
        row = self._database.connection().execute(f"{_SESSION} WHERE s.id = ?", (session_id,)).fetchone()
        if row is None:
            raise BadInput(f"There is no session {session_id}. `localmem sessions` lists them.")
        return _session(row)

    def sessions(self) -> list[Session]:
        """All sessions, newest first."""
        rows = self._database.connection().execute(
            f"{_SESSION} ORDER BY coalesce(s.ended_at, s.started_at) DESC, s.id DESC"
        )
        return [_session(row) for row in rows]

    def messages(self, session_id: int) -> list[Message]:
        """The messages of a session by position."""
        rows = self._database.connection().execute(
            f"{_MESSAGE} WHERE m.session_id = ? ORDER BY m.position", (session_id,)
        )
        return [_message(row) for row in rows]

    def last(self, session_id: int) -> int | None:
        """Id of a session's last message by position; None: it has none."""
        last: int | None = (
            self._database.connection()
            .execute(
                "SELECT id FROM message WHERE session_id = ? ORDER BY position DESC LIMIT 1", (session_id,)
            )
            .get
        )
        return last

    def messages_by_id(self, ids: Sequence[int]) -> dict[int, Message]:
        """Messages by id; ids that do not exist are absent."""
        rows = self._database.connection().execute(
            f"{_MESSAGE} WHERE m.id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
        )
        return {message.id: message for message in map(_message, rows)}

    def counts(self) -> tuple[int, int, int]:
        """(sessions, messages, characters of text) in the store."""
        counts: tuple[int, int, int] = (
            self._database.connection()
            .execute(
                "SELECT (SELECT count(*) FROM session), "
                "(SELECT value FROM counter WHERE name = 'messages'), "
                "(SELECT value FROM counter WHERE name = 'characters')"
            )
            .get
        )
        return counts


class _SessionEnd:
    """Where a session stands: its last position, turn and time, moved on by each insert."""

    def __init__(self, connection: apsw.Connection, session_id: int) -> None:
        self._connection = connection
        self._session_id = session_id
        row: tuple[Any, ...] | None = connection.execute(
            "SELECT m.position, m.turn_id, t.number, m.role, m.speaker, m.sent_at, m.sent_zone "
            "FROM message m JOIN turn t ON t.id = m.turn_id WHERE m.session_id = ? "
            "ORDER BY m.position DESC LIMIT 1",
            (session_id,),
        ).fetchone()
        if row is None:
            started = connection.execute(
                "SELECT started_at, started_zone FROM session WHERE id = ?", (session_id,)
            ).get
            self._position, self._turn_id, self._turn = -1, 0, -1
            self._last: tuple[str, str] | None = None
            self._opener: tuple[str, str] | None = None
            self._in_turn: set[str] = set()
            self.time = time_from_columns(*started)
            return
        self._position, self._turn_id, self._turn = row[0], row[1], row[2]
        self._last = (row[3], text_from_column(row[4]))
        turn: list[Any] = connection.execute(
            "SELECT role, speaker, external_id FROM message WHERE turn_id = ? ORDER BY position",
            (self._turn_id,),
        ).fetchall()
        self._opener = (turn[0][0], text_from_column(turn[0][1]))
        self._in_turn = {external_id for _, _, external_id in turn}
        self.time = time_from_columns(row[5], row[6])

    def insert(self, message: NewMessage, known: set[str], moment: datetime | None, inferred: bool) -> int:
        self._position += 1
        external_id = message.external_id if message.external_id is not None else f"#{self._position}"
        while message.external_id is None and external_id in known:  # its place was another's before
            external_id += "'"
        known.add(external_id)
        voice = (message.role.value, message.speaker)
        if self._opens_turn(voice, message.parent):
            self._turn += 1
            self._connection.execute(
                "INSERT INTO turn (session_id, number) VALUES (?, ?)", (self._session_id, self._turn)
            )
            self._turn_id = self._connection.last_insert_rowid()
            self._opener = voice
            self._in_turn = set()
        self._in_turn.add(external_id)
        self._last = voice
        sent_at, zone = time_to_columns(moment)
        self._connection.execute(
            "INSERT INTO message (session_id, turn_id, position, role, speaker, text, sent_at, sent_zone, "
            "sent_at_inferred, external_id, parent, origin, attachments) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._session_id,
                self._turn_id,
                self._position,
                message.role.value,
                text_to_column(message.speaker),
                text_to_column(message.text),
                sent_at,
                zone,
                int(inferred),
                external_id,
                message.parent,
                message.origin.value,
                text_to_column(message.attachments),
            ),
        )
        return self._connection.last_insert_rowid()

    def _opens_turn(self, voice: tuple[str, str], parent: str | None) -> bool:
        """A turn is one exchange: it ends when whoever opened it speaks again after an answer.

        Between a user and an assistant it is the user who opens; between people, whoever spoke first. What
        follows a message of an earlier turn, on another branch, opens one too: turns do not interleave.
        """
        if self._last is None or self._opener is None:
            return True
        if parent is not None and parent not in self._in_turn:
            return True
        if voice[0] == Role.USER and self._last[0] == Role.ASSISTANT:
            return True
        return voice == self._opener and self._last != self._opener


def _filled_times(
    messages: Sequence[NewMessage], before: datetime | None
) -> Iterator[tuple[datetime | None, bool]]:
    """Each time with whether it was inferred: from the one before it, else from the one after it."""
    last = before
    for index, message in enumerate(messages):
        if message.sent_at is not None:
            last = message.sent_at
            yield last, message.sent_at_inferred
            continue
        if last is None:
            last = next((later.sent_at for later in messages[index:] if later.sent_at is not None), None)
        yield last, last is not None


def _session(row: tuple[Any, ...]) -> Session:
    identity, external_id, source, title, started_at, zone, messages, ended_at, tags, archived = row
    return Session(
        id=identity,
        external_id=external_id,
        source=source,
        title=text_from_column(title),
        started_at=time_from_columns(started_at, zone),
        messages=messages,
        ended_at=time_from_columns(ended_at, None),
        tags=tuple(json.loads(tags)),
        archived=bool(archived),
    )


def _message(row: tuple[Any, ...]) -> Message:
    return Message(
        id=row[0],
        session_id=row[1],
        position=row[2],
        turn=row[3],
        role=Role(row[4]),
        speaker=text_from_column(row[5]),
        text=text_from_column(row[6]),
        sent_at=time_from_columns(row[7], row[8]),
        sent_at_inferred=bool(row[9]),
        external_id=row[10],
        source=row[11],
        origin=Origin(row[12]),
        attachments=text_from_column(row[13]),
        parent=row[14],
    )
