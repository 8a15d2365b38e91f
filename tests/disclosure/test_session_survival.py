"""kill -9 while an older file gets its summaries and their index: nothing is lost, nothing is there twice."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from localmem.entries import Layer
from localmem.index.terms import store_terms
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.store import Database, SessionStore, migrations
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
