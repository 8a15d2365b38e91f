"""What was deleted and can still be brought back.

Deleting is deleting: the rows go at once, with everything that hangs on them, so that nothing finds them any
more. Until the bin is emptied it has a copy of what was said, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import apsw

from localmem.errors import BadInput
from localmem.store.branches import ROOT, Branches
from localmem.store.columns import text_from_column, text_to_column
from localmem.store.connection import Database
from localmem.store.sessions import SessionStore

Row = dict[str, Any]

_OWN = ("id", "session_id", "turn_id", "leaf_id")
"""Columns that a row gets anew when it comes back."""


class Bin:
    """Deletes sessions and messages, and brings back the last one deleted."""

    def __init__(self, database: Database, sessions: SessionStore) -> None:
        self._database = database
        self._sessions = sessions

    def delete_session(self, session_id: int) -> None:
        """Delete a session. Raises :class:`BadInput` when there is none."""
        with self._database.atomic() as connection:
            session = self._sessions.session(session_id)
            (row,) = _rows(connection, "SELECT * FROM session WHERE id = ?", session_id)
            body: Row = {"session": row, "leaf": _place_of(connection, row), "messages": []}
            body["messages"] = _messages(connection, "m.session_id = ?", session_id)
            body["pins"] = _pins(connection, "m.session_id = ?", session_id)
            self._keep(connection, session.title or session.external_id, body)
            connection.execute("DELETE FROM session WHERE id = ?", (session_id,))

    def delete_message(self, message_id: int) -> None:
        """Delete one message; what followed it follows the one before it. Raises :class:`BadInput`."""
        with self._database.atomic() as connection:
            message = self._sessions.messages_by_id([message_id]).get(message_id)
            if message is None:
                raise BadInput("This message is not there any more.")
            messages = self._sessions.messages(message.session_id)
            branches = Branches(messages)
            before = branches.before(message_id)
            parent = before.external_id if before else ROOT
            moved = [m for m in messages if (at := branches.before(m.id)) and at.id == message_id]
            body = {
                "session_id": message.session_id,
                "followed": parent,
                "moved": {m.external_id: m.parent for m in moved},
                "messages": _messages(connection, "m.id = ?", message_id),
                "pins": _pins(connection, "m.id = ?", message_id),
            }
            self._keep(connection, message.text, body)
            for follower in moved:
                _set_parent(connection, message.session_id, follower.external_id, parent)
            connection.execute("DELETE FROM message WHERE id = ?", (message_id,))

    def restore(self) -> tuple[int, list[int]]:
        """Bring back what was deleted last: its session's id and the messages' new ids, not indexed yet.

        Raises :class:`BadInput` when there is nothing to bring back, or no place for it any more.
        """
        with self._database.atomic() as connection:
            row = connection.execute("SELECT id, body FROM bin ORDER BY id DESC LIMIT 1").fetchone()
            if row is None:
                raise BadInput("There is nothing to bring back.")
            body = json.loads(row[1])
            connection.execute("DELETE FROM bin WHERE id = ?", (row[0],))
            if "session" in body:
                return self._restore_session(connection, body)
            return self._restore_message(connection, body)

    def count(self) -> int:
        """How many things were deleted and can be brought back."""
        count: int = self._database.connection().execute("SELECT count(*) FROM bin").get
        return count

    def empty(self) -> int:
        """Let go of what was deleted, for ever; return how many things that were."""
        with self._database.atomic() as connection:
            connection.execute("DELETE FROM bin")
            return connection.changes()

    def _keep(self, connection: apsw.Connection, title: str, body: Mapping[str, Any]) -> None:
        connection.execute(
            "INSERT INTO bin (title, body) VALUES (?, ?)", (text_to_column(title[:200]), json.dumps(body))
        )

    def _restore_session(self, connection: apsw.Connection, body: Row) -> tuple[int, list[int]]:
        row = body["session"]
        taken = connection.execute(
            "SELECT count(*) FROM session WHERE source = ? AND external_id = ?",
            (row["source"], row["external_id"]),
        ).get
        if taken:
            raise BadInput("This session was imported again meanwhile; the deleted one stays deleted.")
        session_id = _insert(connection, "session", row)
        ids = [_put_back(connection, session_id, message) for message in body["messages"]]
        places = {message["position"]: i for message, i in zip(body["messages"], ids, strict=True)}
        _pin_again(connection, body, places)
        connection.execute(
            "UPDATE session SET leaf_id = (SELECT id FROM message WHERE session_id = ?1 AND position = ?2) "
            "WHERE id = ?1",
            (session_id, body["leaf"]),
        )
        return session_id, ids

    def _restore_message(self, connection: apsw.Connection, body: Row) -> tuple[int, list[int]]:
        session_id, (message,) = body["session_id"], body["messages"]
        self._sessions.session(session_id)
        place = connection.execute(
            "SELECT max(position) + 1, sum(position = ?2 OR external_id = ?3) "
            "FROM message WHERE session_id = ?1",
            (session_id, message["position"], message["external_id"]),
        ).get
        end, taken = place
        if taken:  # something was said in its place: it comes back as another version of that
            message = {
                **message,
                "position": end,
                "turn": end,
                "external_id": f"#{end}~{message['external_id']}",
                "parent": body["followed"],
            }
            body["moved"] = {}
        identity = _put_back(connection, session_id, message)
        _pin_again(connection, body, {body["messages"][0]["position"]: identity})
        for follower, parent in body["moved"].items():
            _set_parent(connection, session_id, follower, parent)
        end_of_branch = Branches(self._sessions.messages(session_id)).end_of(identity)
        connection.execute("UPDATE session SET leaf_id = ? WHERE id = ?", (end_of_branch, session_id))
        return session_id, [identity]


def _set_parent(connection: apsw.Connection, session_id: int, external_id: str, parent: str | None) -> None:
    connection.execute(
        "UPDATE message SET parent = ? WHERE session_id = ? AND external_id = ?",
        (parent, session_id, external_id),
    )


def _place_of(connection: apsw.Connection, session: Row) -> int | None:
    place: int | None = connection.execute(
        "SELECT position FROM message WHERE id = ?", (session["leaf_id"],)
    ).get
    return place


def _messages(connection: apsw.Connection, where: str, identity: int) -> list[Row]:
    return _rows(
        connection,
        "SELECT m.*, t.number AS turn, r.body AS reply FROM message m JOIN turn t ON t.id = m.turn_id "
        f"LEFT JOIN reply r ON r.message_id = m.id WHERE {where} ORDER BY m.position",
        identity,
    )


def _pins(connection: apsw.Connection, where: str, identity: int) -> list[Row]:
    """The pins that rest on nothing but some messages, with the positions of these."""
    found = _rows(
        connection,
        "SELECT p.text, p.pinned_at, json_group_array(m.position) AS places FROM pin p "
        f"JOIN pin_source s ON s.pin_id = p.id JOIN message m ON m.id = s.message_id WHERE {where} "
        "GROUP BY p.id HAVING count(*) = (SELECT count(*) FROM pin_source o WHERE o.pin_id = p.id) "
        "ORDER BY p.id",
        identity,
    )
    return [{**row, "places": json.loads(row["places"])} for row in found]


def _pin_again(connection: apsw.Connection, body: Row, ids: Mapping[int, int]) -> None:
    """Pin what was pinned of messages that came back; ``ids`` has their new ids by position."""
    for pin in body.get("pins", ()):
        row = {"text": pin["text"], "pinned_at": pin["pinned_at"]}
        identity = _insert(connection, "pin", row)
        connection.executemany(
            "INSERT INTO pin_source (pin_id, message_id) VALUES (?, ?)",
            [(identity, ids[place]) for place in pin["places"]],
        )


def _put_back(connection: apsw.Connection, session_id: int, message: Row) -> int:
    """Insert a message with the turn that it belongs to; return its new id."""
    message = dict(message)
    turn, reply = message.pop("turn"), message.pop("reply")
    connection.execute("INSERT OR IGNORE INTO turn (session_id, number) VALUES (?, ?)", (session_id, turn))
    turn_id = connection.execute(
        "SELECT id FROM turn WHERE session_id = ? AND number = ?", (session_id, turn)
    ).get
    identity = _insert(connection, "message", message, session_id=session_id, turn_id=turn_id)
    if reply is not None:
        connection.execute("INSERT INTO reply (message_id, body) VALUES (?, ?)", (identity, reply))
    return identity


def _rows(connection: apsw.Connection, query: str, identity: int) -> list[Row]:
    """Rows as JSON can hold them, by name of column."""
    cursor = connection.execute(query, (identity,))
    found = []
    for row in cursor:
        names = [name for name, *_ in cursor.get_description()]
        texts = (text_from_column(value) if isinstance(value, bytes) else value for value in row)
        found.append(dict(zip(names, texts, strict=True)))
    return found


def _insert(connection: apsw.Connection, table: str, row: Row, **own: int) -> int:
    values = {name: value for name, value in row.items() if name not in _OWN} | own
    connection.execute(
        f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})",
        [text_to_column(value) if isinstance(value, str) else value for value in values.values()],
    )
    return connection.last_insert_rowid()
