"""BM25 of messages and of the windows around them, exact at every moment.

Frequencies and lengths are summed over all parts of the index at query time, so a score is that of one
index over everything committed. A window is a message with its neighbours at distance one and two in its
session, their term frequencies weighted by :data:`KERNEL`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from localmem.index.columns import Columns, Rows
from localmem.index.mirror import View

K1 = 0.9
"""Saturation of term frequency."""
B = 0.4
"""How much length counts; both low, because messages are short and a longer one often says more."""
KERNEL = (1.0, 0.75, 0.5)
"""Weight of a message and of its neighbours at distance one and two in a window."""

Scores = NDArray[np.float64]


class TermMatches:
    """Where the terms of a query stand: rows and frequencies, and the idf of each term."""

    def __init__(self, view: View, words: Collection[str], ids: Mapping[str, int]) -> None:
        self.idf: dict[str, float] = {}
        self.found: dict[str, tuple[Rows, Rows]] = {}
        """Term -> (rows, frequencies) of the messages that have it."""
        total = len(view.columns)
        for word in words:
            rows = [np.empty(0, np.int32)]
            counts = [np.empty(0, np.int32)]
            if word in ids:
                for postings, part_rows in view.parts:
                    places, frequencies = postings.of(ids[word])
                    rows.append(part_rows[places])
                    counts.append(frequencies)
            self.found[word] = np.concatenate(rows), np.concatenate(counts)
            self.idf[word] = idf(total, len(self.found[word][0]))


def idf(total: int, frequency: int) -> float:
    """Lucene's idf, log(1 + (N - df + 0.5) / (df + 0.5)), which is never negative."""
    return math.log1p((total - frequency + 0.5) / (frequency + 0.5))


def bm25(columns: Columns, matches: TermMatches) -> Scores:
    """BM25 of every message, shape (n,); 0 where no term occurs."""
    scores = np.zeros(len(columns))
    average = max(float(columns.words.mean()), 1e-9) if len(columns) else 1.0
    for word, (rows, counts) in matches.found.items():
        scores[rows] += matches.idf[word] * _saturated(counts, columns.words[rows], average)
    return scores


def window_bm25(columns: Columns, matches: TermMatches) -> Scores:
    """BM25 of the window around every message, shape (n,)."""
    scores = np.zeros(len(columns))
    lengths = spread(columns, columns.words)
    average = max(float(lengths.mean()), 1e-9) if len(columns) else 1.0
    frequency = np.zeros(len(columns) + 1)  # the last place takes what falls outside of a session
    for word, (rows, counts) in matches.found.items():
        touched = [rows]
        frequency[rows] += KERNEL[0] * counts
        for step in (columns.before, columns.after):
            near = rows
            for weight in KERNEL[1:]:
                near = np.where(near < 0, near, step[near])
                frequency[near] += weight * counts
                touched.append(near)
        frequency[-1] = 0.0
        at = np.concatenate(touched)
        at = at[at >= 0]
        # A row touched twice is assigned the same value twice.
        scores[at] = scores[at] + matches.idf[word] * _saturated(frequency[at], lengths[at], average)
        frequency[at] = 0.0
    return scores


def spread(columns: Columns, values: NDArray[np.generic]) -> Scores:
    """Sum of ``values`` over each window, weighted by :data:`KERNEL`, shape (n,)."""
    padded = np.append(values.astype(np.float64), 0.0)
    total = KERNEL[0] * padded[:-1]
    for step in (columns.before, columns.after):
        near = step
        for weight in KERNEL[1:]:
            total += weight * padded[near]
            near = np.where(near < 0, near, step[near])
    return total


def _saturated(frequency: NDArray[np.generic], length: NDArray[np.generic], average: float) -> Scores:
    tf = frequency.astype(np.float64)
    result: Scores = tf * (K1 + 1) / (tf + K1 * (1 - B + B * length.astype(np.float64) / average))
    return result
