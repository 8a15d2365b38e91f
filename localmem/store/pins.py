"""Facts that the person pinned: the model is given them whatever it is asked."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

from localmem.errors import BadInput
from localmem.store.columns import text_from_column, text_to_column
from localmem.store.connection import Database

LONGEST = 500
"""Characters of a pin: it is read again with every message."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A fact that the person pinned."""

    id: int
    text: str
    """What a message says, or a line of a layer; on one line or several."""
    messages: tuple[int, ...]
    """Ids of the messages that say it, ascending."""


class Pins:
    """Keeps pins. One goes with any message that it comes from, and when that is changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, text: str, messages: Collection[int]) -> Pin:
        """Pin a text that these messages say; one that is pinned already stays as it is.

        Raises :class:`BadInput` for a text that is empty or too long, and for a message that is not there.
        """
        text = text.strip()
        if not text:
            raise BadInput("There is nothing in it to be pinned.")
        if len(text) > LONGEST:
            raise BadInput(
                f"A pin has at most {LONGEST} characters, and this has {len(text):,}. Pin one of its facts: "
                "F3 shows them, session by session."
            )
        sources = tuple(sorted(set(messages)))
        with self._database.atomic() as connection:
            for pin in self.all():
                if (pin.text, pin.messages) == (text, sources):
                    return pin
            found = connection.execute(
                "SELECT count(*) FROM message WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(sources),),
            ).get
            if not sources or found != len(sources):
                raise BadInput("The message that says it is not there any more.")
            connection.execute(
                "INSERT INTO pin (text, pinned_at) VALUES (?, ?)",
                (text_to_column(text), datetime.now(UTC).isoformat()),
            )
            pin = Pin(connection.last_insert_rowid(), text, sources)
            connection.executemany(
                "INSERT INTO pin_source (pin_id, message_id) VALUES (?, ?)",
                [(pin.id, message) for message in sources],
            )
        return pin

    def toggle(self, text: str, messages: Collection[int]) -> bool:
        """Pin a text, or take its pin away; whether it is pinned now. Raises what :meth:`add` raises."""
        same = (text.strip(), tuple(sorted(set(messages))))
        for pin in self.all():
            if (pin.text, pin.messages) == same:
                self.remove(pin.id)
                return False
        self.add(text, messages)
        return True

    def remove(self, pin_id: int) -> None:
        """Take a pin away; one that is gone already is no error."""
        with self._database.atomic() as connection:
            connection.execute("DELETE FROM pin WHERE id = ?", (pin_id,))

    def all(self) -> list[Pin]:
        """Every pin, the last pinned first."""
        rows = self._database.connection().execute(
            "SELECT p.id, p.text, json_group_array(s.message_id) FROM pin p "
            "JOIN pin_source s ON s.pin_id = p.id GROUP BY p.id ORDER BY p.id DESC"
        )
        return [Pin(i, text_from_column(text), tuple(sorted(json.loads(ids)))) for i, text, ids in rows]
