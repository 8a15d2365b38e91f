"""The schema, as a list of named steps. A step commits together with its record in `migration`.

A step is never edited once released; a change is a new step. Why each step is as it is stands beside
it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw

from localmem.errors import StoreDamaged, StoreTooNew
from localmem.store.transaction import transaction

APPLICATION_ID = 0x6C6D656D
"""``lmem``: how a localmem file is told from any other SQLite file."""


def m001_sessions(connection: apsw.Connection) -> None:
    """Sessions, their turns and messages, and settings.

    ``message.text`` and ``attachments`` are ANY: text that UTF-8 cannot hold (lone surrogates) is
    kept as a blob (see :mod:`localmem.store.columns`). Times are UTC; ``*_zone`` is the original offset
    in minutes, NULL where the source named none. A turn goes with its last message. Ids are never used
    twice (AUTOINCREMENT), so an index may ask for "everything after id".
    """
    connection.execute("""
        CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
        CREATE TABLE session (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            source TEXT NOT NULL,
            external_id TEXT NOT NULL,
            title ANY NOT NULL,
            started_at TEXT,
            started_zone INTEGER,
            ended_at TEXT,
            tags TEXT NOT NULL DEFAULT '[]',
            UNIQUE (source, external_id)
        ) STRICT;
        CREATE TABLE turn (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
            number INTEGER NOT NULL,
            UNIQUE (session_id, number)
        ) STRICT;
        CREATE TABLE message (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
            turn_id INTEGER NOT NULL REFERENCES turn ON DELETE CASCADE,
            position INTEGER NOT NULL,
            role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
            speaker ANY NOT NULL,
            text ANY NOT NULL CHECK (typeof(text) IN ('text', 'blob')),
            sent_at TEXT,
            sent_zone INTEGER,
            sent_at_inferred INTEGER NOT NULL DEFAULT 0,
            external_id TEXT NOT NULL,
            parent TEXT,
            origin TEXT NOT NULL CHECK (origin IN ('said', 'recalled')),
            attachments ANY NOT NULL,
            UNIQUE (session_id, position),
            UNIQUE (session_id, external_id)
        ) STRICT;
        CREATE INDEX message_turn ON message (turn_id);
        CREATE TRIGGER last_message_of_turn_deleted AFTER DELETE ON message BEGIN
            DELETE FROM turn WHERE id = old.turn_id
            AND NOT EXISTS (SELECT 1 FROM message WHERE turn_id = old.turn_id);
        END;
    """)


def m002_indexes(connection: apsw.Connection) -> None:
    """What makes messages findable, hung on them by foreign key.

    ``message_terms`` is the truth of the lexical index: term ids and frequencies of one message, and
    what its text tells at a look (``marks``).
    ``lexical_segment`` holds the same, inverted, for a range of message ids; it is dropped when a
    message of its range goes, and made again from ``message_terms``. ``vector`` is the truth of the
    dense index, one row for each part of a message; ``vector_block`` holds a smaller form of ranges of it,
    dropped and made again as a segment is; ``pending_embedding`` is its queue.
    ``deletions`` counts the messages that went, so that a cache elsewhere knows it is stale;
    ``messages`` and ``characters`` are the size of the whole history, which a ledger compares itself with.
    """
    connection.execute("""
        CREATE TABLE term (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
        CREATE TABLE message_terms (
            message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE,
            length INTEGER NOT NULL,
            marks INTEGER NOT NULL,
            terms BLOB NOT NULL
        ) STRICT;
        CREATE TABLE lexical_segment (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            first_id INTEGER NOT NULL,
            last_id INTEGER NOT NULL,
            messages INTEGER NOT NULL,
            documents BLOB NOT NULL,
            lengths BLOB NOT NULL,
            terms BLOB NOT NULL,
            starts BLOB NOT NULL,
            places BLOB NOT NULL,
            counts BLOB NOT NULL
        ) STRICT;
        CREATE TABLE embedding_model (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            fingerprint TEXT NOT NULL UNIQUE,
            dimension INTEGER NOT NULL,
            basis BLOB,
            current INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE TABLE vector (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            message_id INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
            model_id INTEGER NOT NULL REFERENCES embedding_model ON DELETE CASCADE,
            part INTEGER NOT NULL,
            words INTEGER NOT NULL,
            embedding BLOB NOT NULL,
            UNIQUE (message_id, model_id, part)
        ) STRICT;
        CREATE TABLE vector_block (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            model_id INTEGER NOT NULL REFERENCES embedding_model ON DELETE CASCADE,
            first_id INTEGER NOT NULL,
            last_id INTEGER NOT NULL,
            first_message INTEGER NOT NULL,
            last_message INTEGER NOT NULL,
            messages BLOB NOT NULL,
            words BLOB NOT NULL,
            reduced BLOB NOT NULL
        ) STRICT;
        CREATE TABLE pending_embedding (
            message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE
        ) STRICT;
        CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
        INSERT INTO counter VALUES ('deletions', 0), ('messages', 0), ('characters', 0);
        CREATE TRIGGER message_added AFTER INSERT ON message BEGIN
            UPDATE counter SET value = value + 1 WHERE name = 'messages';
            UPDATE counter SET value = value + length(new.text) WHERE name = 'characters';
        END;
        CREATE TRIGGER message_deleted AFTER DELETE ON message BEGIN
            DELETE FROM lexical_segment WHERE old.id BETWEEN first_id AND last_id;
            DELETE FROM vector_block WHERE old.id BETWEEN first_message AND last_message;
            UPDATE counter SET value = value + 1 WHERE name = 'deletions';
            UPDATE counter SET value = value - 1 WHERE name = 'messages';
            UPDATE counter SET value = value - length(old.text) WHERE name = 'characters';
        END;
    """)


def m003_traces(connection: apsw.Connection) -> None:
    """How an answer came about: question, evidence, steps and cost, as JSON."""
    connection.execute("""
        CREATE TABLE trace (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            created_at TEXT NOT NULL,
            question ANY NOT NULL,
            body TEXT NOT NULL
        ) STRICT;
    """)


MIGRATIONS: tuple[Callable[[apsw.Connection], None], ...] = (m001_sessions, m002_indexes, m003_traces)


def check(connection: apsw.Connection, path: Path) -> None:
    """Refuse a file that is not ours or is newer than this program; only reads.

    Raises :class:`StoreDamaged` or :class:`StoreTooNew`; apsw's own errors for a file that is no
    database at all.
    """
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    if tables and connection.pragma("application_id") != APPLICATION_ID:
        raise StoreDamaged(f"{path} is a database of another program. The file was not changed.")
    if tables:
        known = {step.__name__ for step in MIGRATIONS}
        unknown = [name for name in _applied(connection) if name not in known]
        if unknown:
            raise StoreTooNew(
                f"{path} was written by a newer localmem (it has {unknown[0]}). "
                "Update localmem to open it. The file was not changed."
            )


def apply(connection: apsw.Connection) -> None:
    """Take the steps that the file does not have yet, each in one transaction with its record."""
    if len(_applied(connection)) == len(MIGRATIONS):
        return
    for step in MIGRATIONS:
        with transaction(connection):
            if not _applied(connection):
                connection.pragma("application_id", APPLICATION_ID)
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS migration "
                    "(name TEXT PRIMARY KEY, applied_at TEXT NOT NULL) STRICT"
                )
            if step.__name__ not in _applied(connection):
                step(connection)
                connection.execute(
                    "INSERT INTO migration VALUES (?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))",
                    (step.__name__,),
                )


def _applied(connection: apsw.Connection) -> list[str]:
    exists = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'migration'").get
    if not exists:
        return []
    return [name for (name,) in connection.execute("SELECT name FROM migration ORDER BY rowid")]
