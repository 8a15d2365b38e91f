"""Inverted lists as flat arrays: which message has which term how often."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Counts = NDArray[np.int32]

TermsRow = tuple[int, int, bytes]
"""A row of ``message_terms``: message id, length in terms, :func:`pack_terms` of its terms."""


def pack_terms(term_ids: Iterable[int], counts: Iterable[int]) -> bytes:
    """Term ids and their frequencies in one message as two rows of little-endian int32."""
    return np.array([list(term_ids), list(counts)], dtype="<i4").tobytes()


@dataclass(frozen=True, slots=True)
class Postings:
    """Postings of n messages over t terms. Raw frequencies only: weights are made at query time."""

    documents: Ids
    """Message ids, ascending, shape (n,)."""
    lengths: Counts
    """Terms in each message, repeats included, shape (n,)."""
    terms: Counts | Ids
    """Distinct term ids, ascending, shape (t,)."""
    starts: Ids
    """Where each term's postings begin in ``places``, shape (t + 1,)."""
    places: Counts
    """Indexes into ``documents``, ascending within a term."""
    counts: Counts
    """Term frequencies beside ``places``."""

    @classmethod
    def build(cls, rows: Sequence[TermsRow]) -> Self:
        """Invert rows that ascend by message id."""
        pairs = [np.frombuffer(packed, dtype="<i4").reshape(2, -1) for _, _, packed in rows]
        flat = np.concatenate([np.empty((2, 0), dtype="<i4"), *pairs], axis=1)
        sizes = [pair.shape[1] for pair in pairs]
        return cls.inverted(
            np.array([row[0] for row in rows], dtype=np.int64),
            np.array([row[1] for row in rows], dtype=np.int32),
            flat[0],
            np.repeat(np.arange(len(rows), dtype=np.int32), sizes),
            flat[1],
        )

    @classmethod
    def joined(cls, parts: Sequence[Postings]) -> Self:
        """One in place of several, whose message ids follow each other.

        Each posting is put where it belongs: to sort them all would take four times the memory of the result.
        """
        terms = np.unique(np.concatenate([part.terms for part in parts]))
        rows = [np.searchsorted(terms, part.terms) for part in parts]
        starts = np.zeros(len(terms) + 1, dtype=np.int64)
        for part, row in zip(parts, rows, strict=True):
            starts[row + 1] += np.diff(part.starts)
        np.cumsum(starts, out=starts)
        places, counts = (np.empty(starts[-1], dtype=np.int32) for _ in range(2))
        free = starts[:-1].copy()  # where the next posting of each term goes
        offset = 0
        for part, row in zip(parts, rows, strict=True):
            sizes = np.diff(part.starts)
            at = np.repeat(free[row] - part.starts[:-1], sizes) + np.arange(len(part.places))
            places[at] = part.places + np.int32(offset)
            counts[at] = part.counts
            free[row] += sizes
            offset += len(part.documents)
        documents = np.concatenate([part.documents for part in parts])
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(documents, lengths, terms, starts, places, counts)

    @classmethod
    def inverted(
        cls, documents: Ids, lengths: Counts, posting_terms: Counts | Ids, places: Counts, counts: Counts
    ) -> Self:
        """Postings given one by one: term, index into ``documents`` and frequency, places ascending."""
        order = np.argsort(posting_terms, kind="stable")
        ordered = posting_terms[order]
        _, first = np.unique(ordered, return_index=True)
        starts = np.append(first, len(order)).astype(np.int64)
        return cls(documents, lengths, ordered[first], starts, places[order], counts[order])

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All of its arrays, for whoever counts their bytes."""
        return self.documents, self.lengths, self.terms, self.starts, self.places, self.counts

    def of(self, term: int) -> tuple[Counts, Counts]:
        """(places, counts) of a term; empty when no message has it."""
        at = int(np.searchsorted(self.terms, self.terms.dtype.type(term)))  # of another type it copies them
        if at == len(self.terms) or self.terms[at] != term:
            return self.places[:0], self.counts[:0]
        span = slice(int(self.starts[at]), int(self.starts[at + 1]))
        return self.places[span], self.counts[span]
