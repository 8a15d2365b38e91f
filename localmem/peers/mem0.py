"""Mem0 without a language model: messages are stored as they are (``infer=False``) in its local Qdrant.

What would leave the machine (mem0ai 2.2) and how it is kept from it:

* usage events and the notices it fetches: off with MEM0_TELEMETRY, which counts at the first import only
* a language model and an embedder at a hosted service: made for the constructor, then taken away
* the stop words of its keyword search, from a model hub: the same 179 words come with bm25s
* ONNX Runtime's telemetry, which its vector store loads: off for all peers
* the model en_core_web_sm, when spaCy is there without it: then this peer is not available

Without spaCy, which no extra of ours installs, Mem0 neither lemmatises words nor matches entities.
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from localmem.errors import BadInput
from localmem.models.protocols import Embedder
from localmem.peers.base import Peer
from localmem.peers.environment import environment

_OWNER = "conversation"
"""Mem0 keeps the memories of users apart; here there is one."""
_SPACY_MODEL = "en_core_web_sm"


class Mem0(Peer):
    """mem0ai: cosine plus BM25, scores added; texts below a cosine of 0.1 are not found."""

    name = "mem0"
    package = "mem0ai"
    module = "mem0"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        super().__init__(folder, embedder)
        memory_class = _imported(folder)
        store: dict[str, Any] = {"collection_name": "messages", "path": str(folder / "qdrant")}
        store["embedding_model_dims"] = embedder.dimension
        # LM Studio's are plain clients of this machine, which connect at their first use: there is none.
        nowhere = {"provider": "lmstudio", "config": {"lmstudio_base_url": "http://127.0.0.1:9/v1"}}
        self._memory: Any = memory_class.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(folder / "history.db"),
                "llm": nowhere,
                "embedder": nowhere,
            }
        )
        self._vectors = _Vectors(embedder)
        self._memory.embedding_model = self._vectors
        self._memory.llm = None
        self._give_stop_words(folder / "bm25")
        self._stored = 0

    @classmethod
    def missing(cls) -> str | None:
        """Also when it would download a model at its first use."""
        has_spacy = importlib.util.find_spec("spacy") is not None
        if has_spacy and importlib.util.find_spec(_SPACY_MODEL) is None:
            return f"mem0ai would download a model for spaCy: python -m spacy download {_SPACY_MODEL}"
        return super().missing()

    def _give_stop_words(self, folder: Path) -> None:
        """Its own encoder, with stop words from here: Mem0 would fetch them, and fail without a word."""
        from bm25s.stopwords import STOPWORDS_EN_PLUS
        from fastembed import SparseTextEmbedding

        folder.mkdir()
        (folder / "config.json").write_text("{}")
        (folder / "english.txt").write_text("\n".join(STOPWORDS_EN_PLUS))
        store = self._memory.vector_store
        if not hasattr(store, "_bm25_encoder"):
            raise BadInput(f"mem0ai {self.version()} keeps its keyword search elsewhere than 2.2 did.")
        store._bm25_encoder = SparseTextEmbedding("Qdrant/bm25", specific_model_path=str(folder))

    def add_texts(self, texts: Sequence[str]) -> None:
        """Store the texts one by one: it has no other way."""
        self._vectors.make(texts)
        for number, text in enumerate(texts, self._stored):
            said = [{"role": "user", "content": text}]
            self._memory.add(said, user_id=_OWNER, metadata={"number": number}, infer=False)
        self._stored += len(texts)

    def find(self, question: str, k: int) -> list[int]:
        """Numbers of the ``k`` best texts, best first."""
        found = self._memory.search(question, top_k=k, filters={"user_id": _OWNER})
        return [memory["metadata"]["number"] for memory in found["results"]]

    def clear(self) -> None:
        """Remove all memories."""
        self._memory.reset()
        self._stored = 0

    def close(self) -> None:
        """Close the files."""
        self._memory.close()
        self._memory.vector_store.client.close()


class _Vectors:
    """The embedder as Mem0 calls it: a text at a time; those made beforehand are looked up."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._made: dict[str, list[float]] = {}

    def make(self, texts: Sequence[str]) -> None:
        """Embed the texts that come next, all at once."""
        vectors = self._embedder.embed_documents(texts)
        self._made = {text: vector.tolist() for text, vector in zip(texts, vectors, strict=True)}

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Vector of a text to store, or of a query when the action is ``search``."""
        if memory_action == "search":
            query: list[float] = self._embedder.embed_query(text).tolist()
            return query
        return self._made[text]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """Vectors of several texts."""
        return [self.embed(text, memory_action) for text in texts]


def _imported(folder: Path) -> Any:
    """Mem0's class. Raises :class:`BadInput` where it was imported before with its telemetry on."""
    with environment({"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder)}):
        from mem0 import Memory
        from mem0.memory.telemetry import MEM0_TELEMETRY

    if MEM0_TELEMETRY:
        raise BadInput("mem0 was imported with its telemetry on: set MEM0_TELEMETRY=False and start again.")
    # It warns that there is no spaCy, and of each reset.
    logging.getLogger("mem0").setLevel(logging.ERROR)
    return Memory
