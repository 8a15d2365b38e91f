"""Made-up chats of any number, with the length, repetition and vocabulary of real ones."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from importlib import resources
from itertools import pairwise

import numpy as np

from localmem.models.protocols import Embedder, Vectors
from localmem.types import NewMessage, NewSession, Role

SESSION = 20
"""Messages of a chat."""
RARE = 0.08
"""Share of words that are names and other rare words; with them the vocabulary keeps growing."""


class Corpus:
    """Chats from word pairs of the sample history, the same for the same seed."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        lines = (resources.files("localmem.demo") / "history.jsonl").read_text(encoding="utf-8").splitlines()
        self._texts = [json.loads(line)["text"] for line in lines]
        self._following: dict[str, list[str]] = {}
        for text in self._texts:
            words = ["", *text.split(), ""]
            for first, second in pairwise(words):
                self._following.setdefault(first, []).append(second)

    def sessions(self, messages: int, source: str = "bench") -> Iterator[NewSession]:
        """Chats with so many messages in all."""
        start = datetime(2020, 1, 1, tzinfo=UTC)
        for number, first in enumerate(range(0, messages, SESSION)):
            count = min(SESSION, messages - first)
            said = tuple(
                NewMessage((Role.USER, Role.ASSISTANT)[i % 2], self.text(), external_id=str(i))
                for i in range(count)
            )
            yield NewSession(source, str(number), said, started_at=start + timedelta(hours=number))

    def text(self) -> str:
        """A message of about 25 words, some much longer."""
        target = min(int(self._random.lognormvariate(2.9, 0.8)) + 3, 300)
        words: list[str] = []
        word = ""
        while len(words) < target:
            word = self._random.choice(self._following[word])
            if not word:
                continue
            rare = self._random.random() < RARE
            words.append(self._rare_word() if rare else word)
        return " ".join(words)

    def questions(self, count: int) -> list[str]:
        """Questions of a few words, as people ask them."""
        starts = (
            "When did I",
            "What did you say about",
            "Which",
            "Where was the",
            "How often did we talk about",
        )
        return [
            f"{self._random.choice(starts)} {' '.join(self.text().split()[:5]).rstrip('.,?!')}?"
            for _ in range(count)
        ]

    def _rare_word(self) -> str:
        """One of a million words, the early ones often (Zipf)."""
        rank = int(self._random.paretovariate(0.7)) % 1_000_000
        letters = "bdfgklmnprstvz"
        return "".join(letters[(rank // 14**i) % 14] + "aeiou"[(rank // 5**i) % 5] for i in range(4))


class NoisyEmbedder:
    """Real vectors of a few texts, and those plus noise for every other text.

    For the speed of an index at sizes that would take hours to embed. The noise has the covariance of
    the real vectors: isotropic noise fills directions that no text uses, and no short list can find
    neighbours there.
    """

    NOISE = 0.5
    """Length of the noise beside a vector of length 1."""

    def __init__(self, embedder: Embedder, texts: Sequence[str]) -> None:
        self._embedder = embedder
        self._base = embedder.embed_documents(texts)
        values, directions = np.linalg.eigh(np.cov(self._base.T))
        self._shape = (directions * np.sqrt(np.maximum(values, 0))).T.astype(np.float32)
        self.name = f"{embedder.name} plus noise"
        self.fingerprint = "sha256:" + hashlib.sha256(f"noisy {embedder.fingerprint}".encode()).hexdigest()
        self.dimension = embedder.dimension

    def split(self, text: str) -> list[str]:
        """Parts of ``text`` that fit the model's window."""
        return self._embedder.split(text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors near those of the base, chosen by the text's hash."""
        seeds = [int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) for text in texts]
        base = self._base[[seed % len(self._base) for seed in seeds]]
        generator = np.random.default_rng(seeds[0] if seeds else 0)
        noise = generator.standard_normal(base.shape, np.float32) @ self._shape
        noise *= self.NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
        vectors: Vectors = base + noise
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """The real vector of a query."""
        return self._embedder.embed_query(text)

    def close(self) -> None:
        """The embedder behind it belongs to whoever made it."""
