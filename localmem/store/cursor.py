"""SQLite's failures in our own words, whichever statement or row meets them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import apsw

from localmem.errors import BadInput, StoreDamaged, StoreError, StoreLocked

_DAMAGED = (apsw.CorruptError, UnicodeDecodeError)  # text columns are UTF-8 unless a page is damaged
_HELD = (apsw.BusyError, apsw.LockedError, apsw.ProtocolError)
_READ_ONLY = (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError)
_UNUSABLE = (apsw.IOError, apsw.CantOpenError)

OR_A_COPY = "Make it writable, or copy it to where you may write and open the copy: localmem --db COPY"
"""What to do about a file that can only be read."""
SMALLEST = 1 << 16
"""Bytes: what SQLite needs beside a file that it only reads."""

FAILURES = (apsw.NotADBError, *_DAMAGED, *_HELD, *_READ_ONLY, apsw.FullError, *_UNUSABLE)
"""What can be wrong with a file, as apsw raises it. Anything else is a mistake of this program."""


def named(error: Exception, path: str) -> StoreError:
    """One of :data:`FAILURES` as the error that says what to do."""
    if isinstance(error, apsw.NotADBError):
        return StoreDamaged(f"{path} is not a localmem file. It was not changed.")
    if isinstance(error, _DAMAGED):
        return StoreDamaged(f"{path} is damaged: {error}. Keep a copy; `localmem check` says more.")
    if isinstance(error, _HELD):
        return StoreLocked(f"Another program is writing to {path}. Try again when it has finished.")
    if isinstance(error, _READ_ONLY):
        return StoreError(f"{path} cannot be written: it, its folder or the disk is read-only. {OR_A_COPY}")
    if isinstance(error, apsw.FullError) or _is_full(path):
        return StoreError(
            f"{path} cannot be written: the disk is full. What was stored before is safe. "
            "Make room, then do it again."
        )
    if isinstance(error, apsw.CantOpenError):
        return StoreError(
            f"{path} cannot be opened: localmem must be able to read it and to make files beside it, "
            "in the same folder."
        )
    return StoreError(f"{path} cannot be read or written: {error}. Is its disk still there, and sound?")


def _is_full(path: str) -> bool:
    """Whether no room is left for even the smallest file beside this one; SQLite calls that an I/O error."""
    try:
        return shutil.disk_usage(Path(path).absolute().parent).free < SMALLEST
    except OSError:
        return False  # the disk went away: there is no telling


class StoreCursor(apsw.Cursor):
    """A cursor whose failures are named."""

    def execute(self, *arguments: Any, **options: Any) -> apsw.Cursor:
        """As apsw's. Raises :class:`BadInput` for a number that no column can hold: a made-up id."""
        try:
            return super().execute(*arguments, **options)
        except OverflowError as error:
            raise BadInput("A number is too large: an id has at most 18 digits.") from error
        except FAILURES as error:
            raise named(error, self.connection.filename) from error

    def executemany(self, *arguments: Any, **options: Any) -> apsw.Cursor:
        """As apsw's."""
        try:
            return super().executemany(*arguments, **options)
        except FAILURES as error:
            raise named(error, self.connection.filename) from error

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except FAILURES as error:
            raise named(error, self.connection.filename) from error

    def fetchone(self) -> Any:
        """As apsw's."""
        try:
            return super().fetchone()
        except FAILURES as error:
            raise named(error, self.connection.filename) from error

    def fetchall(self) -> list[Any]:
        """As apsw's."""
        try:
            return super().fetchall()
        except FAILURES as error:
            raise named(error, self.connection.filename) from error

    @property
    def get(self) -> Any:
        """As apsw's."""
        try:
            return super().get
        except FAILURES as error:
            raise named(error, self.connection.filename) from error
