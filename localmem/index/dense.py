"""Similarity of messages, and of the windows around them, to a query vector.

Vectors have length 1, so an inner product is a cosine. A message scores its best piece; a window the
mean of its pieces' cosines, weighted by their length and distance. (The cosine of the window's mean vector
would need its norm, which changes with every neighbour; it ranks no better, see EXPERIMENTS.md.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localmem.index.columns import Places
from localmem.index.lexical import Scores
from localmem.index.mirror import View
from localmem.models.protocols import Vectors


@dataclass(frozen=True, slots=True)
class Similarity:
    """Cosines with a query, shape (n,).

    Where there is no vector yet, words stand in for meaning: between the mean and the best of those that
    have one, as far up as the share of the question's words goes.
    """

    known: NDArray[np.bool_]
    """Which messages have a vector."""
    message: Scores
    window: Scores
    session: Scores
    """Of the best message in its session."""
    weighted: Scores
    """Sum of each message's cosines times the length of the piece: what ``window`` is made of."""


def similarity(view: View, cosine: Vectors, lexical: Scores | None = None) -> Similarity:
    """From the cosines of all pieces, shape (p,).

    ``lexical``: the share of the question's words that each message has, for those without a vector.
    """
    columns, pieces = view.columns, view.pieces
    # Most messages have one piece: those are copied, and only the others are gathered.
    first, others, rows = pieces.first, pieces.others, pieces.row[pieces.others]
    best, weighted = cosine[first], cosine[first] * pieces.weights[first]
    if not view.complete:
        best, weighted = (
            _placed(best, pieces.rows, len(columns)),
            _placed(weighted, pieces.rows, len(columns)),
        )
    np.maximum.at(best, rows, cosine[others])
    np.add.at(weighted, rows, cosine[others] * pieces.weights[others])
    known, around = view.known, view.around
    if view.complete:
        window = columns.spread(weighted) / around
        session = _leaders(columns.session, best, columns.sessions)[columns.session]
        return Similarity(known, best, window, session, weighted)
    window = np.divide(columns.spread(weighted), around, out=np.zeros_like(around), where=around > 0)
    session = _leaders(columns.session[known], best[known], columns.sessions)[columns.session]
    for values, have in ((best, known), (window, around > 0), (session, session > _NOBODY)):
        mean, top = (values[have].mean(), values[have].max()) if have.any() else (0, 0)
        share = 0 if lexical is None else np.minimum(lexical[~have], 1)
        values[~have] = mean + (top - mean) * share
    return Similarity(known, best, window, session, weighted)


def corrected(view: View, near: Similarity, rows: Places, exact: Vectors, wanted: Places) -> Similarity:
    """The similarity of the messages at ``wanted``, after those at ``rows`` were compared exactly.

    ``rows`` ascend and have vectors; ``exact`` are the cosines of their pieces in order.
    """
    columns, pieces = view.columns, view.pieces
    places = pieces.places(rows)
    start = np.flatnonzero(np.diff(pieces.row[places], prepend=-1))
    message, padded = near.message.copy(), np.append(near.weighted, np.float32(0))
    message[rows] = np.maximum.reduceat(exact, start)
    padded[rows] = np.add.reduceat(exact * pieces.weights[places], start)
    window = padded[wanted]
    for weight, beside in columns.near:
        window += np.float32(weight) * padded[beside[wanted]]
    changed = np.zeros(columns.sessions, np.bool_)
    changed[columns.session[wanted]] = True
    inside = np.flatnonzero(changed[columns.session] & near.known)
    leaders = _leaders(columns.session[inside], message[inside], columns.sessions)
    around = view.around[wanted]
    return Similarity(
        known=near.known[wanted],
        message=message[wanted],
        window=np.where(around > 0, window / np.maximum(around, 1e-9), near.window[wanted]),
        session=np.where(near.known[wanted], leaders[columns.session[wanted]], near.session[wanted]),
        weighted=padded[wanted],
    )


_NOBODY = np.float32(-2)
"""Below any cosine: no message of the session has a vector."""


def _placed(values: Scores, rows: Places, count: int) -> Scores:
    """``values`` at ``rows`` of an array of zeros, shape (count,)."""
    placed = np.zeros(count, np.float32)
    placed[rows] = values
    return placed


def _leaders(session: Places, best: Scores, sessions: int) -> Scores:
    """The highest cosine in each session, shape (sessions,)."""
    leaders = np.full(sessions, _NOBODY, np.float32)
    np.maximum.at(leaders, session, best)
    return leaders
