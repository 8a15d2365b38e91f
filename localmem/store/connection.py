"""One SQLite file, one connection for each thread, one way to change it: :meth:`Database.atomic`."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import apsw
import sqlite_vec

from localmem.errors import StoreDamaged, StoreEncrypted, StoreError
from localmem.models.turns import Turns
from localmem.store import migrations
from localmem.store.cursor import FAILURES, OR_A_COPY, StoreCursor, named
from localmem.store.in_place import InPlace
from localmem.store.transaction import transaction

BUSY_TIMEOUT_MS = 10_000
"""How long a write waits for another process to finish its own."""

PAGE_SIZE = 8192
"""Bytes. Five 384-dimensional vectors fill a page of this size; of 4096 they would waste a quarter."""

MEMORY_MAP = 1 << 30
"""Bytes of the file that may be read by mapping instead of copying."""

SYNCHRONOUS = "FULL"
"""SQLite's documentation says of a write-ahead log that NORMAL keeps the file consistent, "but WAL mode does
lose durability. A transaction committed in WAL mode with synchronous=NORMAL might roll back following a power
loss", and that FULL adds "a sync operation of the WAL file" after each commit. Acknowledged means there after
a power cut, so it is FULL: a commit takes 3 to 10 ms longer, an exchange in the chat 5 to 15."""

CIPHER = "aegis"
"""AEGIS-256: each page is authenticated, so a changed one is noticed; the key is made of the passphrase by
Argon2id, which needs memory to guess at. Reading a thousand vectors takes 4 ms (2 without encryption, 9 with
ChaCha20, 23 with SQLCipher's AES-256-CBC): a search stays within its time."""

SIDE_FILES = ("-wal", "-shm", "-journal")
"""What SQLite adds to the file's name for the files it keeps beside it."""

READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
"""Flags to open a file for reading, by its :func:`uri_of`."""

_PLAIN = b"SQLite format 3\0"
_NOISE = 200  # of 256 values that a page of random bytes has; text and an empty page have far fewer


def is_encrypted(path: Path) -> bool:
    """Whether a file looks like an encrypted one: no database's head, and a first page of noise."""
    page = first_page(path)
    return len(page) == PAGE_SIZE and not page.startswith(_PLAIN) and len(set(page)) > _NOISE


def first_page(path: Path) -> bytes:
    """The first bytes of a file as they are, at most :data:`PAGE_SIZE`; none when there is no such file.

    SQLite reads them. If Python did, closing the file would let go of every lock that this program's own
    connections have on it (as POSIX has it), and another program could take the log from under them.
    """
    size = path.stat().st_size if path.exists() else 0
    if not size:
        return b""
    connection = apsw.Connection(uri_of(path, "immutable=1"), flags=READ_ONLY)
    try:
        return connection.read("main", 0, 0, min(PAGE_SIZE, size))[1]
    finally:
        connection.close()


def unlock(connection: apsw.Connection, key: str | None) -> None:
    """Give a connection its key, before anything else is done with it."""
    if key is not None:
        connection.pragma("cipher", CIPHER)
        connection.pragma("hexkey", key_bytes(key).hex())


def key_bytes(key: str) -> bytes:
    """A passphrase as bytes; one that is empty would not encrypt at all and is refused."""
    if not key:
        raise StoreEncrypted("An empty key protects nothing; choose another.")
    return key.encode("utf-8", "surrogatepass")


def uri_of(path: Path, options: str) -> str:
    """A file's name with options, as SQLite takes both."""
    return f"file:{quote(str(path.absolute()))}?{options}"


def check_key(path: Path, key: str | None) -> None:
    """Raise :class:`StoreEncrypted` unless ``key`` opens the file (None: unless it is not encrypted).

    Nothing is written, not even a side file: without the right key SQLite would take what waits in the WAL
    for noise, and tidy it away. A first page that changes meanwhile is read again.
    """
    page = first_page(path)
    if not page:
        return
    if key is None:
        if is_encrypted(path):
            raise StoreEncrypted(f"{path} is encrypted, or no localmem file. The file was not changed.")
        return
    if page.startswith(_PLAIN):
        raise StoreEncrypted(f"{path} is not encrypted; open it without a key.")
    while not _opens(path, key):
        before, page = page, first_page(path)
        if before == page:
            raise StoreEncrypted(
                f"The key does not open {path}, or its first page is damaged. The file was not changed."
            )


def _opens(path: Path, key: str) -> bool:
    connection = apsw.Connection(uri_of(path, "immutable=1"), flags=READ_ONLY)
    try:
        unlock(connection, key)
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except apsw.NotADBError:
        return False
    except apsw.CorruptError:
        return True  # the key is right; what is damaged is told by whoever opens it
    finally:
        connection.close()
    return True


class Database:
    """The memory file. Opening checks it and brings its schema up to date.

    Raises :class:`StoreDamaged` when the file is not ours to open, :class:`StoreEncrypted` when a
    key is needed or wrong, :class:`StoreTooNew` when a newer localmem wrote it, and
    :class:`StoreLocked` when another program holds it. In each case the file is left as it was.
    """

    def __init__(self, path: Path, key: str | None = None) -> None:
        self.path = path
        self.key = key
        self._local = threading.local()
        self._connections: list[tuple[threading.Thread, apsw.Connection]] = []
        self._guard = threading.Lock()
        self._writers = Turns()
        self._closed = False
        with self.typed_errors():
            self._create_private_file()
            check_key(path, key)
            connection = self._connect(check=True)
            migrations.apply(connection)
            connection.pragma("journal_mode", "wal")
            self._schema_version: int = connection.pragma("schema_version")
            self._in_place = InPlace(path)
        self._local.connection = connection

    def connection(self) -> apsw.Connection:
        """This thread's connection, for reading. Writes go through :meth:`atomic`."""
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if self._closed:
            raise StoreError(f"{self.path} was closed.")
        if connection is None:
            with self.typed_errors():
                connection = self._connect(check=False)
            self._local.connection = connection
        return connection

    @contextmanager
    def atomic(self) -> Iterator[apsw.Connection]:
        """All changes made inside are kept, or none. May be nested.

        Threads take turns in the order in which they came: among many writers SQLite's own waiting, which
        looks again now and then, left single ones without a turn until their time was up (seen).
        """
        connection = self.connection()
        if connection.in_transaction:
            with self.typed_errors(), transaction(connection):
                yield connection
            return
        with self._writers.turn(lambda: None, BUSY_TIMEOUT_MS), self.typed_errors():
            self._in_place.check(connection)
            with transaction(connection):
                self._check_schema(connection)
                yield connection

    @contextmanager
    def unmapped(self) -> Iterator[None]:
        """Inside, this thread does not map the file: what is mapped counts as memory of the process."""
        connection = self.connection()
        connection.pragma("mmap_size", 0)
        try:
            yield
        finally:
            connection.pragma("mmap_size", MEMORY_MAP)

    @contextmanager
    def snapshot(self) -> Iterator[apsw.Connection]:
        """All reads made inside see one state of the file, and take no write lock."""
        with self.typed_errors():
            connection = self.connection()
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN DEFERRED")
            try:
                yield connection
            finally:
                if connection.in_transaction:  # some failures have ended it
                    connection.execute("COMMIT")

    def close(self) -> None:
        """Close every thread's connection. Closing twice is allowed."""
        with self._guard:
            self._closed = True
            for _, connection in self._connections:
                connection.close()
            self._connections.clear()

    def _check_schema(self, connection: apsw.Connection) -> None:
        """Write nothing more once a newer program has changed the schema: it relies on unknown things."""
        version: int = connection.pragma("schema_version")
        if version != self._schema_version:
            migrations.check(connection, self.path)
            self._schema_version = version

    def _create_private_file(self) -> None:
        """Memory is nobody else's business: folder 0700, file 0600, before anything is written."""
        if not self.path.parent.exists():
            self.path.parent.mkdir(parents=True, mode=0o700)
        if self.path.is_dir():
            raise StoreDamaged(f"{self.path} is a folder; give the path of a file.")
        if self.path.exists():  # opened by SQLite alone: see first_page
            if not os.access(self.path, os.R_OK | os.W_OK):
                raise StoreError(
                    f"{self.path} cannot be opened for writing: it is read-only here. {OR_A_COPY}"
                )
            return
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return  # another program was as quick
        except OSError as error:
            raise StoreError(f"{self.path} cannot be opened for writing: {error.strerror}.") from error

    def _connect(self, *, check: bool) -> apsw.Connection:
        connection = apsw.Connection(str(self.path))
        connection.cursor_factory = StoreCursor
        try:
            # Until the file is known to be ours, closing must not move its log into it.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            unlock(connection, self.key)
            connection.pragma("temp_store", "MEMORY")  # nothing of it in other files, not even for a moment
            if check:
                migrations.check(connection, self.path)
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
            connection.pragma("page_size", PAGE_SIZE)
            connection.pragma("foreign_keys", 1)
            connection.pragma("secure_delete", 1)
            connection.pragma("synchronous", SYNCHRONOUS)
            connection.pragma("fullfsync", 1)  # on macOS a plain sync stays in the drive's cache
            connection.pragma("mmap_size", MEMORY_MAP)
            connection.enable_load_extension(True)
            connection.load_extension(sqlite_vec.loadable_path())
            connection.enable_load_extension(False)
        except BaseException:  # whatever it is, it goes on; only the connections must not stay open
            connection.close()
            raise
        with self._guard:  # threads may come and go by the thousand: theirs are closed with the next one
            kept = [(threading.current_thread(), connection)]
            for thread, other in self._connections:
                if thread.is_alive():
                    kept.append((thread, other))
                else:
                    other.close()
            self._connections = kept
        return connection

    @contextmanager
    def typed_errors(self) -> Iterator[None]:
        """SQLite's failures inside, in our own words; those of statements are already."""
        try:
            yield
        except FAILURES as error:
            raise named(error, str(self.path)) from error
