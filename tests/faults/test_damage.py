"""Damaged bytes: noticed and named, never a traceback; what was said can be saved."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from localmem.errors import LocalmemError, StoreDamaged
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.privacy.check import check
from localmem.store import Database
from localmem.store.connection import PAGE_SIZE
from localmem.types import NewMessage, NewSession, Role

Run = Callable[..., tuple[int, str, str]]

LONG = "a very long message " * 3000


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory: pytest.TempPathFactory, made: Path) -> bytes:
    """A store with pages of every kind: a tree, overflow and free ones."""
    path = tmp_path_factory.mktemp("kinds") / "memory.db"
    shutil.copy(made, path)
    with Memory(path, HashEmbedder()) as memory:
        memory.add(NewSession("t", "long", (NewMessage(Role.USER, LONG, external_id="0"),)))
        memory.add(NewSession("t", "gone", (NewMessage(Role.USER, LONG[::-1], external_id="0"),)))
        memory.wait_embedded()
    database = Database(path)
    with database.atomic() as connection:
        connection.execute("DELETE FROM session WHERE external_id = 'gone'")
    database.close()
    assert check(path, None).problems == ()
    return path.read_bytes()


@pytest.fixture
def whole(tmp_path: Path, every_kind: bytes) -> Path:
    """That store, to be damaged."""
    path = tmp_path / "store" / "memory.db"
    path.parent.mkdir()
    path.write_bytes(every_kind)
    return path


def pages(path: Path, kind: str) -> list[int]:
    """Numbers of the pages of a kind, from 1."""
    connection = apsw.Connection(str(path))
    try:
        if kind == "free":
            used = {number for (number,) in connection.execute("SELECT pageno FROM dbstat")}
            return sorted(set(range(2, connection.pragma("page_count") + 1)) - used)
        query = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = ?"
        return [number for (number,) in connection.execute(query, ("message", kind))]
    finally:
        connection.close()


def flip(path: Path, page: int, first: int, last: int, count: int = 8, seed: int = 1) -> None:
    """Turn some bits of a page, between two of its bytes."""
    data, chance = bytearray(path.read_bytes()), random.Random(seed)
    for _ in range(count):
        data[(page - 1) * PAGE_SIZE + chance.randrange(first, last)] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def everything(path: Path) -> list[str]:
    """All that was said, as far as it can be read; then a write."""
    with Memory(path, HashEmbedder()) as memory:
        texts = [m.text for session in memory.sessions() for m in memory.messages(session.id)]
        memory.search("bird by the lake", 5)
        memory.add("one more note")
        memory.wait_embedded()
        return texts


def saved(run: Run, path: Path, target: Path) -> int:
    """How many messages `check --salvage` gets out; the damaged file stays as it is."""
    before = path.read_bytes()
    code, out, _ = run(path, "check", "--salvage", str(target), "--json")
    assert path.read_bytes() == before
    if code:
        return 0
    assert check(target, None).problems == ()
    return int(json.loads(out)["messages"])


@pytest.mark.parametrize(
    ("kind", "first", "last", "left"),
    [
        ("header", 0, 16, 61),
        ("header", 16, 24, 0),
        ("leaf", 0, 8, 40),
        ("leaf", 8, 40, 40),
        ("internal", 0, 12, 61),
    ],
)
def test_damage_to_the_structure_is_noticed_named_and_survived(
    whole: Path, tmp_path: Path, run: Run, kind: str, first: int, last: int, left: int
) -> None:
    page = 1 if kind == "header" else pages(whole, kind)[0]
    flip(whole, page, first, last)
    with pytest.raises(LocalmemError) as failed:
        everything(whole)
    assert failed.value.exit_code == 4
    code, out, remarks = run(whole, "check")
    assert code == 4
    assert "damaged" in out + remarks or "not a localmem file" in remarks or "encrypted" in remarks
    assert saved(run, whole, tmp_path / "saved.db") >= left


def test_damage_to_the_pages_that_a_long_message_goes_on_in_costs_that_message_at_most(
    whole: Path, tmp_path: Path, run: Run
) -> None:
    flip(whole, pages(whole, "overflow")[1], 0, 4, count=3)  # where the next page is named
    with pytest.raises(StoreDamaged):
        everything(whole)
    assert run(whole, "check")[0] == 4
    assert saved(run, whole, tmp_path / "saved.db") >= 60


def test_damage_to_free_pages_is_noticed_by_check_and_costs_nothing(
    whole: Path, tmp_path: Path, run: Run
) -> None:
    free = pages(whole, "free")
    trunk = int.from_bytes(whole.read_bytes()[32:36], "big")
    assert trunk in free
    flip(whole, trunk, 0, 8, count=5)
    code, out, _ = run(whole, "check")
    assert (code, "damaged" in out) == (4, True)
    assert saved(run, whole, tmp_path / "saved.db") == 61


def test_a_flipped_bit_in_a_text_is_noticed_in_an_encrypted_file_only(
    whole: Path, run: Run, tmp_path: Path
) -> None:
    """What is not promised: a plain file has no checksums. It stands here so that the promise stays true."""
    plain = whole.read_bytes()
    at = plain.index(b"bird number7 ")
    whole.write_bytes(plain[:at] + b"B" + plain[at + 1 :])
    assert run(whole, "check")[0] == 0
    whole.write_bytes(plain)
    (tmp_path / "key").write_text("a key")
    assert run(whole, "encrypt", "--key-file", str(tmp_path / "key"))[0] == 0
    encrypted = whole.read_bytes()
    for page in random.Random(1).sample(range(1, len(encrypted) // PAGE_SIZE), 4):
        at = page * PAGE_SIZE + 1234
        whole.write_bytes(encrypted[:at] + bytes([encrypted[at] ^ 1]) + encrypted[at + 1 :])
        code, out, _ = run(whole, "--key-file", str(tmp_path / "key"), "check")
        assert (code, "damaged" in out) == (4, True)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.99])
def test_a_truncated_file_is_named_and_what_is_left_is_saved(
    whole: Path, tmp_path: Path, run: Run, share: float
) -> None:
    data = whole.read_bytes()[: int(share * whole.stat().st_size)]
    whole.write_bytes(data)
    if not data:
        assert run(whole, "check")[0] == 4
        return
    with pytest.raises(LocalmemError) as failed:
        everything(whole)
    assert failed.value.exit_code == 4
    assert run(whole, "check")[0] == 4
    whole.write_bytes(data)
    assert saved(run, whole, tmp_path / "saved.db") >= (30 if share > 0.9 else 0)


def test_a_file_that_is_cut_under_an_open_memory_takes_nothing_more(whole: Path) -> None:
    memory = Memory(whole, HashEmbedder())
    os.truncate(whole, whole.stat().st_size // 2)
    with pytest.raises(StoreDamaged):
        memory.add("one more note")
    memory.close()


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_damaged_a_command_ends_with_a_sentence(
    whole: Path, tmp_path: Path, run: Run, seed: int
) -> None:
    chance = random.Random(seed)
    count = whole.stat().st_size // PAGE_SIZE
    for _ in range(chance.choice([1, 3])):
        last = chance.choice([64, PAGE_SIZE])
        flip(whole, chance.randint(1, count), 0, last, count=chance.choice([1, 8, 100]), seed=seed)
    data = whole.read_bytes()
    for command in (
        ["sessions"],
        ["search", "bird lake"],
        ["ask", "--no-llm", "Where is the bird?"],
        ["check"],
    ):
        code, _, remarks = run(whole, *command)
        assert code in (0, 1, 4)
        assert code in (0, 1) or "localmem: " in remarks or command == ["check"]
    whole.write_bytes(data)
    for end in ("-wal", "-shm"):
        whole.with_name(whole.name + end).unlink(missing_ok=True)
    assert run(whole, "check", "--salvage", str(tmp_path / "saved.db"))[0] in (0, 4)


def test_a_failure_that_no_damage_explains_is_not_hidden(
    whole: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(memory: Memory) -> None:
        raise IndexError("a mistake of ours")

    monkeypatch.setattr(Memory, "sessions", broken)
    with pytest.raises(IndexError, match="a mistake of ours"):
        run(whole, "sessions")
    database = Database(whole)
    database.connection().execute("DELETE FROM message_terms WHERE message_id = 3")
    database.close()
    code, _, remarks = run(whole, "sessions")
    assert code == 4
    assert "1 messages without index terms" in remarks
