"""LanceDB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from localmem.models.protocols import Embedder
from localmem.peers.base import Peer


class LanceDense(Peer):
    """lancedb without a vector index, so that it compares every vector; meaning only."""

    name = "lancedb dense"
    package = "lancedb"
    module = "lancedb"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        super().__init__(folder, embedder)
        import lancedb

        self._connection = lancedb.connect(str(folder))
        self._create()

    def _create(self) -> None:
        import pyarrow

        vector = pyarrow.list_(pyarrow.float32(), self._embedder.dimension)
        fields = [("number", pyarrow.int64()), ("text", pyarrow.string()), ("vector", vector)]
        self._table = self._connection.create_table("messages", schema=pyarrow.schema(fields))
        self._stored = 0

    def add_texts(self, texts: Sequence[str]) -> None:
        """Store the texts in one go."""
        vectors = self._embedder.embed_documents(texts)
        rows = enumerate(zip(texts, vectors, strict=True), self._stored)
        self._table.add([{"number": n, "text": text, "vector": vector} for n, (text, vector) in rows])
        self._stored += len(texts)

    def find(self, question: str, k: int) -> list[int]:
        """Numbers of the ``k`` best texts, best first."""
        query = self._query(question, self._embedder.embed_query(question))
        numbers: list[int] = query.distance_type("cosine").limit(k).to_arrow()["number"].to_pylist()
        return numbers

    def clear(self) -> None:
        """Make the table anew."""
        self._connection.drop_table("messages")
        self._create()

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
