"""One SQLite file, one connection for each thread, one way to change it: :meth:`Database.atomic`."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import sqlite_vec

from localmem.errors import StoreDamaged, StoreEncrypted, StoreError, StoreLocked
from localmem.store import migrations
from localmem.store.transaction import transaction

BUSY_TIMEOUT_MS = 10_000
"""How long a write waits for another process to finish its own."""

PAGE_SIZE = 8192
"""Bytes. Five 384-dimensional vectors fill a page of this size; of 4096 they would waste a quarter."""

MEMORY_MAP = 1 << 30
"""Bytes of the file that may be read by mapping instead of copying."""


class Database:
    """The memory file. Opening checks it and brings its schema up to date.

    Raises :class:`StoreDamaged` when the file is not ours to open, :class:`StoreEncrypted` when a
    key is needed or wrong, :class:`StoreTooNew` when a newer localmem wrote it, and
    :class:`StoreLocked` when another program holds it. In each case the file is left as it was.
    """

    def __init__(self, path: Path, key: str | None = None) -> None:
        self.path = path
        self._key = key
        self._local = threading.local()
        self._connections: list[apsw.Connection] = []
        self._guard = threading.Lock()
        self._closed = False
        with self._typed_errors():
            self._create_private_file()
            connection = self._connect(check=True)
            migrations.apply(connection)
            connection.pragma("journal_mode", "wal")
        self._local.connection = connection

    def connection(self) -> apsw.Connection:
        """This thread's connection, for reading. Writes go through :meth:`atomic`."""
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if self._closed:
            raise StoreError(f"{self.path} was closed.")
        if connection is None:
            with self._typed_errors():
                connection = self._connect(check=False)
            self._local.connection = connection
        return connection

    @contextmanager
    def atomic(self) -> Iterator[apsw.Connection]:
        """All changes made inside are kept, or none. May be nested."""
        connection = self.connection()
        with self._typed_errors(), transaction(connection):
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[apsw.Connection]:
        """All reads made inside see one state of the file, and take no write lock."""
        with self._typed_errors():
            connection = self.connection()
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN DEFERRED")
            try:
                yield connection
            finally:
                connection.execute("COMMIT")

    def close(self) -> None:
        """Close every thread's connection. Closing twice is allowed."""
        with self._guard:
            self._closed = True
            for connection in self._connections:
                connection.close()
            self._connections.clear()

    def _create_private_file(self) -> None:
        """Memory is nobody else's business: folder 0700, file 0600, before anything is written."""
        if not self.path.parent.exists():
            self.path.parent.mkdir(parents=True, mode=0o700)
        if self.path.is_dir():
            raise StoreDamaged(f"{self.path} is a folder; give the path of a file.")
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise StoreError(f"{self.path} cannot be opened for writing: {error.strerror}.") from error

    def _connect(self, *, check: bool) -> apsw.Connection:
        connection = apsw.Connection(str(self.path))
        try:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            if self._key is not None:
                connection.pragma("key", self._key)
            if check:
                migrations.check(connection, self.path)
            connection.pragma("page_size", PAGE_SIZE)
            connection.pragma("foreign_keys", 1)
            connection.pragma("secure_delete", 1)
            connection.pragma("synchronous", "FULL")
            connection.pragma("mmap_size", MEMORY_MAP)
            connection.enable_load_extension(True)
            connection.load_extension(sqlite_vec.loadable_path())
            connection.enable_load_extension(False)
        except BaseException:  # whatever it is, it goes on; only the connections must not stay open
            connection.close()
            raise
        with self._guard:
            self._connections.append(connection)
        return connection

    @contextmanager
    def _typed_errors(self) -> Iterator[None]:
        """SQLite's failures in our own words."""
        try:
            yield
        except apsw.NotADBError as error:
            if self._key is not None:
                raise StoreEncrypted(
                    f"The key does not open {self.path}. The file was not changed."
                ) from error
            raise StoreDamaged(
                f"{self.path} is not a localmem file, or it is encrypted. The file was not changed."
            ) from error
        except apsw.CorruptError as error:
            raise StoreDamaged(
                f"{self.path} is damaged: {error}. Keep a copy; `localmem doctor` says more."
            ) from error
        except (apsw.BusyError, apsw.LockedError) as error:
            raise StoreLocked(
                f"Another program is writing to {self.path}. Try again when it has finished."
            ) from error
        except (apsw.ReadOnlyError, apsw.FullError, apsw.IOError, apsw.CantOpenError) as error:
            raise StoreError(f"{self.path} cannot be written: {error}.") from error
