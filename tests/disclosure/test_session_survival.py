"""An older file gets its summaries and their index; kill -9 on the way loses nothing and doubles nothing."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from localmem.entries import Layer, Scope, Summary
from localmem.index.terms import store_terms
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.store import Database, SessionStore, migrations
from localmem.store.layers import LayerStore
from localmem.types import NewMessage, NewSession, Role

Said = Callable[..., NewSession]

WORKER = """
import sys
from pathlib import Path
import localmem.index.embedding
import localmem.index.summaries
import localmem.layers.queue
from localmem.models.hashing import HashEmbedder
from localmem.store import Database

localmem.layers.queue.BATCH = 4
localmem.index.embedding.BATCH = 4
localmem.index.summaries.BATCH = 3
database = Database(Path(sys.argv[1]))
summaries = localmem.layers.queue.SummaryQueue(database)
queue = localmem.index.embedding.EmbeddingQueue(database, HashEmbedder())
embedding = sys.argv[2] == "embedding first"
steps = [queue.embed_next, summaries.make_next] if embedding else [summaries.make_next, queue.embed_next]
while any(step() for step in steps):
    print("step", flush=True)
"""
TURNS = 60


def older_file(path: Path, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:3])
        old = Database(path)
        sessions = SessionStore(old)
        for turn in range(TURNS):
            with old.atomic() as connection:
                session = sessions.open_session(said(session=str(turn // 6)))
                messages = [NewMessage(role, f"I ate {turn} figs and word{turn}.") for role in Role]
                ids = sessions.append(session, messages)
                store_terms(connection, sessions.messages_by_id(ids).values())
                connection.executemany("INSERT INTO pending_embedding VALUES (?)", ((i,) for i in ids))
        old.close()


@pytest.mark.parametrize("order", ["embedding first", "summaries first"])
def test_an_interrupted_index_goes_on_where_it_was(
    tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    path = tmp_path / "memory.db"
    older_file(path, said, monkeypatch)
    generator = random.Random(3)
    rounds = 0
    for _ in range(6):
        command = [sys.executable, "-P", "-c", WORKER, str(path), order]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            for _ in range(generator.randint(1, 8)):
                rounds += bool(worker.stdout.readline())
            worker.send_signal(signal.SIGKILL)
    assert rounds >= 6
    with Memory(path, HashEmbedder()) as memory:
        memory.wait_embedded()
        assert memory.pending() == 0
        for session in memory.sessions():
            entries = memory.layer(session.id, Layer.SUMMARY)
            assert [entry.scope.turn for entry in entries] == list(range(6))
        for turn in range(TURNS):
            (hit,) = memory.search_sessions([f"I ate {turn} figs and word{turn}."], 1)
            found = memory.session(hit.session_id).external_id
            assert (found, hit.turns[0]) == (str(turn // 6), turn % 6)
    database = Database(path)
    connection = database.connection()
    for table in ("layer_entry", "summary_terms", "summary_vector"):
        assert connection.execute(f"SELECT count(*) FROM {table}").get == TURNS, table
    assert connection.execute("PRAGMA integrity_check").get == "ok"
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    database.close()


def test_a_file_from_before_the_index_gets_it_in_the_background(
    tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch, open_memory: Callable[[], Memory]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:4])
        old = Database(tmp_path / "memory.db")
        with old.atomic() as connection:
            sessions = SessionStore(old)
            for name, text in (("a", "I bought a bicycle."), ("b", "It rained.")):
                ids = sessions.append(
                    sessions.open_session(said(session=name)), [NewMessage(Role.USER, text)]
                )
                read = sessions.messages_by_id(ids)
                store_terms(connection, read.values())
                connection.execute("INSERT INTO pending_embedding VALUES (?)", ids)
            # one of the two turns has its summary already
            LayerStore(old).put(Scope(Layer.SUMMARY, 2, 0), Summary("Rain fell."), list(read.values()))
        old.close()
    memory = open_memory()
    memory.wait_embedded()
    assert memory.pending() == 0
    assert next(hit.session_id for hit in memory.search_sessions(["bicycle"])) == 1
    (_, hit) = memory.search_sessions(["rain fell", "bicycle"])
    assert hit.summaries


def test_what_the_builder_has_made_gets_its_vector_without_being_asked_for(
    memory: Memory, said: Said
) -> None:
    memory.add(said("I bought a bicycle."))
    memory.wait_embedded()
    with memory._database.atomic() as connection:
        connection.execute("DELETE FROM layer_entry")
    assert memory.search_sessions(["bicycle"]) == []
    assert [step.made for step in memory.builder(None).build(Layer.SUMMARY)] == [1]
    end = time.monotonic() + 10
    while memory.pending() and time.monotonic() < end:
        time.sleep(0.01)
    assert memory.pending() == 0
    (hit,) = memory.search_sessions(["bicycle"])
    assert hit.score > 0.5 / 61 + 0.5 / 62  # found by words and by meaning
