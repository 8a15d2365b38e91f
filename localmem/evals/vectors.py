"""Vectors kept by the hash of their text: haystacks repeat most of their messages."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np

from localmem.models.protocols import Embedder, Vectors
from localmem.store.transaction import transaction


class CachingEmbedder:
    """An embedder that makes each vector once. The file holds hashes and vectors, no text."""

    def __init__(self, embedder: Embedder, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._embedder = embedder
        self._connection = apsw.Connection(str(path))
        self._connection.pragma("journal_mode", "wal")
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS vector (key BLOB PRIMARY KEY, embedding BLOB NOT NULL) STRICT"
        )

    @property
    def name(self) -> str:
        """Name of the embedder behind it."""
        return self._embedder.name

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the embedder behind it."""
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._embedder.dimension

    def split(self, text: str) -> list[str]:
        """Parts of ``text`` that fit the model's window."""
        return self._embedder.split(text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of ``texts``; those seen before are read, the rest made and kept."""
        keys = [self._key("document", text) for text in texts]
        known: dict[bytes, bytes] = {}
        for key in dict.fromkeys(keys):
            row = self._connection.execute("SELECT embedding FROM vector WHERE key = ?", (key,)).get
            if row is not None:
                known[key] = row
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            made = self._embedder.embed_documents(list(missing.values()))
            fresh = {key: vector.astype("<f4").tobytes() for key, vector in zip(missing, made, strict=True)}
            with transaction(self._connection):
                self._connection.executemany("INSERT OR IGNORE INTO vector VALUES (?, ?)", fresh.items())
            known |= fresh
        flat = b"".join(known[key] for key in keys)
        return np.frombuffer(flat, "<f4").reshape(len(texts), self.dimension).astype(np.float32)

    def embed_query(self, text: str) -> Vectors:
        """Vector of a query; made each time, so that its cost is a real one."""
        return self._embedder.embed_query(text)

    def close(self) -> None:
        """Close the file; the embedder behind it belongs to whoever made it."""
        self._connection.close()

    def _key(self, use: str, text: str) -> bytes:
        return hashlib.sha256(f"{self.fingerprint}\0{use}\0{text}".encode("utf-8", "replace")).digest()
