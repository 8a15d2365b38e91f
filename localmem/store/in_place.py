"""Whether the files of an open store are still the ones that it was opened with.

SQLite goes on writing to a file that has no name any more, and what it writes then is gone with the program.
Two programs that hold different logs of one file break it.
"""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from localmem.errors import StoreError

_ENDS = ("", "-wal", "-shm")


class InPlace:
    """The files as they are now; make it once the connection has read, which is when they are all there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = {end: _identity(path, end) for end in _ENDS}

    def check(self, connection: apsw.Connection) -> None:
        """Raise :class:`StoreError` when one was moved, removed or replaced. Outside of any transaction.

        When it is the log, and nobody has made another, what is in it is moved into the file first.
        """
        for end, known in self._known.items():
            if (now := _identity(self._path, end)) == known:
                continue
            if not end:
                raise StoreError(
                    f"{self._path} was moved, deleted or replaced while localmem had it open. Nothing is "
                    "stored any more: it would be lost. Put it back, then close localmem and open it again."
                )
            safe = end == "-wal" and now is None
            if safe:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            raise StoreError(
                f"{self._path}{end} was removed or replaced while localmem had the file open. "
                + ("What was stored is in the file now. " if safe else "")
                + "Nothing more is stored until you close localmem and open it again."
            )


def _identity(path: Path, end: str) -> tuple[int, int] | None:
    try:
        status = os.stat(f"{path}{end}")
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
