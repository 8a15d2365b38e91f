"""Similarity of messages, and of the windows around them, to a query vector; exact.

Vectors have length 1, so an inner product is a cosine. A message scores its best piece; a window the
mean of its pieces' cosines, weighted by their length and distance. (The cosine of the window's mean vector
would need its norm, which changes with every neighbour; it ranks no better, see EXPERIMENTS.md.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localmem.index.columns import Columns
from localmem.index.lexical import Scores, spread
from localmem.index.pieces import Pieces
from localmem.models.protocols import Vectors


@dataclass(frozen=True, slots=True)
class Similarity:
    """Cosines with a query, shape (n,).

    Where there is no vector yet, the mean of those that have one: neither for nor against it.
    """

    known: NDArray[np.bool_]
    """Which messages have a vector."""
    message: Scores
    window: Scores
    session: Scores
    """Of the best message in its session."""


def similarity(columns: Columns, pieces: Pieces, query: Vectors) -> Similarity:
    """Compare a query vector with every message."""
    count = len(columns)
    best, weighted, weights = np.zeros(count), np.zeros(count), np.zeros(count)
    if len(pieces.row):
        cosine = (pieces.matrix @ query).astype(np.float64)
        first = np.flatnonzero(np.diff(pieces.row, prepend=-1))
        rows = pieces.row[first]
        best[rows] = np.maximum.reduceat(cosine, first)
        weighted[rows] = np.add.reduceat(cosine * pieces.words, first)
        weights[rows] = np.add.reduceat(pieces.words.astype(np.float64), first)
    known = weights > 0
    around = spread(columns, weights)
    window = np.divide(spread(columns, weighted), around, out=np.zeros(count), where=around > 0)
    sessions = np.full(columns.sessions, -1.0)
    np.maximum.at(sessions, columns.session[known], best[known])
    session = sessions[columns.session]
    if not known.all():
        for values, have in ((best, known), (window, around > 0), (session, session > -1)):
            values[~have] = values[have].mean() if have.any() else 0.0
    return Similarity(known, best, window, session)
