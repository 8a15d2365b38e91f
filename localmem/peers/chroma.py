"""chromadb."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from localmem.models.protocols import Embedder
from localmem.peers.base import Peer


class Chroma(Peer):
    """chromadb: cosine over an HNSW graph; meaning only."""

    name = "chromadb"
    package = "chromadb"
    module = "chromadb"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        super().__init__(folder, embedder)
        import chromadb

        settings = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(str(folder), settings)
        self._create()

    def _create(self) -> None:
        graph = {"hnsw": {"space": "cosine", "num_threads": 1}}
        # No embedding function: its own would be downloaded.
        self._texts = self._client.create_collection("messages", embedding_function=None, configuration=graph)
        self._stored = 0

    def add_texts(self, texts: Sequence[str]) -> None:
        """Store the texts in batches as large as it takes."""
        vectors = self._embedder.embed_documents(texts)
        size = self._client.get_max_batch_size()
        for first in range(0, len(texts), size):
            part = list(texts[first : first + size])
            numbers = [str(self._stored + place) for place in range(len(part))]
            self._texts.add(ids=numbers, embeddings=vectors[first : first + size], documents=part)
            self._stored += len(part)

    def find(self, question: str, k: int) -> list[int]:
        """Numbers of the ``k`` nearest texts."""
        vector = self._embedder.embed_query(question)
        found = self._texts.query(query_embeddings=[vector], n_results=k, include=["documents"])
        return [int(number) for number in found["ids"][0]]

    def clear(self) -> None:
        """Make the collection anew."""
        self._client.delete_collection("messages")
        self._create()

    def close(self) -> None:
        """Stop its engine."""
        self._client.close()
