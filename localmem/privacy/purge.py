"""Getting deleted bytes out of the file, and out of the files beside it.

``secure_delete`` overwrites what is deleted, but old pages stay in the write-ahead log, and what SQLite
moved leaves copies in pages that are in use. So: the log into the file, the file written anew, the log into
the file again. In another order old pages come back.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import apsw
import psutil

from localmem.errors import StoreLocked
from localmem.store import Database
from localmem.store.connection import BUSY_TIMEOUT_MS

UNFINISHED = "forgetting"
"""The setting that says that something was deleted whose bytes may still be in the file."""

WAIT = 10.0
"""Seconds that another program is given to finish reading."""


def purge(database: Database, wait: float = WAIT) -> None:
    """Leave no byte of what was deleted in the store or beside it.

    Raises :class:`StoreLocked` when another program reads an older state all the time; what was deleted stays
    deleted, and the next call goes on.
    """
    connection = database.connection()
    with database.typed_errors():
        _checkpoint(database, connection, wait)
        deadline = time.monotonic() + wait
        while True:
            try:
                connection.execute("VACUUM")
                break
            except StoreLocked as error:
                if time.monotonic() > deadline:
                    raise _held(database.path) from error
        connection.execute(f"DELETE FROM setting WHERE key = '{UNFINISHED}'")
        try:
            _checkpoint(database, connection, wait)
        except StoreLocked:
            connection.execute(f"INSERT OR REPLACE INTO setting VALUES ('{UNFINISHED}', '1')")
            raise


def unfinished(database: Database) -> bool:
    """Whether bytes of something forgotten may still be in the file."""
    return bool(
        database.connection().execute("SELECT count(*) FROM setting WHERE key = ?", (UNFINISHED,)).get
    )


def holders(path: Path) -> list[str]:
    """Other programs that have a file open, as ``name (pid)``; what cannot be seen is left out."""
    found = []
    real = os.path.realpath(path)
    for process in psutil.process_iter(["pid", "name"]):
        try:
            if process.pid != os.getpid() and any(file.path == real for file in process.open_files()):
                found.append(f"{process.info['name']} ({process.pid})")
        except psutil.Error:
            continue  # it ended meanwhile, or is another user's
    return found


def _checkpoint(database: Database, connection: apsw.Connection, wait: float) -> None:
    """Empty the write-ahead log, which needs that nobody reads from it."""
    deadline = time.monotonic() + wait
    connection.set_busy_timeout(100)  # short, so that other threads get their turn
    try:
        while True:
            busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
            if not busy:
                return
            if time.monotonic() > deadline:
                raise _held(database.path)
            time.sleep(0.05)
    finally:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)


def _held(path: Path) -> StoreLocked:
    who = ", ".join(holders(path)) or "another part of this program"
    return StoreLocked(
        f"It is deleted and nothing finds it any more, but its bytes are still in {path} or its log: "
        f"{who} reads from the file. Close it, then run the same command again."
    )
