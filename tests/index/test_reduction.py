from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from localmem.bench.corpus import Corpus, NoisyEmbedder
from localmem.index import reduction
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.models.protocols import Embedder, Vectors
from localmem.types import NewSession

Said = Callable[..., NewSession]


class Spread:
    """Hashed words times a decaying basis: most of a vector lies in few directions, as in real ones."""

    name, fingerprint, dimension = "spread", "sha256:spread", 384

    def __init__(self) -> None:
        generator = np.random.default_rng(0)
        self._directions = generator.standard_normal((384, 384)).astype(np.float32)
        self._directions *= (0.97 ** np.arange(384)).astype(np.float32)
        self._hash = HashEmbedder()

    def split(self, text: str) -> list[str]:
        return [text]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        vectors: Vectors = self._hash.embed_documents(texts) @ self._directions
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self.embed_documents([text])[0]
        return vector

    def close(self) -> None: ...


@pytest.fixture
def small_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduction, "THRESHOLD", 300)
    monkeypatch.setattr(reduction, "BLOCK", 100)


def filled(path: Path, embedder: Embedder, messages: int) -> Memory:
    memory = Memory(path, embedder)
    for session in Corpus(1).sessions(messages):
        memory.add(session)
    memory.wait_embedded()
    return memory


def found(memory: Memory, question: str, *, exactly: bool = False) -> list[tuple[int, float]]:
    hits = memory.retrieval.search(question, 34, exactly=exactly)
    return [(hit.message.id, round(hit.score, 4)) for hit in hits]


@pytest.mark.usefixtures("small_threshold")
def test_past_the_threshold_nearly_all_of_the_exact_best_are_found(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db", Spread(), 3000) as memory:
        view = memory.retrieval.view()
        assert view.pieces.basis is not None
        assert view.pieces.matrix.shape[1] == reduction.DIMENSIONS
        same = wanted = 0
        for question in Corpus(2).questions(30):
            exact = found(memory, question, exactly=True)
            same += len({i for i, _ in exact} & {i for i, _ in found(memory, question)})
            wanted += len(exact)
        assert wanted == 30 * 34
        assert same >= 0.995 * wanted


@pytest.mark.usefixtures("small_threshold")
def test_a_restart_and_a_deletion_change_no_result_but_what_was_deleted(tmp_path: Path) -> None:
    question = "When did I talk about the kitchen?"
    with filled(tmp_path / "m.db", Spread(), 1500) as memory:
        before = found(memory, question, exactly=True)
        blocks = memory._database.connection().execute("SELECT count(*) FROM vector_block").get
        assert blocks >= 1
    with Memory(tmp_path / "m.db", Spread()) as memory:
        assert found(memory, question, exactly=True) == before
        gone = before[0][0]
        with memory._database.atomic() as connection:
            connection.execute("DELETE FROM message WHERE id = ?", (gone,))
            left = connection.execute("SELECT count(*) FROM vector_block").get
        assert left < blocks
        after = [i for i, _ in found(memory, question)]
        assert gone not in after
        assert len(set(after) & {i for i, _ in before}) >= 30


@pytest.mark.usefixtures("small_threshold")
def test_a_message_stored_past_the_threshold_is_found_by_meaning(tmp_path: Path, said: Said) -> None:
    with filled(tmp_path / "m.db", Spread(), 1000) as memory:
        memory.search("anything")
        memory.add(said("a quagga was seen at the harbour", session="new"))
        memory.wait_embedded()
        best = memory.search("quagga harbour")[0]
        assert best.message.text == "a quagga was seen at the harbour"
        assert best.similarity == pytest.approx(
            float(Spread().embed_query("quagga harbour") @ Spread().embed_query(best.message.text)), abs=1e-5
        )


@pytest.mark.usefixtures("small_threshold")
def test_vectors_that_were_searched_before_a_block_covered_them_count_once(
    tmp_path: Path, said: Said
) -> None:
    with filled(tmp_path / "m.db", Spread(), 380) as memory:
        for number in range(2):  # the first may have completed a block: one at least is in none
            memory.add(said("one more", session=f"more{number}"))
            memory.wait_embedded()
        seen = len(memory.retrieval.view().pieces.row)
        for session in Corpus(2).sessions(200):
            memory.add(NewSession("later", session.external_id, session.messages))
        memory.wait_embedded()
        pieces = memory.retrieval.view().pieces.row
        memory.search("a walk with the dog")
        stored = memory._database.connection().execute("SELECT count(*) FROM vector").get
        assert seen < stored == len(pieces)


def test_below_the_threshold_vectors_stay_whole(memory: Memory, said: Said) -> None:
    memory.add(said("tea", "coffee"))
    memory.wait_embedded()
    assert memory.retrieval.view().pieces.basis is None


def test_noise_keeps_a_vector_near_the_real_one() -> None:
    texts = ["tea with milk", "a red bicycle", "the walk with the dog", "bread and butter"]
    noisy = NoisyEmbedder(HashEmbedder(), texts)
    made = noisy.embed_documents(["x", "y", "z"])
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    assert ((made @ HashEmbedder().embed_documents(texts).T).max(axis=1) > 0.7).all()
