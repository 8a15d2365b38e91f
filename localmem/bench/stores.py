"""localmem and the memory stores beside it, each behind the same few calls.

All get the same vectors. Settings are each library's defaults but for these: nothing is sent out, and
one thread where that can be chosen (:data:`ONE_THREAD`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from localmem.bench.corpus import SESSION
from localmem.memory import Memory
from localmem.models.protocols import Embedder
from localmem.types import NewMessage, NewSession, Role

ONE_THREAD = {"LANCE_CPU_THREADS": "1", "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
"""Environment that the libraries read at their first use.

Not LANCE_IO_THREADS: with 1, LanceDB 0.40 waits for itself for ever.
"""


class Peer(ABC):
    """A store of texts that are numbered from 0 as they come. What was added is found at once."""

    name: ClassVar[str]
    package: ClassVar[str]
    """The distribution that it comes with."""
    module: ClassVar[str]
    """What that distribution is imported as."""

    @abstractmethod
    def __init__(self, folder: Path, embedder: Embedder) -> None: ...

    @abstractmethod
    def add(self, texts: Sequence[str]) -> None:
        """Store more texts."""

    @abstractmethod
    def search(self, question: str, k: int) -> list[int]:
        """Numbers of the ``k`` best texts, best first."""

    def index(self) -> None:
        """Make what is made once, after the first texts."""
        return

    def close(self) -> None:
        """Close the files."""
        return


class Localmem(Peer):
    """This program: words and meaning, a vector for each piece of a message."""

    name = "localmem"
    package = "localmem-assistant"
    module = "localmem"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        self._memory = Memory(folder / "memory.db", embedder)
        self._numbers: dict[int, int] = {}  # message id -> number

    def add(self, texts: Sequence[str]) -> None:
        """Store the texts as chats; they are found by their words, their vectors follow."""
        roles = (Role.USER, Role.ASSISTANT)
        for first in range(0, len(texts), SESSION):
            part = texts[first : first + SESSION]
            said = tuple(NewMessage(roles[place % 2], text) for place, text in enumerate(part))
            for message_id in self._memory.add(NewSession("bench", str(len(self._numbers)), said)):
                self._numbers[message_id] = len(self._numbers)

    def index(self) -> None:
        """Wait for the vectors."""
        self._memory.wait_embedded()

    def search(self, question: str, k: int) -> list[int]:
        """Numbers of the ``k`` best texts, best first."""
        return [self._numbers[hit.message.id] for hit in self._memory.search(question, k)]

    def close(self) -> None:
        """Close the file."""
        self._memory.close()


class Chroma(Peer):
    """chromadb: cosine over an HNSW graph; meaning only."""

    name = "chromadb"
    package = "chromadb"
    module = "chromadb"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        import chromadb

        self._embedder = embedder
        self._stored = 0
        settings = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(str(folder), settings)
        graph = {"hnsw": {"space": "cosine", "num_threads": 1}}
        self._texts = self._client.create_collection("messages", embedding_function=None, configuration=graph)

    def add(self, texts: Sequence[str]) -> None:
        """Store the texts in batches as large as it takes."""
        vectors = self._embedder.embed_documents(texts)
        size = self._client.get_max_batch_size()
        for first in range(0, len(texts), size):
            part = list(texts[first : first + size])
            numbers = [str(self._stored + place) for place in range(len(part))]
            self._texts.add(ids=numbers, embeddings=vectors[first : first + size], documents=part)
            self._stored += len(part)

    def search(self, question: str, k: int) -> list[int]:
        """Numbers of the ``k`` nearest texts."""
        vector = self._embedder.embed_query(question)
        found = self._texts.query(query_embeddings=[vector], n_results=k, include=["documents"])
        return [int(number) for number in found["ids"][0]]

    def close(self) -> None:
        """Stop its engine."""
        self._client.close()


class LanceDense(Peer):
    """lancedb without a vector index, so that it compares every vector; meaning only."""

    name = "lancedb dense"
    package = "lancedb"
    module = "lancedb"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        import lancedb
        import pyarrow

        self._embedder = embedder
        self._stored = 0
        vector = pyarrow.list_(pyarrow.float32(), embedder.dimension)
        fields = [("number", pyarrow.int64()), ("text", pyarrow.string()), ("vector", vector)]
        self._table = lancedb.connect(str(folder)).create_table("messages", schema=pyarrow.schema(fields))

    def add(self, texts: Sequence[str]) -> None:
        """Store the texts in one go."""
        vectors = self._embedder.embed_documents(texts)
        rows = enumerate(zip(texts, vectors, strict=True), self._stored)
        self._table.add([{"number": n, "text": text, "vector": vector} for n, (text, vector) in rows])
        self._stored += len(texts)

    def search(self, question: str, k: int) -> list[int]:
        """Numbers of the ``k`` best texts, best first."""
        query = self._query(question, self._embedder.embed_query(question))
        numbers: list[int] = query.distance_type("cosine").limit(k).to_arrow()["number"].to_pylist()
        return numbers

    def _query(self, question: str, vector: Any) -> Any:
        return self._table.search(vector)


class LanceHybrid(LanceDense):
    """lancedb's own full-text index and its vectors, fused by reciprocal rank."""

    name = "lancedb hybrid"

    def index(self) -> None:
        """Index the words; later texts are read through without an index."""
        from lancedb.index import FTS

        self._table.create_index("text", config=FTS())

    def _query(self, question: str, vector: Any) -> Any:
        from lancedb.rerankers import RRFReranker

        return self._table.search(query_type="hybrid").vector(vector).text(question).rerank(RRFReranker())


PEERS: tuple[type[Peer], ...] = (Localmem, Chroma, LanceDense, LanceHybrid)
