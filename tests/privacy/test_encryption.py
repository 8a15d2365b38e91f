from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend

from localmem.cli import main
from localmem.errors import BadInput, StoreEncrypted, StoreError, StoreLocked
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.privacy import rewrite
from localmem.privacy.check import check
from localmem.privacy.keys import key_from_file
from localmem.privacy.rewrite import backup, change_key
from localmem.store import Database

SECRET = "Quillfeather"
Holds = Callable[[Path, str], list[str]]
Build = Callable[..., Path]


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def messages(path: Path, key: str | None) -> int:
    database = Database(path, key)
    count: int = database.connection().execute("SELECT count(*) FROM message").get
    database.close()
    return count


def test_encrypting_leaves_no_plain_byte_and_everything_is_there(store: Path, holds: Holds) -> None:
    with store.open("rb") as before:  # the old file's blocks, which a name no longer leads to
        change_key(store, None, "a passphrase")
        assert not before.read().strip(b"\0")
    for plain in (SECRET, "parrots", "CREATE TABLE", "SQLite format"):
        assert holds(store.parent, plain) == []
    assert os.listdir(store.parent) == ["memory.db"]
    assert stat.S_IMODE(store.stat().st_mode) == 0o600
    assert messages(store, "a passphrase") == 6
    assert check(store, "a passphrase").sound


def test_a_store_in_use_writes_no_plain_byte_beside_itself(
    build: Build, tmp_path: Path, holds: Holds
) -> None:
    path = build("a key")
    with Memory(path, HashEmbedder(), key="a key") as memory:
        memory.add("The zeppelin lands at noon.")
        assert (path.parent / "memory.db-wal").stat().st_size
        assert holds(path.parent, "zeppelin") == []
        assert memory.search("zeppelin", 1)[0].message.text == "The zeppelin lands at noon."


def test_decrypting_gives_back_the_same_memory(store: Path) -> None:
    change_key(store, None, "one")
    change_key(store, "one", "other")
    with pytest.raises(StoreEncrypted):
        change_key(store, "one", None)
    change_key(store, "other", None)
    assert store.read_bytes().startswith(b"SQLite format 3")
    assert messages(store, None) == 6
    assert check(store, None).sound


WRITER = """
import os, sys
from pathlib import Path
from localmem.store import Database
database = Database(Path(sys.argv[1]), "right")
with database.atomic() as connection:
    connection.execute("INSERT INTO setting VALUES ('kept', 'yes')")
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("key", [None, "wrong"])
def test_without_the_right_key_nothing_is_touched_not_even_what_waits_in_the_log(
    build: Build, key: str | None
) -> None:
    path = build("right")
    subprocess.run([sys.executable, "-c", WRITER, str(path)], timeout=60)
    (path.parent / "memory.db-shm").unlink()
    before = bytes_of(path.parent)
    assert before["memory.db-wal"]
    with pytest.raises(StoreEncrypted):
        Database(path, key)
    assert bytes_of(path.parent) == before
    database = Database(path, "right")
    assert database.connection().execute("SELECT value FROM setting WHERE key = 'kept'").get == "yes"
    database.close()


def test_a_key_for_a_file_that_is_not_encrypted_is_refused(store: Path) -> None:
    with pytest.raises(StoreEncrypted, match="not encrypted"):
        Database(store, "a key")


def test_keys_are_not_changed_while_another_connection_is_open(store: Path) -> None:
    before = store.read_bytes()
    database = Database(store)
    with pytest.raises(StoreLocked, match="in use"):
        change_key(store, None, "new")
    assert database.connection().execute("SELECT count(*) FROM message").get == 6
    database.close()
    assert store.read_bytes() == before
    assert os.listdir(store.parent) == ["memory.db"]


def test_a_failure_before_the_copy_is_checked_leaves_the_store_as_it_was(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(target: Path, key: str | None) -> None:
        raise StoreError("the disk is full")

    before = store.read_bytes()
    monkeypatch.setattr(rewrite, "_check_copy", full)
    with pytest.raises(StoreError, match="full"):
        change_key(store, None, "new")
    assert os.listdir(store.parent) == ["memory.db"]
    assert store.read_bytes()[100:] == before[100:]  # the head says how it is journaled
    assert check(store, None).sound


def test_a_key_that_was_made_of_noise_or_of_letters_opens_again(tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(bytes(range(200, 232)))
    (tmp_path / "line").write_bytes("Zürich '; --\r\n".encode())
    (tmp_path / "empty").write_bytes(b"\n")
    assert key_from_file(tmp_path / "line") == "Zürich '; --"
    assert key_from_file(tmp_path / "noise") == bytes(range(200, 232)).hex()
    for name in ("noise", "line"):
        path = tmp_path / f"{name}.db"
        Database(path, key_from_file(tmp_path / name)).close()
        Database(path, key_from_file(tmp_path / name)).close()
    for name in ("empty", "missing"):
        with pytest.raises(BadInput, match=name):
            key_from_file(tmp_path / name)


def test_a_backup_is_whole_while_the_store_is_in_use_and_nothing_is_overwritten(
    build: Build, tmp_path: Path, holds: Holds
) -> None:
    path = build("a key")
    target = tmp_path / "copies" / "backup.db"
    target.parent.mkdir()
    with Memory(path, HashEmbedder(), key="a key") as memory:
        memory.add("Said after the last checkpoint.")
        backup(memory._database, target)
        memory.add("Said after the backup.")
        assert holds(target.parent, "parrots") == []
        assert (os.listdir(target.parent), stat.S_IMODE(target.stat().st_mode)) == (["backup.db"], 0o600)
        before = target.read_bytes()
        with pytest.raises(BadInput, match="nothing is overwritten"):
            backup(memory._database, target)
        assert target.read_bytes() == before
    assert messages(target, "a key") == 7
    assert check(target, "a key").sound


class Keyring(KeyringBackend):
    """A keyring of the test's own."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def ring() -> Keyring:
    before, ring = keyring.get_keyring(), Keyring()
    keyring.set_keyring(ring)
    yield ring
    keyring.set_keyring(before)


@pytest.fixture
def run(
    store: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    ring: Keyring,
) -> Callable[..., tuple[int, str, str]]:
    def run_one(*arguments: str, typed: str = "", terminal: bool = False) -> tuple[int, str, str]:
        lines = iter(typed.splitlines())
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        monkeypatch.setattr("sys.stdin.isatty", lambda: terminal)
        monkeypatch.setattr("getpass.getpass", lambda prompt: next(lines))
        code = main(["--db", str(store), "--home", str(tmp_path / "home"), *arguments])
        return code, *capsys.readouterr()

    assert run_one("models", "use", "embedder", "hash")[0] == 0
    return run_one


def test_a_passphrase_typed_twice_encrypts_and_every_command_asks_for_it(run, store: Path) -> None:  # type: ignore[no-untyped-def]
    assert run("encrypt", typed="one\nother\n")[0] == 2
    assert store.read_bytes().startswith(b"SQLite")
    assert run("encrypt", typed="sesame\nsesame\n", terminal=True)[0] == 0
    for command in (
        ("sessions", "--json"),
        ("search", "lighthouse"),
        ("check",),
        ("stats",),
        ("ask", "x", "--no-llm"),
    ):
        before = store.read_bytes()
        code, out, err = run(*command)
        assert (code, out) == (4, ""), command
        assert "--key-file" in err
        assert run(*command, typed="wrong\n", terminal=True)[0] == 4
        assert store.read_bytes() == before
        assert run(*command, typed="sesame\n", terminal=True)[0] == 0, command


def test_a_key_file_serves_every_command_and_the_change_of_keys(run, store: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    key, other = tmp_path / "key", tmp_path / "other"
    key.write_text("first\n")
    other.write_text("second\n")
    assert run("encrypt", "--key-file", str(key))[0] == 0
    assert run("--key-file", str(key), "sessions")[0] == 0
    assert run("rekey", "--key-file", str(key), "--new-key-file", str(other))[0] == 0
    assert run("--key-file", str(key), "sessions")[0] == 4
    code, out, _ = run("--key-file", str(other), "backup", str(tmp_path / "b.db"), "--json")
    assert (code, json.loads(out)["encrypted"]) == (0, True)
    assert run("--key-file", str(other), "forget", "--matching", SECRET, "--yes", "--prove")[0] == 0
    assert run("decrypt", typed="second\n")[0] == 0
    assert run("sessions")[0] == 0
    assert run("decrypt", typed="second\n")[0] == 2


def test_the_systems_keyring_keeps_the_passphrase_until_it_is_of_no_use(
    run, store: Path, ring: Keyring
) -> None:  # type: ignore[no-untyped-def]
    assert run("encrypt", "--keyring", typed="sesame\nsesame\n")[0] == 0
    assert list(ring.kept.values()) == ["sesame"]
    assert run("sessions")[0] == 0
    assert run("rekey", typed="new\nnew\n")[0] == 0
    assert ring.kept == {}
    assert run("sessions")[0] == 4


def test_a_new_memory_is_encrypted_from_its_first_byte_when_a_key_file_is_given(
    run,
    tmp_path: Path,
    holds: Holds,  # type: ignore[no-untyped-def]
) -> None:
    (tmp_path / "key").write_text("first")
    history = tmp_path / "history.jsonl"
    history.write_text(json.dumps({"session": "a", "role": "user", "text": "The zeppelin."}) + "\n")
    path = tmp_path / "fresh" / "memory.db"
    code, _, err = run("--db", str(path), "--key-file", str(tmp_path / "key"), "import", str(history))
    assert code == 0, err
    assert holds(path.parent, "zeppelin") == []
    assert messages(path, "first") == 1
