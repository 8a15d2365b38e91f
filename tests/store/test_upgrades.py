"""Files that older releases wrote: each is kept in ``schemas``, written by the code of that release."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from localmem.entries import Layer
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.privacy.check import check
from localmem.store import Database, migrations

SCHEMAS = Path(__file__).with_name("schemas")
FILES = sorted(SCHEMAS.glob("*.db.gz"))
HISTORY: dict[str, Any] = json.loads((SCHEMAS / "history.json").read_text("utf-8"))
EMBEDDER = HashEmbedder(128)


@pytest.fixture(params=FILES, ids=lambda path: path.name.partition(".")[0])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    path.write_bytes(gzip.decompress(request.param.read_bytes()))
    return path


def steps(path: Path) -> list[str]:
    connection = apsw.Connection(str(path))
    try:
        return [name for (name,) in connection.execute("SELECT name FROM migration ORDER BY rowid")]
    finally:
        connection.close()


def schema(path: Path) -> set[tuple[str, ...]]:
    connection = apsw.Connection(str(path))
    try:
        return set(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))
    finally:
        connection.close()


def content(path: Path) -> dict[str, list[Any]]:
    """Every row of every table."""
    connection = apsw.Connection(str(path))
    tables = [n for (n,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    rows = {name: sorted(connection.execute(f'SELECT * FROM "{name}"'), key=repr) for name in tables}
    connection.close()
    return rows


def test_there_is_a_file_of_each_release() -> None:
    assert [path.name.partition(".")[0] for path in FILES] == [
        "m003_traces",
        "m006_trace_steps",
        "m007_conversations",
    ]
    names = [step.__name__ for step in migrations.MIGRATIONS]
    assert all(path.name.partition(".")[0] in names for path in FILES)


def test_everything_said_is_there_unchanged_with_its_time_and_its_speaker(old: Path) -> None:
    with Memory(old, EMBEDDER) as memory:
        stored = {
            (session.source, session.external_id, message.external_id): message
            for session in memory.sessions()
            for message in memory.messages(session.id)
        }
        for line in HISTORY["imported"]:
            message = stored[line["source"], line["session"], line["id"]]
            assert (message.text, message.speaker) == (line["text"], line["speaker"])
            assert (message.role, message.sent_at and message.sent_at.isoformat()) == (
                line["role"],
                line["at"],
            )
        assert len(stored) == len(HISTORY["imported"]) + len(HISTORY["chat"])
        assert {message.text for message in stored.values()} >= set(HISTORY["chat"])
        assert memory.trace(1).question == HISTORY["question"]


def test_everything_said_is_found_by_its_words_and_by_its_meaning(old: Path) -> None:
    with Memory(old, EMBEDDER) as memory:
        memory.wait_embedded()
        assert memory.pending() == 0
        for text in [line["text"] for line in HISTORY["imported"] if line["text"]] + HISTORY["chat"]:
            hits = memory.search(text[:200], 3)
            (hit,) = [hit for hit in hits if hit.message.text == text]
            assert {"lexical", "dense"} <= set(hit.views)
        (found,) = memory.search_sessions(["Who lost the green lamp?"], 1)
        assert memory.session(found.session_id).external_id in {"allotment", "travel", "music"}


def test_every_layer_can_be_made_and_the_file_is_sound(old: Path) -> None:
    with Memory(old, EMBEDDER) as memory:
        memory.wait_embedded()
        for layer in Layer:
            for _ in memory.builder(None).build(layer):
                pass
            assert memory.builder(None).missing(layer) == []
        memory.add("A note that was written after the upgrade.")
        memory.wait_embedded()
    assert check(old, None).problems == ()


def test_the_schema_is_that_of_a_new_file(old: Path, tmp_path: Path) -> None:
    Database(tmp_path / "new.db").close()
    Database(old).close()
    assert schema(old) == schema(tmp_path / "new.db")
    assert steps(old) == steps(tmp_path / "new.db")


def test_a_second_opening_changes_nothing(old: Path) -> None:
    with Memory(old, EMBEDDER) as memory:
        memory.wait_embedded()
    before = content(old)
    with Memory(old, EMBEDDER) as memory:
        memory.wait_embedded()
    assert content(old) == before


KILLED = """
import os, signal, sys
from pathlib import Path
import apsw
from localmem.store import Database

left = int(sys.argv[2])

def count(cursor, statement, bindings):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return True

apsw.connection_hooks.append(lambda connection: setattr(connection, "exec_trace", count))
Database(Path(sys.argv[1])).close()
"""


def test_killed_at_any_statement_a_file_is_old_or_new_or_between_two_steps(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.db"
    known = [step.__name__ for step in migrations.MIGRATIONS]
    met = set()
    for statement in random.Random(4).sample(range(20, 110), 7):
        path.write_bytes(gzip.decompress(FILES[0].read_bytes()))
        command = [sys.executable, "-P", "-c", KILLED, str(path), str(statement)]
        killed = subprocess.run(command, timeout=60).returncode
        assert killed in (0, -9)
        applied = steps(path)
        met.add((killed, len(applied)))
        assert applied == known[: len(applied)]
        partly = tmp_path / f"partly{statement}.db"
        connection = apsw.Connection(str(partly))
        for step in migrations.MIGRATIONS[: len(applied)]:
            step(connection)
        connection.close()
        own = {row for row in schema(path) if "migration" not in row[1]}
        assert own == schema(partly)
        with Memory(path, EMBEDDER) as memory:
            assert memory.counts()[1] == len(HISTORY["imported"]) + len(HISTORY["chat"])
        assert steps(path) == known
        for end in ("-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
    assert len({count for killed, count in met if killed}) >= 3, met


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(gzip.decompress(FILES[0].read_bytes()))
    before = content(path)

    def m999_breaks(connection: apsw.Connection) -> None:
        connection.execute("CREATE TABLE half (x); DELETE FROM message;")
        raise apsw.FullError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS[:3], m999_breaks))
        with pytest.raises(Exception, match="disk is full"):
            Database(path)
    assert content(path) == before
