"""Every readable message of a damaged file, in a new one. The damaged file is only read.

It works on a copy of the file and its log beside the new file, which SQLite may tidy: what waits in the log
goes into the copy. Then the pages are read one by one (:mod:`localmem.privacy.pages`): a page whose way there
is damaged is as good as any. What was derived from messages is made anew.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import apsw

from localmem.errors import BadInput, StoreDamaged, StoreEncrypted, StoreLocked
from localmem.privacy.pages import Pages, Row, Value
from localmem.privacy.purge import holders
from localmem.store import Database, SessionStore
from localmem.store.columns import text_from_column, time_from_columns
from localmem.store.connection import PAGE_SIZE, SIDE_FILES, is_encrypted, unlock
from localmem.types import NewMessage, NewSession, Origin, Role
from localmem.writing import Writer

SOURCE = "salvage"
"""The source of sessions of which only messages were readable."""


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What was recovered."""

    sessions: int
    messages: int
    pages: int
    """In the damaged file, a last one that was cut short included."""
    unreadable: int
    """Pages that could not be read at all. Damage inside a page shows only by what is missing."""
    nameless: int
    """Sessions whose own row was lost: their messages are there, title and origin are not."""


def salvage(path: Path, key: str | None, target: Path) -> Salvaged:
    """Recover what is readable of a store into a new file, under the same key.

    Raises :class:`BadInput` when there is something at ``target`` or nothing at ``path``,
    :class:`StoreLocked` while another program has the file open, or :class:`StoreDamaged` without a message.
    """
    if not path.is_file():
        raise BadInput(f"There is no file {path}.")
    if target.exists():
        raise BadInput(f"{target} is there already; nothing is overwritten. Choose another name.")
    if who := holders(path):
        raise StoreLocked(f"{path} is in use by {', '.join(who)}. Close it first.")
    if key is None and is_encrypted(path):
        raise StoreEncrypted(f"{path} is encrypted, or no localmem file. The file was not changed.")
    folder = target.parent / f".{target.name}.salvage"
    with contextlib.suppress(FileNotFoundError):  # of an attempt that was broken off
        shutil.rmtree(folder)
    try:
        folder.mkdir(parents=True, mode=0o700)
        copy = folder / "copy.db"
        for end in ("", *SIDE_FILES):
            if end != "-shm" and (part := path.with_name(path.name + end)).exists():
                shutil.copyfile(part, copy.with_name(copy.name + end))
        return _recover(path, copy, key, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _recover(path: Path, copy: Path, key: str | None, target: Path) -> Salvaged:
    _take_log_in(copy, key)
    pages = _pages(copy, key)
    bad: set[int] = set()
    reader = pages.read

    def read(number: int) -> bytes | None:
        page = reader(number)
        if page is None:
            bad.add(number)
        return page

    sessions: dict[int, NewSession] = {}
    messages: dict[int, tuple[int, int, NewMessage]] = {}
    for row in Pages(read, pages.count, pages.usable).rows():
        if (session := _session(row)) is not None:
            sessions[row[0]] = session
        elif (message := _message(row)) is not None:
            messages[row[0]] = message
    if not messages:
        raise StoreDamaged(f"No message can be read in {path}; it was not changed.")
    return _write(target, key, sessions, messages, pages.count, len(bad))


def _take_log_in(copy: Path, key: str | None) -> None:
    """Have SQLite move what is committed in the log into the copy, as far as it can."""
    connection = apsw.Connection(str(copy))
    try:
        unlock(connection, key)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except apsw.NotADBError as error:
        if key is not None:
            raise StoreEncrypted("The key does not open the file, or its first page is lost.") from error
    except (apsw.CorruptError, apsw.SQLError, apsw.IOError):
        pass  # so the log is lost too; the pages of the file are read all the same
    finally:
        connection.close()


def _pages(copy: Path, key: str | None) -> Pages:
    """The copy's pages, decrypted; what is missing of a last page that was cut short is zero."""
    size = copy.stat().st_size
    if key is None:
        data = copy.read_bytes().ljust(-(-size // PAGE_SIZE) * PAGE_SIZE, b"\0")

        def plain(number: int) -> bytes | None:
            page = data[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
            return page if any(page) else None

        reserved = data[20] if data.startswith(b"SQLite") else 0
        return Pages(plain, len(data) // PAGE_SIZE, PAGE_SIZE - reserved)
    connection = apsw.Connection(str(copy))
    unlock(connection, key)
    with contextlib.suppress(apsw.CorruptError):  # the key is made with the first read, whatever comes of it
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()

    def decrypted(number: int) -> bytes | None:
        try:
            whole, page = connection.read("main", 0, (number - 1) * PAGE_SIZE, PAGE_SIZE)
        except apsw.Error:
            return None
        return page if whole else None

    first = decrypted(1) or b""
    return Pages(decrypted, size // PAGE_SIZE, PAGE_SIZE - (first[20] if first else 0))


def _write(
    target: Path,
    key: str | None,
    sessions: dict[int, NewSession],
    messages: dict[int, tuple[int, int, NewMessage]],
    pages: int,
    unreadable: int,
) -> Salvaged:
    found: defaultdict[int, list[tuple[int, NewMessage]]] = defaultdict(list)
    for session_id, position, message in messages.values():
        found[session_id].append((position, message))
    nameless = 0
    database = Database(target, key)
    try:
        writer = Writer(database, SessionStore(database))
        with database.atomic():
            for session_id in sorted(found):
                said = tuple(m for _, m in sorted(found[session_id], key=lambda item: item[0]))
                session = sessions.get(session_id)
                if session is None:
                    nameless += 1
                    session = NewSession(SOURCE, f"session-{session_id}", (), "Recovered")
                writer.add(replace(session, messages=said))
    except BaseException:  # whatever it is, it goes on; only half a file must not stay
        database.close()
        for end in ("", *SIDE_FILES):
            target.with_name(target.name + end).unlink(missing_ok=True)
        raise
    database.close()
    return Salvaged(len(found), len(messages), pages, unreadable, nameless)


def _session(row: Row) -> NewSession | None:
    """A session, if the row is one; see ``m001_sessions`` for its first columns."""
    columns = row[1]
    if len(columns) < 8:
        return None
    identity, source, external_id, title, started, zone, ended, tags = columns[:8]
    if identity is not None or not isinstance(source, str) or not isinstance(external_id, str):
        return None
    if not (isinstance(title, str | bytes) and _is_time(started, zone) and _is_time(ended, None)):
        return None
    if not (isinstance(tags, str) and tags.startswith("[")):
        return None
    return NewSession(
        source, external_id, (), text_from_column(title), _time(started, zone), tuple(json.loads(tags))
    )


def _message(row: Row) -> tuple[int, int, NewMessage] | None:
    """(session, position, message), if the row is one; see ``m001_sessions`` for its columns."""
    columns = row[1]
    if len(columns) < 14 or columns[0] is not None:
        return None
    (
        _,
        session_id,
        turn,
        position,
        role,
        speaker,
        text,
        sent_at,
        zone,
        _,
        external_id,
        parent,
        origin,
        more,
    ) = columns[:14]
    if role not in tuple(Role) or origin not in tuple(Origin) or not isinstance(external_id, str):
        return None
    if not all(isinstance(one, int) for one in (session_id, turn, position)) or not _is_time(sent_at, zone):
        return None
    if not all(isinstance(one, str | bytes) for one in (speaker, text, more)):
        return None
    assert isinstance(session_id, int)
    assert isinstance(position, int)
    message = NewMessage(
        Role(str(role)),
        _text(text),
        _text(speaker),
        _time(sent_at, zone),
        external_id,
        parent if isinstance(parent, str) else None,
        Origin(str(origin)),
        _text(more),
    )
    return session_id, position, message


def _text(value: Value) -> str:
    assert isinstance(value, str | bytes)
    return text_from_column(value)


def _is_time(value: Value, zone: Value) -> bool:
    if value is None:
        return True
    return isinstance(value, str) and len(value) == 27 and value.endswith("Z") and not isinstance(zone, str)


def _time(value: Value, zone: Value) -> datetime | None:
    return time_from_columns(
        value if isinstance(value, str) else None, zone if isinstance(zone, int) else None
    )
