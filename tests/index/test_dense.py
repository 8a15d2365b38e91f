from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from localmem.errors import EmbeddingMismatch
from localmem.index.embedding import EmbeddingQueue, reembed
from localmem.memory import Memory, reembed_file
from localmem.models.hashing import HashEmbedder
from localmem.models.protocols import Vectors
from localmem.store import Database, SessionStore
from localmem.types import NewSession

Said = Callable[..., NewSession]


class SplittingEmbedder(HashEmbedder):
    """Splits texts into single words, as a real one splits long texts into windows."""

    def split(self, text: str) -> list[str]:
        return text.split() or [""]


def cosine_oracle(connection, query: Vectors) -> dict[int, float]:  # type: ignore[no-untyped-def]
    """sqlite-vec over the stored rows: no code of ours between the file and the score."""
    return dict(
        connection.execute(
            "SELECT message_id, max(1 - vec_distance_cosine(embedding, ?)) FROM vector GROUP BY message_id",
            (query.tobytes(),),
        )
    )


def test_scores_equal_sqlite_vecs_and_a_message_scores_its_best_part(database: Database, said: Said) -> None:
    sessions = SessionStore(database)
    embedder = SplittingEmbedder()
    queue = EmbeddingQueue(database, embedder)
    with database.atomic() as connection:
        session_id = sessions.open_session(said())
        ids = sessions.append(session_id, said("cats like tea", "", "dogs and a very long walk").messages)
        connection.executemany("INSERT INTO pending_embedding VALUES (?)", ((i,) for i in ids))
    assert queue.embed_next() == 3
    query = embedder.embed_query("tea")
    found, scores = queue.index.scores(query)
    expected = cosine_oracle(database.connection(), query)
    assert found.tolist() == sorted(expected)
    assert scores == pytest.approx([expected[i] for i in found.tolist()], abs=1e-6)
    assert scores[0] == pytest.approx(1.0)


def test_the_matrix_follows_appends_and_deletions(memory: Memory, said: Said) -> None:
    index = memory._queue.index
    query = HashEmbedder().embed_query("tea")
    for size in range(1, 40):
        memory.add(said(f"tea number {size}", session=f"s{size}"))
        memory.wait_embedded()
        assert len(index.scores(query)[0]) == size
    with memory._database.atomic() as connection:
        connection.execute("DELETE FROM message WHERE id % 2 = 0")
    found, scores = index.scores(query)
    expected = cosine_oracle(memory._database.connection(), query)
    assert dict(zip(found.tolist(), scores.tolist(), strict=True)) == pytest.approx(expected, abs=1e-6)
    assert len(found) == 20


def test_what_waits_for_its_vector_survives_a_restart(
    open_memory: Callable[[], Memory], said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    monkeypatch.setattr(memory._worker, "wake", lambda: None)
    memory.add(said("a cup of tea"))
    assert memory.pending() == 1
    memory.close()
    again = open_memory()
    again.wait_embedded()
    assert again.pending() == 0
    assert again.search("tea")[0].views == ("lexical", "dense")


def test_a_failing_embedder_is_heard_of_and_nothing_is_lost(memory: Memory, said: Said) -> None:
    def fail(texts: object) -> Vectors:
        raise RuntimeError("no memory left")

    embedder = memory._queue.embedder
    works = embedder.embed_documents
    embedder.embed_documents = fail  # type: ignore[method-assign]
    memory.add(said("a cup of tea"))
    with pytest.raises(RuntimeError, match="no memory left"):
        memory.wait_embedded()
    assert memory.pending() == 1
    embedder.embed_documents = works  # type: ignore[method-assign]
    memory.wait_embedded()
    assert memory.pending() == 0


def test_another_embedding_model_is_refused_until_everything_is_embedded_again(
    tmp_path: Path, said: Said
) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, HashEmbedder(64)) as memory:
        memory.add(said("a cup of tea", "with milk"))
        memory.wait_embedded()
    with pytest.raises(EmbeddingMismatch, match="localmem build"):
        Memory(path, HashEmbedder(32))
    steps: list[tuple[int, int]] = []
    reembed_file(path, HashEmbedder(32), lambda done, total: steps.append((done, total)))
    assert steps[-1] == (2, 2)
    with Memory(path, HashEmbedder(32)) as memory:
        assert memory.pending() == 0
        assert "dense" in memory.search("tea")[0].views
        assert memory._database.connection().execute("SELECT count(*) FROM vector").get == 2
    with pytest.raises(EmbeddingMismatch):
        Memory(path, HashEmbedder(64))


def test_an_interrupted_change_of_model_leaves_the_old_one_working(tmp_path: Path, said: Said) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, HashEmbedder(64)) as memory:
        memory.add(said("a cup of tea"))
        memory.wait_embedded()

    class Dies(HashEmbedder):
        def embed_documents(self, texts: object) -> Vectors:
            raise KeyboardInterrupt

    database = Database(path)
    with pytest.raises(KeyboardInterrupt):
        reembed(database, Dies(32), lambda done, total: None)
    database.close()
    with Memory(path, HashEmbedder(64)) as memory:
        assert "dense" in memory.search("tea")[0].views
    reembed_file(path, HashEmbedder(32), lambda done, total: None)
    with Memory(path, HashEmbedder(32)) as memory:
        assert "dense" in memory.search("tea")[0].views


