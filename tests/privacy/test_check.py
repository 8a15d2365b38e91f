from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from localmem.cli import main
from localmem.errors import BadInput, StoreDamaged, StoreEncrypted
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.privacy.check import check
from localmem.privacy.salvage import salvage
from localmem.store import Database, SessionStore
from localmem.store.connection import PAGE_SIZE
from localmem.types import NewMessage, NewSession, Role

Said = set[tuple[str, str, str, str]]


def said(path: Path, key: str | None = None) -> Said:
    database = Database(path, key)
    store = SessionStore(database)
    found = {
        (session.external_id, session.title, message.external_id, message.text)
        for session in store.sessions()
        for message in store.messages(session.id)
    }
    database.close()
    return found


@pytest.fixture(params=[None, "a key"], ids=["plain", "encrypted"])
def key(request: pytest.FixtureRequest) -> str | None:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def large(tmp_path: Path, key: str | None) -> Path:
    """Three hundred messages, one of them larger than many pages, one that no UTF-8 holds."""
    path = tmp_path / "store" / "memory.db"
    texts = [f"Message number {number}: {'word ' * (number % 50)}" for number in range(300)]
    texts[7] = "".join(random.Random(7).choices("abcdefg hijk", k=100_000))
    texts[8] = "lone \udc80 surrogate, NUL \0, 王明 and a snowman ☃"
    with Memory(path, HashEmbedder(), key=key) as memory:
        for number in range(6):
            messages = tuple(NewMessage(Role.USER, text) for text in texts[number::6])
            memory.add(NewSession("many", f"s{number}", messages, f"Session {number}"))
        memory.wait_embedded()
    return path


def test_a_sound_store_is_called_sound_and_is_not_changed(large: Path, key: str | None) -> None:
    before = large.read_bytes()
    report = check(large, key)
    assert report.sound, report.problems
    assert len(report.checked) == 7
    assert large.read_bytes() == before


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("DELETE FROM message_terms WHERE message_id = 3", "1 messages without index terms"),
        ("DELETE FROM vector WHERE message_id IN (1, 2)", "2 messages that have neither a vector"),
        ("UPDATE vector SET embedding = x'00' WHERE message_id = 5", "vectors of another length"),
        ("DELETE FROM summary_terms", "summaries that are not indexed"),
        (
            "PRAGMA foreign_keys = 0; DELETE FROM session WHERE id = 1",
            "belong to a session that is not there",
        ),
        ("UPDATE counter SET value = 7 WHERE name = 'messages'", "messages fewer or more than counted"),
        ("DELETE FROM term WHERE text = 'word'", "1 index terms have no word"),
        ("UPDATE layer_entry SET body = '{' WHERE id = 1", "derived entries cannot be read"),
        ("INSERT INTO pin (text, pinned_at) VALUES ('x', '')", "1 pins that no message says"),
        ("DELETE FROM migration WHERE name = 'm006_trace_steps'", "an older schema, without m006"),
    ],
)
def test_what_does_not_fit_together_is_named(store: Path, damage: str, named: str) -> None:
    if "'word'" in damage:
        damage = damage.replace("'word'", "'parrot'")
    database = Database(store)
    database.connection().execute(damage)
    database.close()
    report = check(store, None)
    assert [p.what for p in report.problems if named in p.what], report.problems


def test_a_changed_page_is_named(large: Path, key: str | None) -> None:
    data = bytearray(large.read_bytes())
    for place in range(3 * PAGE_SIZE, len(data), PAGE_SIZE):
        data[place : place + 8] = b"\xff" * 8
    large.write_bytes(data)
    report = check(large, key)
    assert not report.sound
    assert "salvage" in report.problems[0].remedy


def test_all_of_a_sound_file_is_salvaged(large: Path, key: str | None, tmp_path: Path) -> None:
    before = large.read_bytes()
    found = salvage(large, key, tmp_path / "new.db")
    assert (found.messages, found.sessions, found.unreadable, found.nameless) == (300, 6, 0, 0)
    assert said(tmp_path / "new.db", key) == said(large, key)
    assert check(tmp_path / "new.db", key).problems == ()
    assert large.read_bytes() == before
    assert not [name for name in os.listdir(tmp_path) if "salvage" in name]


def test_what_is_left_of_a_truncated_file_is_salvaged(large: Path, key: str | None, tmp_path: Path) -> None:
    whole = said(large, key)
    data = large.read_bytes()
    large.write_bytes(data[: len(data) // 3 + 1000])
    assert not check(large, key).sound
    found = salvage(large, key, tmp_path / "new.db")
    assert said(tmp_path / "new.db", key) <= whole
    assert found.messages >= 30
    assert large.read_bytes() == data[: len(data) // 3 + 1000]


def test_flipped_bits_cost_what_they_hit_and_no_more(large: Path, key: str | None, tmp_path: Path) -> None:
    whole = said(large, key)
    data, chance = bytearray(large.read_bytes()), random.Random(3)
    for _ in range(12):
        place = chance.randrange(PAGE_SIZE, len(data))
        data[place] ^= 1 << chance.randrange(8)
    large.write_bytes(data)
    found = salvage(large, key, tmp_path / "new.db")
    # A page holds some thirty messages; encrypted, it is lost as a whole, and known to be.
    texts = {text for _, _, _, text in said(tmp_path / "new.db", key)}
    assert len(texts & {text for _, _, _, text in whole}) >= 300 - 12 * 40
    assert found.messages >= 150
    if key is not None:
        assert 1 <= found.unreadable <= 12
        assert texts <= {text for _, _, _, text in whole}


def test_a_plain_file_without_its_first_page_is_salvaged(store: Path, tmp_path: Path) -> None:
    whole = {text for _, _, _, text in said(store)}
    store.write_bytes(bytes(PAGE_SIZE) + store.read_bytes()[PAGE_SIZE:])
    salvage(store, None, tmp_path / "new.db")
    assert {text for _, _, _, text in said(tmp_path / "new.db")} == whole


WRITER = """
import os, sys
from pathlib import Path
from localmem.models.hashing import HashEmbedder
from localmem.memory import Memory
memory = Memory(Path(sys.argv[1]), HashEmbedder(), key=sys.argv[2] or None)
memory.add("Only the log has this.")
os.kill(os.getpid(), 9)
"""


def test_what_waits_in_the_log_is_salvaged_and_without_the_log_the_rest(
    large: Path, key: str | None, tmp_path: Path
) -> None:
    before = said(large, key)
    subprocess.run([sys.executable, "-c", WRITER, str(large), key or ""], timeout=60)
    log = large.parent / "memory.db-wal"
    assert log.stat().st_size
    files = {path: path.read_bytes() for path in (large, log)}
    salvage(large, key, tmp_path / "with.db")
    assert {path: path.read_bytes() for path in (large, log)} == files
    assert "Only the log has this." in {text for _, _, _, text in said(tmp_path / "with.db", key)}
    log.unlink()
    salvage(large, key, tmp_path / "without.db")
    assert said(tmp_path / "without.db", key) >= before


def test_salvage_overwrites_nothing_and_wants_the_key(large: Path, key: str | None, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nothing is overwritten"):
        salvage(large, key, large)
    if key is not None:
        for wrong in (None, "wrong"):
            with pytest.raises(StoreEncrypted):
                salvage(large, wrong, tmp_path / "new.db")
        assert not (tmp_path / "new.db").exists()


def test_a_file_without_any_message_is_said_to_have_none(tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 100)
    with pytest.raises(StoreDamaged, match="No message"):
        salvage(tmp_path / "memory.db", None, tmp_path / "new.db")
    assert sorted(os.listdir(tmp_path)) == ["memory.db"]


def test_the_commands_tell_damage_by_their_exit_code(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["--db", str(store), "--home", str(tmp_path / "home"), *arguments])
        return code, *capsys.readouterr()

    assert json.loads(run("check", "--json")[1])["sound"] is True
    data = bytearray(store.read_bytes())
    data[5 * PAGE_SIZE : 6 * PAGE_SIZE] = b"\xff" * PAGE_SIZE
    store.write_bytes(data)
    code, out, err = run("check")
    assert code == 4
    assert "damaged" in out
    assert "--salvage" in err
    code, out, _ = run("check", "--salvage", str(tmp_path / "new.db"), "--json")
    assert code == 0
    assert json.loads(out)["messages"] >= 1
    assert run("check", "--salvage", str(tmp_path / "new.db"))[0] == 2
