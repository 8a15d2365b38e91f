"""Whether a store is sound: SQLite's own checks, and what localmem relies on beyond them. Only reads."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw
import numpy as np

from localmem.errors import BadInput
from localmem.privacy.purge import UNFINISHED
from localmem.privacy.vocabulary import used_terms
from localmem.store import migrations
from localmem.store.columns import text_from_column
from localmem.store.connection import READ_ONLY, check_key, unlock, uri_of
from localmem.store.cursor import named
from localmem.store.schema import MIGRATIONS

_TOLD = 20  # lines of SQLite's integrity check


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it should be."""

    what: str
    remedy: str


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What was checked, and what is wrong."""

    checked: tuple[str, ...]
    problems: tuple[Problem, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


SALVAGE = "Keep a copy of the file, then: localmem check --salvage NEW_FILE, or go back to a backup."
REBUILD = "What was said is there. Write it into a new file: localmem check --salvage NEW_FILE"
_IMPOSSIBLE = (ValueError, TypeError, OverflowError)
"""What is raised over values that no column was given: text that is no UTF-8, a NULL for bytes."""
_AGAIN = "Run the same `localmem forget` again while no other program has the file open."

_COUNTS: tuple[tuple[str, str], ...] = (
    (
        "messages without index terms",
        "SELECT count(*) FROM message WHERE id NOT IN (SELECT message_id FROM message_terms)",
    ),
    (
        "messages that have neither a vector nor a place in the queue for one",
        "SELECT count(*) FROM message m WHERE m.id NOT IN (SELECT message_id FROM pending_embedding) "
        "AND NOT EXISTS (SELECT 1 FROM vector v JOIN embedding_model e ON e.id = v.model_id AND e.current "
        "WHERE v.message_id = m.id)",
    ),
    (
        "vectors of another length than their model's",
        "SELECT count(*) FROM vector v JOIN embedding_model e ON e.id = v.model_id "
        "WHERE length(v.embedding) <> 4 * e.dimension",
    ),
    (
        "summaries' vectors of another length than their model's",
        "SELECT count(*) FROM summary_vector v JOIN embedding_model e ON e.id = v.model_id "
        "WHERE length(v.embedding) <> 4 * e.dimension",
    ),
    (
        "turns with neither a summary, a place in the queue for one, nor the reason why there is none",
        "SELECT count(*) FROM turn t WHERE NOT EXISTS (SELECT 1 FROM layer_entry e WHERE e.turn_id = t.id "
        "AND e.layer = 'summary') AND NOT EXISTS (SELECT 1 FROM layer_due WHERE turn_id = t.id) "
        "AND NOT EXISTS (SELECT 1 FROM layer_failure f WHERE f.turn_id = t.id AND f.layer = 'summary')",
    ),
    (
        "summaries that are not indexed and do not wait for it",
        "SELECT count(*) FROM layer_entry e WHERE e.layer = 'summary' AND e.items > 0 AND e.id NOT IN "
        "(SELECT entry_id FROM summary_terms UNION ALL SELECT entry_id FROM pending_summary_terms)",
    ),
    (
        "derived entries with statements but no source",
        "SELECT count(*) FROM layer_entry e WHERE e.items > 0 "
        "AND NOT EXISTS (SELECT 1 FROM layer_source WHERE entry_id = e.id)",
    ),
    (
        "pins that no message says",
        "SELECT count(*) FROM pin WHERE id NOT IN (SELECT pin_id FROM pin_source)",
    ),
    (
        "turns without a message",
        "SELECT count(*) FROM turn WHERE id NOT IN (SELECT turn_id FROM message)",
    ),
    (
        "messages whose turn is of another session",
        "SELECT count(*) FROM message m JOIN turn t ON t.id = m.turn_id WHERE t.session_id <> m.session_id",
    ),
    (
        "messages fewer or more than counted",
        "SELECT abs(value - (SELECT count(*) FROM message)) FROM counter WHERE name = 'messages'",
    ),
    (
        "characters fewer or more than counted",
        "SELECT abs(value - (SELECT coalesce(sum(length(text)), 0) FROM message)) FROM counter "
        "WHERE name = 'characters'",
    ),
    (
        "current embedding models beyond the first",
        "SELECT max(count(*) - 1, 0) FROM embedding_model WHERE current",
    ),
)


def check(path: Path, key: str | None) -> CheckReport:
    """Check a store. It may be in use; nothing is changed, an older schema is not brought up to date.

    Raises :class:`BadInput` when there is no file, :class:`StoreEncrypted` for a missing or wrong key,
    :class:`StoreLocked` and :class:`StoreError` when it cannot be read now.
    """
    if not path.exists():
        raise BadInput(f"There is no memory at {path}.")
    check_key(path, key)
    alone = not (os.access(path.parent, os.W_OK) or path.with_name(f"{path.name}-wal").exists())
    # Where no file can be made beside it, it is read without the locks that are kept there.
    connection = apsw.Connection(uri_of(path, "immutable=1" if alone else "mode=ro"), flags=READ_ONLY)
    names, problems = [], []
    try:
        unlock(connection, key)
        connection.set_busy_timeout(10_000)
        connection.pragma("temp_store", "MEMORY")
        for name, inspect in _CHECKS.items():
            names.append(name)
            try:
                problems += list(inspect(connection, path))
            except (apsw.BusyError, apsw.CantOpenError) as error:
                raise named(error, str(path)) from error
            except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.IOError, *_IMPOSSIBLE) as error:
                problems.append(Problem(f"damaged: the check of {name} failed: {error}", SALVAGE))
            if problems and name in ("file", "schema"):
                break  # what the others ask would only say the same
    finally:
        connection.close()
    return CheckReport(tuple(names), tuple(problems))


def _file(connection: apsw.Connection, path: Path) -> Iterator[Problem]:
    migrations.check(connection, path)
    rows = connection.execute(f"PRAGMA integrity_check({_TOLD})")
    for line in [row[0] for row in rows if row[0] != "ok"]:
        yield Problem(f"damaged: {line}", SALVAGE)


def _schema(connection: apsw.Connection, path: Path) -> Iterator[Problem]:
    applied = [name for (name,) in connection.execute("SELECT name FROM migration ORDER BY rowid")]
    missing = [step.__name__ for step in MIGRATIONS if step.__name__ not in applied]
    if missing:
        yield Problem(
            f"an older schema, without {', '.join(missing)}",
            "Any other command brings it up to date; check it again then.",
        )


def _references(connection: apsw.Connection, path: Path) -> Iterator[Problem]:
    broken: dict[tuple[str, str], int] = {}
    for table, _, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        broken[table, parent] = broken.get((table, parent), 0) + 1
    for (table, parent), count in broken.items():
        yield Problem(f"{count} rows of {table} belong to a {parent} that is not there", REBUILD)


def _invariants(connection: apsw.Connection, path: Path) -> Iterator[Problem]:
    for what, query in _COUNTS:
        count = connection.execute(query).get
        if count:
            yield Problem(f"{count} {what}", REBUILD)


def _vocabulary(connection: apsw.Connection, path: Path) -> Iterator[Problem]:
    known = np.array([i for (i,) in connection.execute("SELECT id FROM term")], np.int64)
    lost = len(np.setdiff1d(used_terms(connection), known))
    if lost:
        yield Problem(f"{lost} index terms have no word", REBUILD)


def _texts(connection: apsw.Connection, path: Path) -> Iterator[Problem]:
    unreadable = 0
    for (body,) in connection.execute("SELECT body FROM layer_entry"):
        try:
            json.loads(text_from_column(body))
        except ValueError:
            unreadable += 1
    if unreadable:
        yield Problem(f"{unreadable} derived entries cannot be read", REBUILD)
    lost = 0
    for row in connection.execute("SELECT text, speaker, attachments FROM message"):
        try:
            [text_from_column(value) for value in row]
        except UnicodeDecodeError:
            lost += 1
    if lost:
        yield Problem(f"{lost} messages are no text", SALVAGE)


def _forgetting(connection: apsw.Connection, path: Path) -> Iterator[Problem]:
    if connection.execute("SELECT count(*) FROM setting WHERE key = ?", (UNFINISHED,)).get:
        yield Problem("something was forgotten whose bytes may still be in the file", _AGAIN)


_CHECKS: dict[str, Callable[[apsw.Connection, Path], Iterator[Problem]]] = {
    "file": _file,
    "schema": _schema,
    "references": _references,
    "invariants": _invariants,
    "vocabulary": _vocabulary,
    "texts": _texts,
    "forgetting": _forgetting,
}
