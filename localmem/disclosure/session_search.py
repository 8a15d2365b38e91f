"""The formulas of session search: APDMem's Hybrid Retriever (Appendix G), over the units of L0.

A unit is the summary of one turn with its keywords. Scores of units and of sessions are arrays in the order
of the index; a score of 0 is no hit. Constants are those of the paper's Table 5.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localmem.index.lexical import K1, B, idf
from localmem.index.phrases import phrase_of, phrases_in

RRF_K = 60
"""Smoothing of a rank (k of equation 2)."""
WEIGHT = 0.5
"""Of each of the two indexes (w of equation 2): the paper's cosine weight of 0.5 leaves as much for BM25."""
BOOST = 0.1
"""Share of the top score that one keyword match is worth (alpha of equation 4)."""
MOST_MATCHES = 3
"""Keyword matches beyond which more do not count. The paper calls n discretised and gives no steps."""
TOP = 20
"""Sessions that a search returns (K)."""
PLACE_BITS = 26
"""Of a number that sorts: 67 million units, and scores up to 100,000, have room."""

Scores = NDArray[np.float64]
Ranks = NDArray[np.int64]
Counts = NDArray[np.int64]


class Field(Protocol):
    """A field of the lexical index: the stems of n units."""

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Stems of each unit, repeats included, shape (n,)."""
        ...

    def of(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The units that have a stem, and how often."""
        ...


def field_bm25(field: Field, words: Collection[int]) -> Scores:
    """BM25 of every unit in one field (summaries, or keywords), shape (n,).

    The field's own document frequencies and lengths count; ``words`` are ids of a query's distinct stems.
    """
    scores = np.zeros(len(field.lengths))
    if not len(scores) or not (average := field.lengths.mean()):
        return scores
    for word in words:
        places, counts = field.of(word)
        length = field.lengths[places] / average
        rarity = idf(len(scores), len(places))
        scores[places] += rarity * counts * (K1 + 1) / (counts + K1 * (1 - B + B * length))
    return scores


def lexical_scores(summary: Scores, keywords: Scores) -> Scores:
    """The lexical index has two separate fields: a unit's score is the sum of both."""
    return summary + keywords


def dense_scores(units: NDArray[np.float32], query: NDArray[np.float32]) -> Scores:
    """Cosines as dot products of L2-normalised vectors (n, d) and (d,), embedded with task prefixes."""
    return np.asarray(units @ query, np.float64)


def ranks(scores: Scores) -> Ranks:
    """Ranks r(c) of equation 2: from 1, equal scores in order of the index; 0 for what is no hit.

    What agrees to six decimals is equal: single precision has no more, and which way its last bits fall
    depends on where in the index a unit stands.
    """
    levels = np.rint(scores * 1e6).astype(np.int64)
    found = np.flatnonzero(levels > 0)
    # One number for score and place: to sort these takes a quarter of the time that a stable sort takes.
    order = np.sort(found - (levels[found] << PLACE_BITS)) & ((1 << PLACE_BITS) - 1)
    result = np.zeros(len(scores), np.int64)
    result[order] = np.arange(1, len(order) + 1)
    return result


def rrf(rankings: Sequence[Ranks]) -> Scores:
    """Equation 2: the sum over the indexes of w / (k + r(c)); one that did not find the unit adds nothing."""
    return np.asarray(
        sum(np.where(ranking > 0, WEIGHT / (RRF_K + ranking), 0.0) for ranking in rankings), np.float64
    )


def session_scores(units: Scores, session: NDArray[np.int64], sessions: int) -> Scores:
    """Equation 3: s(q, S) = max over the units of S of rrf(q, c), shape (sessions,).

    ``session`` has the number of each unit's session, from 0. A session without units scores 0.
    """
    best = np.zeros(sessions)
    np.maximum.at(best, session, units)
    return best


def keyword_matches(query: str, keywords: Iterable[str]) -> int:
    """How many distinct keywords of a session stand in the query, word for word and unstemmed."""
    return len({phrase_of(keyword) for keyword in keywords} & phrases_in(query))


def discretised(matches: ArrayLike) -> Counts:
    """The n of equation 4: 0, 1, 2, and 3 for more, so that no pile of keywords outweighs the ranking."""
    return np.minimum(np.asarray(matches, np.int64), MOST_MATCHES)


def boosted(scores: Scores, matches: ArrayLike) -> Scores:
    """Equation 4: s'(q, S) = s(q, S) + alpha * s_max * n, s_max the top score of this query.

    ``matches`` are the :func:`keyword_matches` of each session.
    """
    return np.asarray(scores + BOOST * scores.max(initial=0.0) * discretised(matches), np.float64)


def best_of_queries(scores: Sequence[Scores]) -> Scores:
    """Equation 5: s_final(S) = max over the queries of s'(q, S), shape (sessions,); at least one query."""
    return np.asarray(np.max(np.stack(scores), axis=0), np.float64)


def top(scores: Scores, k: int = TOP) -> list[int]:
    """Numbers of the best sessions, best first, equal ones in order of the index, without what is no hit."""
    order = np.lexsort((np.arange(len(scores)), -scores))[:k]
    return [int(session) for session in order if scores[session] > 0]
