from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from localmem.errors import EmbeddingMismatch
from localmem.index.dense import similarity
from localmem.index.embedding import reembed, reembed_file
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.models.protocols import Vectors
from localmem.store import Database
from localmem.types import NewSession

Said = Callable[..., NewSession]


def cosine_oracle(connection: apsw.Connection, query: Vectors) -> dict[int, float]:
    """sqlite-vec over the stored rows: no code of ours between the file and the score."""
    return dict(
        connection.execute(
            "SELECT message_id, max(1 - vec_distance_cosine(embedding, ?)) FROM vector GROUP BY message_id",
            (query.tobytes(),),
        )
    )


def scores(memory: Memory, query: Vectors) -> dict[int, float]:
    view = memory._queue.mirror.view()
    found = similarity(view, view.pieces.cosines(query))
    assert found.known.all()
    return dict(zip(view.columns.ids.tolist(), found.message.tolist(), strict=True))


def test_a_message_scores_its_best_piece_as_sqlite_vec_says(memory: Memory, said: Said) -> None:
    long = "I drink tea. " + "The walk with the dogs was very long and wet today. " * 20 + "Goodbye."
    memory.add(said("cats like tea", "", long))
    memory.wait_embedded()
    query = HashEmbedder().embed_query("tea")
    expected = cosine_oracle(memory._database.connection(), query)
    assert memory._database.connection().execute("SELECT count(*) FROM vector").get > 5
    assert scores(memory, query) == pytest.approx(expected, abs=1e-6)


def test_the_matrix_follows_appends_and_deletions(memory: Memory, said: Said) -> None:
    query = HashEmbedder().embed_query("tea")
    for size in range(1, 40):
        memory.add(said(f"tea number {size}", session=f"s{size}"))
        memory.wait_embedded()
        assert len(scores(memory, query)) == size
    with memory._database.atomic() as connection:
        connection.execute("DELETE FROM message WHERE id % 2 = 0")
    found = scores(memory, query)
    assert found == pytest.approx(cosine_oracle(memory._database.connection(), query), abs=1e-6)
    assert len(found) == 20


def test_a_read_that_failed_half_way_does_no_harm(
    memory: Memory, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.add(said("tea", "coffee"))
    memory.wait_embedded()
    before = [(hit.message.id, hit.score) for hit in memory.search("tea")]
    memory.add(said("more tea", session="b"))
    memory.wait_embedded()
    with monkeypatch.context() as broken:
        broken.setattr("localmem.index.pieces.read_batches", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            memory.search("tea")
    with memory._database.atomic() as connection:
        connection.execute("DELETE FROM session WHERE external_id = 'b'")
    assert [(hit.message.id, hit.score) for hit in memory.search("tea")] == before


def test_windows_and_sessions_are_what_they_say(memory: Memory, said: Said) -> None:
    memory.add(said("tea", "cat", "dog", "tea", session="a"))
    memory.add(said("horse", session="b"))
    memory.wait_embedded()
    view = memory._queue.mirror.view()
    query = HashEmbedder().embed_query("tea")
    found = similarity(view, view.pieces.cosines(query))
    one = found.message
    near = [[(0, 1.0), (1, 0.75), (2, 0.5)], [(0, 0.75), (1, 1.0), (2, 0.75), (3, 0.5)]]
    for row, window in enumerate(near):
        expected = sum(one[i] * w for i, w in window) / sum(w for _, w in window)
        assert found.window[row] == pytest.approx(expected, abs=1e-6)
    assert found.window[4] == pytest.approx(one[4])
    assert found.session.tolist() == pytest.approx([max(one[:4])] * 4 + [one[4]])


def test_a_message_without_a_vector_is_neither_favoured_nor_lost(
    memory: Memory, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.add(said("tea with milk", session="a"))
    memory.add(said("the walk with my dog", session="b"))
    memory.wait_embedded()
    monkeypatch.setattr(memory._worker, "wake", lambda: None)
    memory.add(said("a blue bicycle", session="c"))
    assert memory.pending() == 1
    blue = memory.search("blue bicycle")[0]
    assert blue.message.text == "a blue bicycle"
    assert (blue.similarity, "dense" in blue.views) == (0.0, False)
    assert memory.search("tea")[0].message.text == "tea with milk"


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
    assert "dense" in again.search("tea")[0].views


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
