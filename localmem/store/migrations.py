"""Bring a file's schema up to date, and refuse what is not ours or is newer."""

from __future__ import annotations

from pathlib import Path

import apsw

from localmem.errors import StoreDamaged, StoreTooNew
from localmem.store.schema import MIGRATIONS
from localmem.store.transaction import transaction

APPLICATION_ID = 0x6C6D656D
"""``lmem``: how a localmem file is told from any other SQLite file."""


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
