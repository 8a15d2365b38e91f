"""What a person does with sessions: name, tag, archive and instruct them, say where they go on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from localmem.errors import BadInput
from localmem.store.columns import text_from_column, text_to_column
from localmem.store.connection import Database


class Desk:
    """Changes sessions, never what was said in them. Each raises :class:`BadInput` when there is none."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def rename(self, session_id: int, title: str) -> None:
        """Give a session another title."""
        self._set(session_id, "title", text_to_column(title))

    def tag(self, session_id: int, tags: Sequence[str]) -> None:
        """Give a session these tags in place of those that it has."""
        self._set(session_id, "tags", json.dumps(list(dict.fromkeys(tags))))

    def archive(self, session_id: int, *, archived: bool = True) -> None:
        """Put a session away, or take it out again."""
        self._set(session_id, "archived", int(archived))

    def system(self, session_id: int) -> str:
        """The person's own system prompt for a session; empty: none."""
        return text_from_column(self._get(session_id, "system"))

    def set_system(self, session_id: int, text: str) -> None:
        """Give a session a system prompt; empty: none."""
        self._set(session_id, "system", text_to_column(text))

    def leaf(self, session_id: int) -> int | None:
        """Id of the message that a session goes on from; None: its last one."""
        leaf: int | None = self._get(session_id, "leaf_id")
        return leaf

    def set_leaf(self, session_id: int, message_id: int) -> None:
        """Let a session go on from one of its messages."""
        self._set(session_id, "leaf_id", message_id)

    def said_lately(self, source: str, sessions: int = 50, limit: int = 200) -> list[str]:
        """What the person said last in the latest sessions of a source, the oldest first."""
        rows = self._database.connection().execute(
            "SELECT text FROM message WHERE role = 'user' AND session_id IN "
            "(SELECT id FROM session WHERE source = ? ORDER BY id DESC LIMIT ?) ORDER BY id DESC LIMIT ?",
            (source, sessions, limit),
        )
        return [text_from_column(text) for (text,) in rows][::-1]

    def _get(self, session_id: int, column: str) -> Any:
        connection = self._database.connection()
        row = connection.execute(f"SELECT {column} FROM session WHERE id = ?", (session_id,)).fetchone()
        if row is None:
            raise _missing(session_id)
        return row[0]

    def _set(self, session_id: int, column: str, value: str | bytes | int) -> None:
        with self._database.atomic() as connection:
            connection.execute(f"UPDATE session SET {column} = ? WHERE id = ?", (value, session_id))
            if not connection.changes():
                raise _missing(session_id)


def _missing(session_id: int) -> BadInput:
    return BadInput(f"There is no session {session_id} any more.")
