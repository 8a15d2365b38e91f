"""BM25 of messages and of the windows around them, exact at every moment.

Frequencies and lengths are summed over all parts of the index at query time, so a score is that of one
index over everything committed. A window (:meth:`Columns.spread`) is a message with its neighbours in
the session; its term frequencies and its length are weighted by distance.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from localmem.index.columns import KERNEL, Columns, Places
from localmem.index.mirror import View

K1 = 0.9
"""Saturation of term frequency."""
B = 0.4
"""How much length counts; both low, because messages are short and a longer one often says more."""

Scores = NDArray[np.float32]


class TermMatches:
    """Where the terms of a query stand: rows and frequencies, and the idf of each term."""

    def __init__(self, view: View, words: Collection[str], ids: Mapping[str, int]) -> None:
        self.idf: dict[str, float] = {}
        self.found: dict[str, tuple[Places, Scores]] = {}
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
            self.found[word] = np.concatenate(rows).astype(np.intp), np.concatenate(counts).astype(np.float32)
            self.idf[word] = idf(total, len(self.found[word][0]))


def idf(total: int, frequency: int) -> float:
    """Lucene's idf, log(1 + (N - df + 0.5) / (df + 0.5)), which is never negative."""
    return math.log1p((total - frequency + 0.5) / (frequency + 0.5))


def bm25(columns: Columns, matches: TermMatches) -> Scores:
    """BM25 of every message, shape (n,); 0 where no term occurs."""
    scores = np.zeros(len(columns), np.float32)
    for word, (rows, counts) in matches.found.items():
        lengths = columns.words[rows].astype(np.float32) / np.float32(columns.average_words)
        scores[rows] += matches.idf[word] * _saturated(counts, lengths)
    return scores


def window_bm25(columns: Columns, matches: TermMatches) -> Scores:
    """BM25 of the window around every message, shape (n,)."""
    scores = np.zeros(len(columns), np.float32)
    frequency = np.zeros(len(columns) + 1, np.float32)  # the last place takes what falls out of a session
    for word, (rows, counts) in matches.found.items():
        frequency[rows] += np.float32(KERNEL[0]) * counts
        for weight, near in columns.near:
            frequency[near[rows]] += np.float32(weight) * counts
        frequency[-1] = 0
        at = np.flatnonzero(frequency > 0)  # of a bool: five times as fast as of numbers
        lengths = columns.window_words[at] / np.float32(columns.average_window_words)
        scores[at] += np.float32(matches.idf[word]) * _saturated(frequency[at], lengths)
        frequency[at] = 0
    return scores


def _saturated(tf: Scores, length: Scores) -> Scores:
    """The part of BM25 that frequency and length (as a share of the average) decide."""
    return np.asarray(tf * (K1 + 1) / (tf + K1 * (1 - B + B * length)), np.float32)
