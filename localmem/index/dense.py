"""Similarity of messages, and of the windows around them, to a query vector.

Vectors have length 1, so an inner product is a cosine. A message scores its best piece; a window the
mean of its pieces' cosines, weighted by their length and distance. (The cosine of the window's mean vector
would need its norm, which changes with every neighbour; it ranks no better, see EXPERIMENTS.md.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localmem.index.lexical import Scores
from localmem.index.mirror import View
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


def similarity(view: View, cosine: Vectors) -> Similarity:
    """From the cosines of all pieces, shape (p,)."""
    columns, pieces = view.columns, view.pieces
    best = np.zeros(len(columns), np.float32)
    weighted = np.zeros(len(columns), np.float32)
    # Most messages have one piece: those are copied, and only the others are gathered.
    first, others, rows = pieces.first, pieces.others, pieces.row[pieces.others]
    best[pieces.rows] = cosine[first]
    np.maximum.at(best, rows, cosine[others])
    weighted[pieces.rows] = cosine[first] * pieces.weights[first]
    np.add.at(weighted, rows, cosine[others] * pieces.weights[others])
    known, around = view.known, view.around
    window = np.divide(columns.spread(weighted), around, out=np.zeros_like(around), where=around > 0)
    sessions = np.full(columns.sessions, -1, np.float32)
    np.maximum.at(sessions, columns.session[known], best[known])
    session = sessions[columns.session]
    if not known.all():
        for values, have in ((best, known), (window, around > 0), (session, session > -1)):
            values[~have] = values[have].mean() if have.any() else 0
    return Similarity(known, best, window, session)
