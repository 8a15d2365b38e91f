"""Session search over the summaries of memory: APDMem's Hybrid Retriever (Appendix G).

The formulas are those of :mod:`localmem.disclosure.session_search`, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from localmem.disclosure.session_search import (
    Scores,
    best_of_queries,
    boosted,
    dense_scores,
    field_bm25,
    lexical_scores,
    ranks,
    rrf,
    session_scores,
    top,
)
from localmem.entries import Entry
from localmem.index.embedding import EmbeddingQueue
from localmem.index.mirror import View
from localmem.index.phrases import numbers_of, phrases_in
from localmem.index.terms import term_ids
from localmem.index.tokens import query_terms
from localmem.index.units import Units, weighted
from localmem.retrieval.asked import EMBEDDED
from localmem.retrieval.search import Filter, HybridSearch
from localmem.store import Database
from localmem.store.layers import LayerStore

SHOWN = 3
"""Turns that a found session shows."""
COMPARED = 150
"""Units whose cosine is made exact, when the first look used a smaller form of the vectors."""


@dataclass(frozen=True, slots=True)
class SessionHit:
    """A session that a search found."""

    session_id: int
    score: float
    """Equation 5; comparable inside one result list only."""
    turns: tuple[int, ...]
    """Numbers of the turns that matched, best first."""
    summaries: tuple[Entry, ...]
    """L0 of those turns, in their order, without what another program has just replaced."""


class SessionSearch:
    """Ranks the sessions of a store for one or several queries."""

    def __init__(self, database: Database, queue: EmbeddingQueue, messages: HybridSearch) -> None:
        self._database = database
        self._queue = queue
        self._messages = messages
        self._layers = LayerStore(database)

    def search(
        self,
        queries: Sequence[str],
        limit: int = 20,
        after: datetime | None = None,
        before: datetime | None = None,
    ) -> list[SessionHit]:
        """The best sessions for the best-matching of the queries, best first; equal scores by id.

        ``after`` and ``before`` bound when a message of a turn was sent; other turns are not looked at. A
        session that has nothing to do with any query is not a hit.
        """
        queries = [query for query in dict.fromkeys(queries) if query.strip()]
        view, units = self._queue.mirror.units()
        if limit < 1 or not queries or not len(units):
            return []
        only = Filter(after, before)
        allowed = units.with_any(self._messages.allowed(view, only)) if only else None
        turns, sessions = [], []
        for query in queries:
            turns.append(self._turn_scores(view, units, query, allowed))
            found = session_scores(turns[-1], units.session, len(units.sessions))
            phrases = numbers_of(phrases_in(query[:EMBEDDED]))
            sessions.append(boosted(found, units.matches(phrases, allowed)))
        scores = best_of_queries(sessions)
        return self._hits(units, best_of_queries(turns), scores, top(scores, limit))

    def _turn_scores(self, view: View, units: Units, query: str, allowed: NDArray[np.bool_] | None) -> Scores:
        """Equation 2 for every unit."""
        words = term_ids(self._database.connection(), query_terms(query)).values()
        lexical = lexical_scores(field_bm25(units.summary, words), field_bm25(units.keywords, words))
        dense = self._cosines(view, units, query)
        if allowed is not None:
            lexical[~allowed] = dense[~allowed] = 0
        return rrf([ranks(lexical), ranks(dense)])

    def _cosines(self, view: View, units: Units, query: str) -> Scores:
        """Of every unit; past the threshold of :mod:`localmem.index.reduction` exact for the best."""
        pieces, vector = view.pieces, self._queue.embedder.embed_query(query[:EMBEDDED])
        near = vector if pieces.basis is None else np.asarray(vector @ pieces.basis, np.float32)
        said = weighted(pieces, pieces.cosines(vector), len(view.columns))
        own = dense_scores(units.vectors, near)
        cosines = units.cosines(said, own)
        if pieces.basis is None:
            return cosines
        best = np.zeros(len(units), np.bool_)
        best[np.argpartition(-cosines, min(COMPARED, len(units)) - 1)[:COMPARED]] = True
        rows = np.unique(units.messages[best[units.owner] & (units.norms[units.owner] > 0)])
        ids, exact = self._queue.exact_cosines(view.columns.ids[rows].tolist(), vector)
        rows = rows[np.isin(view.columns.ids[rows], ids)]  # the others went meanwhile
        places = pieces.places(rows)
        said[rows] = np.bincount(pieces.row[places], exact * pieces.weights[places], len(said))[rows]
        places = np.flatnonzero(best[units.own])
        entries = units.entries[units.own[places]].tolist()
        compared = self._queue.exact_summary_cosines(entries, vector)
        for place, entry in zip(places.tolist(), entries, strict=True):
            own[place] = compared.get(entry, own[place])
        return units.cosines(said, own)

    def _hits(self, units: Units, turns: Scores, scores: Scores, sessions: Sequence[int]) -> list[SessionHit]:
        shown: dict[int, list[int]] = {}
        for session in sessions:
            first, last = np.searchsorted(units.session, [session, session + 1])
            order = first + np.argsort(-turns[first:last], kind="stable")[:SHOWN]
            shown[session] = [row for row in order.tolist() if turns[row] > 0]
        ids = [int(units.entries[row]) for rows in shown.values() for row in rows]
        entries = self._layers.entries_by_id(ids)
        return [
            SessionHit(
                session_id=int(units.sessions[session]),
                score=float(scores[session]),
                turns=tuple(int(units.turn[row]) for row in rows),
                summaries=tuple(entries[i] for row in rows if (i := int(units.entries[row])) in entries),
            )
            for session, rows in shown.items()
        ]
