"""A power cut: what was not synced may be on the disk or not, piece by piece; what was acknowledged is."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from localmem.privacy.check import check
from localmem.store import Database, SessionStore, connection
from localmem.types import NewMessage, NewSession, Role
from localmem.writing import Writer

CUTS = 60
STORED = 30

Event = tuple[str, str, int, bytes]
"""(write, truncate, sync or delete, file, offset or size, bytes); or (stored, text, 0, nothing)."""


class Recorded(apsw.VFSFile):
    """Passes everything on to the real file, and writes down what would reach a disk in which order."""

    def __init__(self, usual: str, name: Any, flags: list[int], events: list[Event]) -> None:
        super().__init__(usual, name, flags)
        self._name = Path(name.filename() if isinstance(name, apsw.URIFilename) else name).name
        self._events = events

    def xWrite(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self._events.append(("write", self._name, offset, bytes(data)))

    def xTruncate(self, size: int) -> None:
        super().xTruncate(size)
        self._events.append(("truncate", self._name, size, b""))

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self._events.append(("sync", self._name, 0, b""))


class Disk(apsw.VFS):
    def __init__(self, usual: str, events: list[Event]) -> None:
        super().__init__("recorded", usual)
        self._usual = usual
        self._events = events

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return Recorded(self._usual, name, flags, self._events)

    def xDelete(self, name: str, sync: bool) -> None:
        super().xDelete(name, sync)
        self._events.append(("delete", Path(name).name, 0, b""))


@contextmanager
def recording() -> Iterator[list[Event]]:
    """What happens on the disk inside. Without shared memory, so for one connection alone."""
    events: list[Event] = []
    usual = apsw.vfs_names()[0]
    disk = Disk(usual, events)
    apsw.set_default_vfs("recorded")
    apsw.connection_hooks.append(lambda connection: connection.pragma("locking_mode", "exclusive"))
    try:
        yield events
    finally:
        apsw.connection_hooks.pop()
        apsw.set_default_vfs(usual)
        disk.unregister()


def after_a_cut(events: list[Event], chance: random.Random) -> dict[str, bytearray]:
    """The files when only some of what was not synced has reached the disk."""
    files: dict[str, bytearray] = {}
    synced = {name: place for place, (kind, name, _, _) in enumerate(events) if kind == "sync"}
    for place, (kind, name, at, data) in enumerate(events):
        loose = kind in ("write", "truncate") and place > synced.get(name, -1)
        if kind == "stored" or (loose and chance.random() < 0.5):
            continue
        content = files.setdefault(name, bytearray())
        if kind == "write":
            content.extend(bytes(max(at + len(data) - len(content), 0)))
            content[at : at + len(data)] = data
        elif kind == "truncate":
            del content[at:]
            content.extend(bytes(at - len(content)))
        elif kind == "delete":
            del files[name]
    return files


def lost_in_cuts(folder: Path) -> int:
    """How many messages are missing after all power cuts together; raises when a file is not sound."""
    with recording() as events:
        database = Database(folder / "memory.db")
        writer = Writer(database, SessionStore(database))
        begun = len(events)
        for number in range(STORED):
            text = f"Message number {number} {'word ' * 100}"
            writer.add(NewSession("test", str(number), (NewMessage(Role.USER, text, external_id="0"),)))
            events.append(("stored", text, 0, b""))
            if number % 10 == 9:
                database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        database.close()
    chance = random.Random(2)
    lost = 0
    for cut in range(CUTS):
        until = events[: chance.randrange(begun, len(events))]
        path = folder / f"cut{cut}.db"
        for name, content in after_a_cut(until, chance).items():
            path.with_name(name.replace("memory", path.stem)).write_bytes(content)
        database = Database(path)
        there = {text for (text,) in database.connection().execute("SELECT text FROM message")}
        database.close()
        assert check(path, None).problems == ()
        lost += sum(kind == "stored" and text not in there for kind, text, *_ in until)
    return lost


def test_what_was_acknowledged_is_there_and_the_file_is_sound(tmp_path: Path) -> None:
    assert lost_in_cuts(tmp_path) == 0


def test_with_less_syncing_messages_would_be_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SYNCHRONOUS", "NORMAL")
    assert lost_in_cuts(tmp_path) > 0
