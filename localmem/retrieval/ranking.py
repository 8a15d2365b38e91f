"""One score for every message: what it says, what stands around it, who said it and when.

All parts are absolute: a message's score depends neither on which others were looked at nor on how deep a
list is. The weights are few and round; EXPERIMENTS.md has what each part is worth and how they were
found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localmem.index.columns import NO_DAY, Columns, Places
from localmem.index.dense import Similarity
from localmem.index.lexical import Scores, TermMatches, bm25, window_bm25
from localmem.retrieval.asked import Asked

LEXICAL, WINDOW_LEXICAL = 1.0, 1.75
"""Weights of BM25."""
DENSE, WINDOW_DENSE, SESSION_DENSE = 2.0, 3.5, 2.25
"""Weights of cosines."""
SPEAKER, PRESENT = 1.0, 1.5
"""Said by a person whom the question names; said where that person was."""
OWN = 1.0
"""Said by a person, when a person asks about themselves."""
DATE = 1.5
"""Sent on a day that the question names; half of it shortly afterwards."""
TIME = 0.7
"""Names a time, when the question asks for one."""
LENGTH = 0.5
"""For a message that is no mere "Thanks!", its part for a shorter one."""
ASKS = -0.35
"""A message that only asks tells little."""

AFTERWARDS = 14
"""Days: people tell of a day for about two weeks after it."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Scores of all messages, shape (n,), by part."""

    lexical: Scores
    window_lexical: Scores
    similarity: Similarity
    speaker: NDArray[np.bool_]
    total: Scores

    def found(self) -> NDArray[np.bool_]:
        """Which messages share a term or have any similarity with the question, or stand beside one."""
        near = self.similarity.known & ((self.similarity.message > 0) | (self.similarity.window > 0))
        return near | (self.lexical > 0) | (self.window_lexical > 0)


def lexical_scores(columns: Columns, matches: TermMatches) -> tuple[Scores, Scores]:
    """BM25 of messages and of windows, as a share of what one with every term could reach."""
    reachable = max(sum(matches.idf.values()), 1e-9)
    return bm25(columns, matches) / reachable, window_bm25(columns, matches) / reachable


def rank(columns: Columns, words: tuple[Scores, Scores], similarity: Similarity, asked: Asked) -> Ranking:
    """Score every message for a question; ``words`` are its :func:`lexical_scores`."""
    lexical, window_lexical = words
    speaker = np.isin(columns.speaker, list(asked.speakers))
    total = (
        LEXICAL * lexical
        + DENSE * similarity.message
        + WINDOW_LEXICAL * window_lexical
        + WINDOW_DENSE * similarity.window
        + SESSION_DENSE * similarity.session
        + LENGTH * columns.fullness
        + ASKS * columns.asks
    )
    if asked.speakers:
        there = np.zeros(columns.sessions, np.bool_)
        there[columns.session[speaker]] = True
        total += SPEAKER * speaker + PRESENT * there[columns.session]
    if asked.first_person:
        total += OWN * columns.user
    if asked.wants_time:
        total += TIME * columns.names_time
    if asked.days:
        total += DATE * _fits(columns, asked)
    return Ranking(lexical, window_lexical, similarity, speaker, total)


def correct(ranking: Ranking, rows: Places, exact: Similarity) -> None:
    """Give the messages at ``rows`` the scores that exact similarities make."""
    near = ranking.similarity
    ranking.total[rows] += (
        DENSE * (exact.message - near.message[rows])
        + WINDOW_DENSE * (exact.window - near.window[rows])
        + SESSION_DENSE * (exact.session - near.session[rows])
    )
    near.message[rows] = exact.message


def _fits(columns: Columns, asked: Asked) -> Scores:
    """1 where a message was sent on a day asked for or the day after, half of it a little later."""
    fit = np.zeros(len(columns), np.float32)
    for first, last in asked.days:
        gap_first = columns.day.astype(np.int64) - first.toordinal()
        gap_last = columns.day.astype(np.int64) - last.toordinal()
        near = np.where((gap_first >= -1) & (gap_last <= AFTERWARDS), 0.5, 0.0)
        fit = np.maximum(fit, np.where((gap_first >= 0) & (gap_last <= 1), 1.0, near))
    fit[columns.day == NO_DAY] = 0.0
    return fit
