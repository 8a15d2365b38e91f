"""The terms of messages in the file, written with the message and read by the index."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable

import apsw

from localmem.index.marks import marks_of
from localmem.index.postings import pack_terms
from localmem.index.tokens import terms
from localmem.types import Message


def store_terms(connection: apsw.Connection, messages: Iterable[Message]) -> None:
    """Write the terms and marks of messages, inside the transaction that stores them."""
    counted = [(message, Counter(terms(f"{message.text} {message.attachments}"))) for message in messages]
    ids = with_new_ids(connection, {term for _, counts in counted for term in counts})
    connection.executemany(
        "INSERT INTO message_terms (message_id, length, marks, terms) VALUES (?, ?, ?, ?)",
        (
            (
                message.id,
                counts.total(),
                int(marks_of(message.text)),
                pack_terms([ids[term] for term in counts], counts.values()),
            )
            for message, counts in counted
        ),
    )


def term_ids(connection: apsw.Connection, words: Collection[str]) -> dict[str, int]:
    """Ids of those of ``words`` that any message has ever had."""
    found: dict[str, int] = dict(
        connection.execute(
            "SELECT text, id FROM term WHERE text IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(words)),),
        )
    )
    return found


def with_new_ids(connection: apsw.Connection, words: Collection[str]) -> dict[str, int]:
    """Ids of ``words``; a word that has none gets one."""
    connection.execute(
        "INSERT OR IGNORE INTO term (text) SELECT value FROM json_each(?)", (json.dumps(sorted(words)),)
    )
    return term_ids(connection, words)
