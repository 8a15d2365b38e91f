"""localmem and the memory stores beside it, each behind the same few calls.

All get the same vectors. Settings are each library's defaults but for these: nothing is sent out, and
one thread where that can be chosen (:data:`ONE_THREAD`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

from localmem.memory import Memory
from localmem.models.protocols import Embedder
from localmem.types import NewMessage, NewSession, Role

ONE_THREAD = {
    "LANCE_CPU_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
}
"""Environment read by the libraries at their first use. Not LANCE_IO_THREADS: with 1, LanceDB 0.40 waits
for itself for ever."""

SESSION = 20
"""Messages of a chat."""


class Peer(Protocol):
    """A store of texts that are numbered from 0 as they come. What was added is found at once."""

    name: ClassVar[str]
    package: ClassVar[str]
    """The distribution that it comes with."""
    module: ClassVar[str]
    """What that distribution is imported as."""

    def __init__(self, folder: Path, embedder: Embedder) -> None: ...

    def build(self, texts: Sequence[str]) -> None:
        """Store the first texts and make every index."""
        ...

    def append(self, text: str) -> None:
        """Store one more."""
        ...

    def search(self, question: str, k: int) -> list[int]:
        """Numbers of the ``k`` best texts, best first."""
        ...

    def close(self) -> None:
        """Close the files."""
        ...


class Localmem:
    """This program: words and meaning, one vector for each of the pieces of a message."""

    name = "localmem"
    package = "localmem-assistant"
    module = "localmem"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        self._memory = Memory(folder / "memory.db", embedder)
        self._numbers: dict[int, int] = {}
        """Message id -> number."""

    def build(self, texts: Sequence[str]) -> None:
        """Store the texts as chats and wait for the vectors."""
        for first in range(0, len(texts), SESSION):
            self._add(texts[first : first + SESSION])
        self._memory.wait_embedded()

    def append(self, text: str) -> None:
        """Store one more, found by its words; its vector follows."""
        self._add([text])

    def search(self, question: str, k: int) -> list[int]:
        """Numbers of the ``k`` best texts."""
        return [self._numbers[hit.message.id] for hit in self._memory.search(question, k)]

    def close(self) -> None:
        """Close the file."""
        self._memory.close()

    def _add(self, texts: Sequence[str]) -> None:
        roles = (Role.USER, Role.ASSISTANT)
        said = tuple(NewMessage(roles[place % 2], text) for place, text in enumerate(texts))
        for message_id in self._memory.add(NewSession("bench", str(len(self._numbers)), said)):
            self._numbers[message_id] = len(self._numbers)


class Chroma:
    """chromadb: cosine over an HNSW graph; meaning only."""

    name = "chromadb"
    package = "chromadb"
    module = "chromadb"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        import chromadb

        self._embedder = embedder
        settings = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(str(folder), settings)
        self._texts = self._client.create_collection(
            "messages",
            embedding_function=None,
            configuration={"hnsw": {"space": "cosine", "num_threads": 1}},
        )
        self._stored = 0

    def build(self, texts: Sequence[str]) -> None:
        """Store the texts in batches as large as it takes."""
        size = self._client.get_max_batch_size()
        for first in range(0, len(texts), size):
            self._add(texts[first : first + size])

    def append(self, text: str) -> None:
        """Store one more."""
        self._add([text])

    def search(self, question: str, k: int) -> list[int]:
        """Numbers of the ``k`` nearest texts."""
        vector = self._embedder.embed_query(question)
        found = self._texts.query(query_embeddings=[vector], n_results=k, include=["documents"])
        return [int(number) for number in found["ids"][0]]

    def close(self) -> None:
        """Stop its engine."""
        self._client.close()

    def _add(self, texts: Sequence[str]) -> None:
        numbers = [str(self._stored + place) for place in range(len(texts))]
        vectors = self._embedder.embed_documents(texts)
        self._texts.add(ids=numbers, embeddings=vectors, documents=list(texts))
        self._stored += len(texts)


class LanceDense:
    """lancedb without a vector index, which compares every vector; meaning only."""

    name = "lancedb dense"
    package = "lancedb"
    module = "lancedb"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        import lancedb
        import pyarrow

        self._embedder = embedder
        vector = pyarrow.list_(pyarrow.float32(), embedder.dimension)
        fields = [("number", pyarrow.int64()), ("text", pyarrow.string()), ("vector", vector)]
        self._table = lancedb.connect(str(folder)).create_table("messages", schema=pyarrow.schema(fields))
        self._stored = 0

    def build(self, texts: Sequence[str]) -> None:
        """Store the texts in one go."""
        vectors = self._embedder.embed_documents(texts)
        self._table.add(
            [
                {"number": self._stored + place, "text": text, "vector": vectors[place]}
                for place, text in enumerate(texts)
            ]
        )
        self._stored += len(texts)

    def append(self, text: str) -> None:
        """Store one more."""
        LanceDense.build(self, [text])

    def search(self, question: str, k: int) -> list[int]:
        """Numbers of the ``k`` best texts."""
        rows = self._query(question).limit(k).select(["number", "text"]).to_list()
        return [row["number"] for row in rows]

    def close(self) -> None:
        """Nothing stays open."""

    def _query(self, question: str) -> Any:
        return self._table.search(self._embedder.embed_query(question)).distance_type("cosine")


class LanceHybrid(LanceDense):
    """lancedb's own full-text index and its vectors, fused by reciprocal rank."""

    name = "lancedb hybrid"

    def build(self, texts: Sequence[str]) -> None:
        """Store the texts and index their words; later ones are read through without an index."""
        from lancedb.index import FTS

        super().build(texts)
        self._table.create_index("text", config=FTS())

    def _query(self, question: str) -> Any:
        from lancedb.rerankers import RRFReranker

        vector = self._embedder.embed_query(question)
        query = self._table.search(query_type="hybrid").vector(vector).text(question)
        return query.distance_type("cosine").rerank(RRFReranker())


class _Vectors:
    """An embedder as agentrecall wants it. It asks for a question as for a text."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.dim = embedder.dimension
        self.asking = False

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Vectors as lists."""
        if self.asking:
            return [self._embedder.embed_query(text).tolist() for text in texts]
        vectors: list[list[float]] = self._embedder.embed_documents(texts).tolist()
        return vectors


class AgentRecall:
    """agentrecall-db: SQLite's full-text index and sqlite-vec, fused by reciprocal rank."""

    name = "agentrecall-db"
    package = "agentrecall-db"
    module = "agentrecall"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        import agentrecall

        self._vectors = _Vectors(embedder)
        path = folder / "memory.db"
        self._memory = agentrecall.Memory(path, embeddings=True, embedder=self._vectors)

    def build(self, texts: Sequence[str]) -> None:
        """Store the texts; it commits each."""
        self._memory.add_many(list(texts))

    def append(self, text: str) -> None:
        """Store one more."""
        self._memory.add(text)

    def search(self, question: str, k: int) -> list[int]:
        """Numbers of the ``k`` best texts; its ids count from 1."""
        self._vectors.asking = True
        try:
            return [hit.record.id - 1 for hit in self._memory.search(question, k=k)]
        finally:
            self._vectors.asking = False

    def close(self) -> None:
        """Close the file."""
        self._memory.close()


PEERS: tuple[type[Peer], ...] = (Localmem, Chroma, LanceDense, LanceHybrid, AgentRecall)
