"""The write-ahead log and its index are taken away, under a closed memory and under an open one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from localmem.errors import StoreError
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder

Tell = Callable[[Path], list[str]]


def side(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def add(memory: Memory, *numbers: int) -> None:
    for number in numbers:
        memory.add(f"bird number{number} again")


@pytest.mark.parametrize("ends", [["-wal"], ["-shm"], ["-wal", "-shm"]], ids="".join)
def test_nothing_more_is_acknowledged_once_a_side_file_is_gone_and_what_was_is_kept(
    store: Path, told: Tell, ends: list[str]
) -> None:
    memory = Memory(store, HashEmbedder())
    add(memory, 100, 101)
    for end in ends:
        side(store, end).unlink()
    with pytest.raises(StoreError, match=r"was removed .* close localmem and open it again"):
        add(memory, 102)
    with pytest.raises(StoreError, match="was removed"):  # and again
        add(memory, 103)
    assert len(memory.sessions()) == 7  # it can be read on
    memory.close()
    assert len(told(store)) == 62


def test_what_was_in_a_removed_log_is_kept_even_if_the_program_is_killed_then(
    store: Path, told: Tell
) -> None:
    script = """
import os, signal, sys
from pathlib import Path
from localmem.errors import StoreError
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
path = Path(sys.argv[1])
memory = Memory(path, HashEmbedder())
memory.add("bird number100 again")
memory.wait_embedded()
path.with_name(path.name + "-wal").unlink()
try:
    memory.add("bird number101 again")
except StoreError:
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-P", "-c", script, str(store)], timeout=60)
    assert done.returncode == -signal.SIGKILL
    texts = told(store)
    assert "bird number100 again" in texts
    assert len(texts) == 61


def test_another_log_in_the_place_of_ours_is_noticed(store: Path) -> None:
    with Memory(store, HashEmbedder()) as memory:
        add(memory, 100)
        log = side(store, "-wal")
        content = log.read_bytes()
        log.unlink()
        log.write_bytes(content)
        with pytest.raises(StoreError, match="was removed or replaced"):
            add(memory, 101)
        assert log.read_bytes() == content


@pytest.mark.parametrize("act", ["moved", "removed", "replaced"])
def test_nothing_is_acknowledged_into_a_file_that_is_not_there_any_more(
    store: Path, told: Tell, act: str
) -> None:
    memory = Memory(store, HashEmbedder())
    add(memory, 100)
    memory.wait_embedded()
    away = store.with_name("away.db")
    os.rename(store, away)
    if act == "replaced":
        store.write_bytes(b"")
    with pytest.raises(StoreError, match="Nothing is stored any more"):
        add(memory, 101)
    if act == "moved":  # and back
        os.rename(away, store)
        add(memory, 102)
        memory.close()
        assert len(told(store)) == 62
    memory.close()


@pytest.mark.parametrize("end", ["-shm", "-wal"])
def test_a_closed_memory_needs_none_of_them(store: Path, told: Tell, end: str) -> None:
    assert not side(store, end).exists()
    side(store, end).write_bytes(b"\0" * 32768)  # left over from somewhere else
    assert len(told(store)) == 60


def test_after_a_kill_the_index_of_the_log_is_made_again(store: Path, told: Tell) -> None:
    script = """
import os, signal, sys
from pathlib import Path
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
memory = Memory(Path(sys.argv[1]), HashEmbedder())
memory.add("bird number100 again")
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-P", "-c", script, str(store)], timeout=60)
    side(store, "-shm").unlink()
    assert "bird number100 again" in told(store)
