"""Entries of the derived layers: written with their sources, gone with any of them.

That an entry goes is the work of triggers (:func:`localmem.store.schema.m004_layers`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import apsw

from localmem.entries import Bullet, Content, Entry, Failure, Layer, LayerCount, Maker, Scope, Summary
from localmem.store.columns import UTC_FORMAT, text_from_column, text_to_column
from localmem.store.connection import Database
from localmem.store.sessions import SessionStore
from localmem.types import Message, Origin

_ENTRY = """
    SELECT e.id, e.layer, coalesce(e.session_id, t.session_id), t.number, e.body, e.model, e.prompt_hash,
           e.created_at,
           (SELECT json_group_array(message_id) FROM layer_source WHERE entry_id = e.id)
    FROM layer_entry e LEFT JOIN turn t ON t.id = e.turn_id
"""
_FAILURE = """
    SELECT f.layer, coalesce(f.session_id, t.session_id), t.number, f.model, f.prompt_hash, f.reason
    FROM layer_failure f LEFT JOIN turn t ON t.id = f.turn_id
"""
_TURNS_MISSING = """
    SELECT s.id, t.number FROM turn t JOIN session s ON s.id = t.session_id
    WHERE (?4 IS NULL OR s.id = ?4)
    AND NOT EXISTS (SELECT 1 FROM layer_entry WHERE turn_id = t.id AND layer = ?1
                    AND (?2 IS NULL OR (model = ?2 AND prompt_hash = ?3)))
    AND NOT EXISTS (SELECT 1 FROM layer_failure WHERE turn_id = t.id AND layer = ?1
                    AND model IS ?2 AND prompt_hash IS ?3)
    ORDER BY coalesce(s.ended_at, s.started_at) DESC, s.id DESC, t.number
"""
_SESSIONS_MISSING = """
    SELECT s.id, NULL FROM session s
    WHERE (?4 IS NULL OR s.id = ?4) AND EXISTS (SELECT 1 FROM turn WHERE session_id = s.id)
    AND NOT EXISTS (SELECT 1 FROM layer_entry WHERE session_id = s.id AND layer = ?1
                    AND (?2 IS NULL OR (model = ?2 AND prompt_hash = ?3)))
    AND NOT EXISTS (SELECT 1 FROM layer_failure WHERE session_id = s.id AND layer = ?1
                    AND model IS ?2 AND prompt_hash IS ?3)
    ORDER BY coalesce(s.ended_at, s.started_at) DESC, s.id DESC
"""


class LayerStore:
    """Reads and writes layer entries."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sessions = SessionStore(database)

    def entries(self, layer: Layer, session_id: int, turn: int | None = None) -> list[Entry]:
        """A session's entries of one layer by turn, or one turn's; facts are one entry at most.

        What is absent was never made, waits, or failed (:meth:`failures`).
        """
        place = "e.session_id = ?2" if layer is Layer.FACTS else "t.session_id = ?2"
        rows = self._database.connection().execute(
            f"{_ENTRY} WHERE {place} AND e.layer = ?1 AND (?3 IS NULL OR t.number = ?3) ORDER BY t.number",
            (layer.value, session_id, turn),
        )
        return [_entry(row) for row in rows]

    def entries_by_id(self, ids: Sequence[int]) -> dict[int, Entry]:
        """Entries by id; ids that do not exist are absent."""
        rows = self._database.connection().execute(
            f"{_ENTRY} WHERE e.id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
        )
        return {entry.id: entry for entry in map(_entry, rows)}

    def entries_from(self, layer: Layer, messages: Sequence[int]) -> list[Entry]:
        """Entries of one layer that were made from any of some messages."""
        rows = self._database.connection().execute(
            f"{_ENTRY} WHERE e.layer = ? AND e.id IN (SELECT entry_id FROM layer_source "
            "WHERE message_id IN (SELECT value FROM json_each(?)))",
            (layer.value, json.dumps(list(messages))),
        )
        return [_entry(row) for row in rows]

    def put(
        self,
        scope: Scope,
        content: Content,
        read: Sequence[Message],
        maker: Maker | None = None,
        rejected: int = 0,
    ) -> int:
        """Store an entry in place of the one that was there; return its id.

        ``read`` are the messages it was made from, as they were read in the same transaction (else use
        :meth:`replace`). ``rejected`` statements of the ``maker`` were left out by the guard. A model's
        entry clears the failure noted for the scope; one by rules leaves a model's failure to be seen.
        """
        sources = sorted({message.id for message in read if message.origin is Origin.SAID})
        texts, items = _body(content)
        if isinstance(content, tuple) and not {i for b in content for i in b.messages} <= set(sources):
            raise ValueError(f"a bullet of {scope} names a message that was not read, or recalled")
        with self._database.atomic() as connection:
            column, place = _place(connection, scope)
            connection.execute(
                f"DELETE FROM layer_entry WHERE {column} = ? AND layer = ?", (place, scope.layer.value)
            )
            connection.execute(
                f"INSERT INTO layer_entry "
                f"(layer, {column}, grade, model, prompt_hash, created_at, items, body) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    scope.layer.value,
                    place,
                    "model" if maker else "extractive",
                    maker and maker.model,
                    maker and maker.prompt,
                    datetime.now(UTC).strftime(UTC_FORMAT),
                    items,
                    text_to_column(json.dumps(texts, ensure_ascii=False)),
                ),
            )
            identity = connection.last_insert_rowid()
            connection.executemany(
                "INSERT INTO layer_source VALUES (?, ?)", ((identity, source) for source in sources)
            )
            if maker:
                _tally(connection, scope.layer, maker, items, rejected)
        return identity

    def replace(
        self,
        scope: Scope,
        content: Content,
        read: Sequence[Message],
        maker: Maker | None = None,
        rejected: int = 0,
    ) -> int | None:
        """:meth:`put` an entry that took time to make; None, and nothing stored, if it is out of date.

        That is so when a message of ``read`` changed or is gone, or when ``read`` lacks one that is now
        in the scope, was said and has a text.
        """
        with self._database.atomic():
            if not self._current(scope, read):
                return None
            return self.put(scope, content, read, maker, rejected)

    def failed(
        self,
        scope: Scope,
        reason: str,
        read: Sequence[Message],
        maker: Maker | None = None,
        rejected: int = 0,
    ) -> None:
        """Note why an attempt came to nothing; an entry that is there stays. Nothing if out of date."""
        with self._database.atomic() as connection:
            if not self._current(scope, read):
                return
            column, place = _place(connection, scope)
            connection.execute(
                f"DELETE FROM layer_failure WHERE {column} = ? AND layer = ?", (place, scope.layer.value)
            )
            connection.execute(
                f"INSERT INTO layer_failure (layer, {column}, model, prompt_hash, reason) "
                "VALUES (?, ?, ?, ?, ?)",
                (
                    scope.layer.value,
                    place,
                    maker and maker.model,
                    maker and maker.prompt,
                    text_to_column(reason),
                ),
            )
            if maker:
                _tally(connection, scope.layer, maker, 0, rejected)
            if maker is None and scope.layer is Layer.SUMMARY:
                connection.execute("DELETE FROM layer_due WHERE turn_id = ?", (place,))

    def failures(self, session_id: int) -> list[Failure]:
        """What failed in a session and was not made since."""
        rows = self._database.connection().execute(
            f"{_FAILURE} WHERE ? IN (f.session_id, t.session_id) ORDER BY f.layer, t.number", (session_id,)
        )
        return [
            Failure(Scope(Layer(layer), session, turn), _maker(model, prompt), text_from_column(reason))
            for layer, session, turn, model, prompt, reason in rows
        ]

    def missing(self, layer: Layer, maker: Maker | None, session_id: int | None = None) -> list[Scope]:
        """Scopes at which ``maker`` did not fail and whose entry is not its own, newest session first.

        For rules (None): those without any entry, whoever might have made it.
        """
        rows = self._database.connection().execute(
            _SESSIONS_MISSING if layer is Layer.FACTS else _TURNS_MISSING,
            (layer.value, maker and maker.model, maker and maker.prompt, session_id),
        )
        return [Scope(layer, session, turn) for session, turn in rows]

    def due(self, limit: int, added: Mapping[int, Message] | None = None) -> dict[Scope, list[Message]]:
        """Turns without a summary, at most ``limit``, each with its messages by position.

        With ``added``, just stored messages by id, only the turns that these belong to.
        """
        chosen = "SELECT turn_id FROM layer_due ORDER BY turn_id LIMIT ?1"
        if added is not None:
            chosen = (
                "SELECT turn_id FROM layer_due WHERE turn_id IN (SELECT turn_id FROM message "
                "WHERE id IN (SELECT value FROM json_each(?2))) ORDER BY turn_id LIMIT ?1"
            )
        arguments = (limit,) if added is None else (limit, json.dumps(list(added)))
        ids = [
            message_id
            for (message_id,) in self._database.connection().execute(
                f"SELECT id FROM message WHERE turn_id IN ({chosen}) ORDER BY session_id, position", arguments
            )
        ]
        found: dict[Scope, list[Message]] = {}
        known = added or {}
        messages = {**known, **self._sessions.messages_by_id([i for i in ids if i not in known])}
        for message in (messages[message_id] for message_id in ids):
            scope = Scope(Layer.SUMMARY, message.session_id, message.turn)
            found.setdefault(scope, []).append(message)
        return found

    def waiting(self) -> int:
        """How many turns have no summary yet."""
        count: int = self._database.connection().execute("SELECT count(*) FROM layer_due").get
        return count

    def counts(self) -> list[LayerCount]:
        """Each layer by what made it; rules first."""
        rows = self._database.connection().execute("""
            WITH one (layer, model, entries, empty, failures, accepted, rejected) AS (
                SELECT layer, model, count(*), sum(items = 0), 0, 0, 0 FROM layer_entry GROUP BY 1, 2
                UNION ALL SELECT layer, model, 0, 0, count(*), 0, 0 FROM layer_failure GROUP BY 1, 2
                UNION ALL SELECT layer, model, 0, 0, 0, accepted, rejected FROM layer_tally
            )
            SELECT layer, model, sum(entries), sum(empty), sum(failures), sum(accepted), sum(rejected)
            FROM one GROUP BY layer, model ORDER BY layer, model
        """)
        return [LayerCount(Layer(layer), *rest) for layer, *rest in rows]

    def _current(self, scope: Scope, read: Sequence[Message]) -> bool:
        stored = self._sessions.messages_by_id([message.id for message in read])
        if any(stored.get(message.id) != message for message in read):
            return False
        place = "m.session_id = ?1" if scope.turn is None else "t.session_id = ?1 AND t.number = ?2"
        here = (
            self._database.connection()
            .execute(
                f"SELECT m.id, m.origin FROM turn t JOIN message m ON m.turn_id = t.id WHERE {place}",
                (scope.session_id,) if scope.turn is None else (scope.session_id, scope.turn),
            )
            .fetchall()
        )
        said: set[Any] = {message_id for message_id, origin in here if origin == Origin.SAID}
        unread = self._sessions.messages_by_id(list(said - stored.keys()))
        return bool(here) and not any(message.text.strip() for message in unread.values())


def _place(connection: apsw.Connection, scope: Scope) -> tuple[str, int]:
    """The column that names what an entry is about, and its value."""
    if scope.turn is None:
        return "session_id", scope.session_id
    turn = connection.execute(
        "SELECT id FROM turn WHERE session_id = ? AND number = ?", (scope.session_id, scope.turn)
    ).get
    return "turn_id", int(turn)


def _tally(connection: apsw.Connection, layer: Layer, maker: Maker, accepted: int, rejected: int) -> None:
    connection.execute(
        "INSERT INTO layer_tally VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET "
        "accepted = accepted + excluded.accepted, rejected = rejected + excluded.rejected",
        (layer.value, maker.model, accepted, rejected),
    )


def _body(content: Content) -> tuple[Any, int]:
    """What is stored of an entry's content, and how many statements it makes."""
    if isinstance(content, Summary):
        empty = not (content.text or content.keywords or content.tags)
        return [content.text, content.keywords, content.tags], 0 if empty else 1
    return [[bullet.text, bullet.messages] for bullet in content], len(content)


def _content(layer: Layer, stored: Any) -> Content:
    if layer is Layer.SUMMARY:
        text, keywords, tags = stored
        return Summary(text, tuple(keywords), tuple(tags))
    return tuple(Bullet(text, tuple(messages)) for text, messages in stored)


def _maker(model: str | None, prompt: str | None) -> Maker | None:
    return Maker(model, prompt) if model is not None and prompt is not None else None


def _entry(row: tuple[Any, ...]) -> Entry:
    identity, layer, session_id, turn, body, model, prompt, created_at, sources = row
    return Entry(
        id=identity,
        scope=Scope(Layer(layer), session_id, turn),
        content=_content(Layer(layer), json.loads(text_from_column(body))),
        messages=tuple(sorted(json.loads(sources))),
        maker=_maker(model, prompt),
        created_at=created_at,
    )
