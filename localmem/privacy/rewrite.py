"""Writing a store anew, whole and checked: encrypted, decrypted, with another key, or as a backup.

``VACUUM INTO`` reads one consistent state while others go on, encrypts the first byte it writes, and leaves
out free pages. What it wrote is not durable until it is synced, and not trusted until it was opened and read.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from localmem.errors import BadInput, StoreDamaged, StoreLocked
from localmem.privacy.purge import holders
from localmem.store import Database
from localmem.store.connection import CIPHER, check_key, key_bytes, unlock, uri_of
from localmem.store.cursor import FAILURES, named

_FLAGS = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI


def backup(database: Database, target: Path) -> int:
    """Copy a store that may be in use to a new file, under the same key; return how many bytes it has.

    Raises :class:`BadInput` when there is something at ``target``, :class:`StoreDamaged` when the copy is not
    sound; nothing is left there then.
    """
    with database.typed_errors():
        _write_copy(database.path, database.key, target, database.key)
    return target.stat().st_size


def change_key(path: Path, old: str | None, new: str | None) -> None:
    """Encrypt a store (``old`` None), decrypt it (``new`` None), or give it another key.

    The store is replaced at once by a checked copy; whatever happens before leaves it as it was. The bytes of
    the old file are overwritten where they are. Raises :class:`StoreLocked` while another connection is open,
    :class:`StoreEncrypted` when ``old`` is not its key.
    """
    real = path.resolve()  # a link stays one
    if not real.exists():
        raise BadInput(f"There is no memory at {path}.")
    Database(real, old).close()  # it is ours, sound as far as that goes, and of this version
    copy = real.with_name(f".{real.name}.new")
    with _alone(real, old) as connection:
        copy.unlink(missing_ok=True)  # of an attempt that was broken off; nobody else is here
        try:
            _write_copy(real, old, copy, new, connection)
            shutil.copymode(real, copy)
            with real.open("r+b") as replaced:
                if os.name == "nt":  # an open file cannot be replaced there
                    connection.close()
                copy.replace(real)
                _sync_folder(real.parent)
                connection.close()
                _overwrite(replaced.fileno())
        finally:
            copy.unlink(missing_ok=True)


@contextmanager
def _alone(path: Path, key: str | None) -> Iterator[apsw.Connection]:
    """A connection to a store that nobody else has open, or can open while it lasts."""
    connection = apsw.Connection(str(path), flags=_FLAGS)
    try:
        unlock(connection, key)
        connection.pragma("temp_store", "MEMORY")
        try:
            connection.pragma("locking_mode", "exclusive")
            connection.pragma("journal_mode", "delete")  # fails while another connection is open
            connection.execute("BEGIN EXCLUSIVE; COMMIT")  # the lock stays
        except (apsw.BusyError, apsw.LockedError) as error:
            who = ", ".join(holders(path)) or "another part of this program"
            raise StoreLocked(
                f"{path} is in use by {who}. Close it first. The file was not changed."
            ) from error
        yield connection
    finally:
        connection.close()


def _write_copy(
    source: Path,
    key: str | None,
    target: Path,
    new_key: str | None,
    connection: apsw.Connection | None = None,
) -> None:
    """Write a store to a new file, private from its first byte; remove it if it is not sound."""
    try:
        os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError as error:
        raise BadInput(f"{target} is there already; nothing is overwritten. Choose another name.") from error
    except OSError as error:
        raise BadInput(f"{target} cannot be written: {error.strerror}.") from error
    own = connection is None
    reader = connection or apsw.Connection(str(source), flags=_FLAGS)
    try:
        if own:
            unlock(reader, key)
            reader.pragma("temp_store", "MEMORY")
        options = "key=" if new_key is None else f"cipher={CIPHER}&hexkey={key_bytes(new_key).hex()}"
        try:
            reader.execute("VACUUM INTO ?", (uri_of(target, options),))
        except (apsw.FullError, apsw.IOError, apsw.CantOpenError) as error:
            raise named(error, str(target)) from error
        except FAILURES as error:
            raise named(error, str(source)) from error
        _check_copy(target, new_key)
        with target.open("r+b") as file:
            os.fsync(file.fileno())
        _sync_folder(target.parent)
    except BaseException:  # whatever it is, it goes on; only half a copy must not stay
        target.unlink(missing_ok=True)
        raise
    finally:
        if own:
            reader.close()


def _check_copy(target: Path, key: str | None) -> None:
    """Read a copy whole. Raises :class:`StoreDamaged` when it is not what it should be."""
    check_key(target, key)
    copy = apsw.Connection(
        uri_of(target, "immutable=1"), flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )
    try:
        unlock(copy, key)
        problems = [problem for (problem,) in copy.execute("PRAGMA integrity_check(10)") if problem != "ok"]
        if problems:
            raise StoreDamaged(
                f"The copy is not sound ({problems[0]}), so it was removed. Try: localmem check"
            )
    finally:
        copy.close()


def _overwrite(descriptor: int) -> None:
    """Zero a file that has no name any more. Where blocks are not written in place this reaches nothing."""
    status = os.fstat(descriptor)
    if getattr(status, "st_nlink", 0):
        return  # it has another name, whose owner may want it
    zeros = bytes(1 << 20)
    left = status.st_size
    os.lseek(descriptor, 0, os.SEEK_SET)
    while left > 0:
        left -= os.write(descriptor, zeros[: min(left, len(zeros))])
    os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    """Make a new name durable, where the system can."""
    with contextlib.suppress(PermissionError):  # Windows opens no folders
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
