from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localmem.errors import StoreError
from localmem.events import Replied, Stored
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.models.scripted import ScriptedModel
from localmem.store import Database

Run = Callable[..., tuple[int, str, str]]
Tell = Callable[[Path], list[str]]


def test_notes_are_refused_when_the_disk_is_full_and_the_acknowledged_ones_stay(
    disk: Any, told: Tell
) -> None:
    path = disk.folder / "memory.db"
    acknowledged: list[str] = []
    with Memory(path, HashEmbedder()) as memory:
        with pytest.raises(StoreError, match="disk is full") as refused:
            for number in range(1000):
                text = f"note number{number} " + "and more of it " * 20
                memory.add(text)
                acknowledged.append(text)
        assert "Make room" in str(refused.value)
        assert len(memory.sessions()) > 0
    assert len(acknowledged) > 3
    disk.grow()
    texts = told(path)
    assert texts == acknowledged


def test_a_chat_goes_on_when_there_is_room_again(disk: Any, told: Tell) -> None:
    path = disk.folder / "memory.db"
    acknowledged: list[str] = []
    model = ScriptedModel(lambda prompt: "I see, " + "go on " * 200)

    def chat(memory: Memory) -> None:
        for event in memory.chat(f"Something was said {len(acknowledged)} times", model=model):
            if isinstance(event, Stored | Replied) and event.message is not None:
                acknowledged.append(event.message.text)

    with Memory(path, HashEmbedder()) as memory:
        chat(memory)
        disk.fill()
        with pytest.raises(StoreError, match="disk is full"):
            for _ in range(100):
                chat(memory)
        disk.make_room()
        chat(memory)
    assert sorted(told(path)) == sorted(acknowledged)


def test_an_import_is_broken_off_with_exit_code_4_and_goes_on_later(
    disk: Any, history: Path, run: Run, told: Tell
) -> None:
    path = disk.folder / "memory.db"
    Database(path).close()
    disk.fill(leave=400_000)
    code, _, remarks = run(path, "import", str(history))
    assert code == 4
    assert "the disk is full" in remarks
    disk.make_room()
    assert run(path, "import", str(history))[0] == 0
    assert len(set(told(path))) == len(told(path)) == 60


def test_an_upgrade_that_finds_no_room_leaves_the_file_readable(disk: Any, told: Tell) -> None:
    schemas = Path(__file__).parent.parent / "store" / "schemas"
    path = disk.folder / "memory.db"
    path.write_bytes(gzip.decompress((schemas / "m003_traces.db.gz").read_bytes()))
    disk.fill()
    with pytest.raises(StoreError, match="disk is full"):
        Database(path)
    disk.make_room()
    database = Database(path)
    assert database.connection().execute("SELECT count(*) FROM message").get == 33
    database.close()


def test_forgetting_without_room_can_be_done_again(disk: Any, store: Path, run: Run, told: Tell) -> None:
    path = disk.folder / "memory.db"
    shutil.copy(store, path)
    disk.fill(leave=100_000)
    code, _, remarks = run(path, "forget", "--matching", "number7 ", "--yes")
    assert code == 4
    assert "the disk is full" in remarks
    disk.make_room()
    assert run(path, "forget", "--matching", "number7 ", "--yes", "--prove")[0] == 0
    assert len(told(path)) == 59
    assert b"number7" not in path.read_bytes()


@pytest.mark.parametrize("command", [["backup"], ["check", "--salvage"]], ids=" ".join)
def test_a_copy_that_finds_no_room_is_not_left_half_made(
    disk: Any, store: Path, run: Run, told: Tell, command: list[str]
) -> None:
    disk.fill(leave=50_000)
    code, _, remarks = run(store, *command, str(disk.folder / "copy.db"))
    assert code in (1, 4)
    assert str(disk.folder) in remarks
    assert "disk is full" in remarks or "No space left" in remarks
    assert os.listdir(disk.folder) == ["filler"]
    assert len(told(store)) == 60


def test_a_key_is_not_changed_without_room_for_the_new_file(
    disk: Any, store: Path, tmp_path: Path, run: Run, told: Tell
) -> None:
    path = disk.folder / "memory.db"
    shutil.copy(store, path)
    (tmp_path / "key").write_text("a key")
    disk.fill(leave=50_000)
    code, _, remarks = run(path, "encrypt", "--key-file", str(tmp_path / "key"))
    assert code in (1, 4)
    assert "disk is full" in remarks
    assert path.read_bytes().startswith(b"SQLite format 3")  # it is not encrypted
    assert sorted(os.listdir(disk.folder)) == ["filler", "memory.db"]
    disk.make_room()
    assert len(told(path)) == 60
