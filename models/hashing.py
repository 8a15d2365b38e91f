"""An :class:`~localmem.models.protocols.Embedder` without weights: feature hashing.

Texts that share words or parts of words get near vectors (Weinberger et al. 2009, signed
hashing). It knows nothing of meaning; it needs nothing, and gives the same vector everywhere.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

import numpy as np

from localmem.models.protocols import Vectors

_WORD = re.compile(r"\w+")
_WORD_WEIGHT = 2.0  # a whole word says more than one of its many n-grams
_IDEOGRAPHS = "\u2e80"  # from here on a character is about a word, and words are not spaced


class HashEmbedder:
    """Hashes lowercased words and their character 3- to 5-grams into ``dimension`` buckets.

    Ideographs and kana are written without spaces: there, 1- to 3-grams.
    """

    def __init__(self, dimension: int = 384) -> None:
        self._dimension = dimension

    @property
    def name(self) -> str:
        """Catalogue name."""
        return "hash"

    @property
    def fingerprint(self) -> str:
        """``sha256:...`` of the method and dimension."""
        method = f"localmem feature hashing 1, words and 3-5-grams, {self._dimension}"
        return "sha256:" + hashlib.sha256(method.encode()).hexdigest()

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    def split(self, text: str) -> list[str]:
        """The text itself: there is no window."""
        return [text]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of ``texts``, shape (len(texts), dimension), rows of length 1."""
        vectors = np.zeros((len(texts), self._dimension), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            self._fill(row, text)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """Vector of a query, shape (dimension,), length 1; a document's vector of the same text."""
        vector = np.zeros(self._dimension, np.float32)
        self._fill(vector, text)
        return vector

    def close(self) -> None:
        """Nothing to free."""

    def _fill(self, row: Vectors, text: str) -> None:
        for feature, weight in _features(text):
            digest = hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            number = int.from_bytes(digest, "little")
            sign = 1.0 if number & 1 else -1.0
            row[(number >> 1) % self._dimension] += sign * weight
        length = float(np.linalg.norm(row))
        if length == 0.0:  # no features, or they cancelled out
            row[0] = 1.0
        else:
            row /= length


def _features(text: str) -> Iterator[tuple[str, float]]:
    for match in _WORD.finditer(text.lower()):
        word = match.group()
        yield f"w:{word}", _WORD_WEIGHT
        bounded = f"<{word}>"
        for n in (1, 2, 3) if max(word) >= _IDEOGRAPHS else (3, 4, 5):
            for start in range(len(bounded) - n + 1):
                yield bounded[start : start + n], 1.0
