"""Hybrid message search: BM25 and cosine, fused by reciprocal rank."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from localmem.index.embedding import EmbeddingQueue
from localmem.index.fusion import ranked, reciprocal_rank_fusion
from localmem.index.lexical import LexicalIndex
from localmem.index.postings import Ids
from localmem.store import Database, SessionStore
from localmem.store.columns import time_to_columns
from localmem.types import Hit

DEPTH = 200
"""How deep each list is that the fusion reads."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which messages may be found."""

    after: datetime | None = None
    """Sent at this time or later."""
    before: datetime | None = None
    """Sent before this time."""
    without_session: int | None = None
    """Id of a session to leave out: the one that is being held."""

    def __bool__(self) -> bool:
        return self != Filter()


NO_FILTER = Filter()


class HybridSearch:
    """Ranks the messages of a store for a query."""

    def __init__(self, database: Database, lexical: LexicalIndex, queue: EmbeddingQueue) -> None:
        self._database = database
        self._sessions = SessionStore(database)
        self._lexical = lexical
        self._queue = queue

    def search(self, query: str, k: int, only: Filter = NO_FILTER, *, by_session: bool = False) -> list[Hit]:
        """The ``k`` best messages, best first; equal scores by id. ``by_session``: the best of each session.

        A message that shares no term with the query and has no similarity to it is not a hit.
        """
        if k < 1 or not query.strip():
            return []
        vector = self._queue.embedder.embed_query(query)
        lists = {"lexical": self._lexical.scores(query), "dense": self._queue.index.scores(vector)}
        allowed = self._allowed(only) if only else None
        rankings = {name: _ranking(ids, scores, allowed) for name, (ids, scores) in lists.items()}
        ids, scores = reciprocal_rank_fusion(list(rankings.values()))
        best = ranked(ids, scores, len(ids) if by_session else k)
        gains = dict(zip(ids.tolist(), scores.tolist(), strict=True))
        cosines = dict(zip(*(column.tolist() for column in lists["dense"]), strict=True))
        messages = self._sessions.messages_by_id(best.tolist())
        hits = [
            Hit(
                messages[i],
                gains[i],
                cosines.get(i, 0.0),
                tuple(name for name, ranking in rankings.items() if i in ranking),
            )
            for i in best.tolist()
            if i in messages  # deleted by another process since the indexes were read
        ]
        if by_session:
            first: dict[int, Hit] = {}
            for hit in hits:
                first.setdefault(hit.message.session_id, hit)
            hits = list(first.values())
        return hits[:k]

    def _allowed(self, only: Filter) -> Ids:
        after, before = time_to_columns(only.after)[0], time_to_columns(only.before)[0]
        rows = self._database.connection().execute(
            "SELECT id FROM message WHERE (?1 IS NULL OR sent_at >= ?1) AND (?2 IS NULL OR sent_at < ?2) "
            "AND (?3 IS NULL OR session_id != ?3)",
            (after, before, only.without_session),
        )
        return np.array([i for (i,) in rows], dtype=np.int64)


def _ranking(ids: Ids, scores: NDArray[np.float64], allowed: Ids | None) -> Ids:
    keep = scores > 0
    if allowed is not None:
        keep &= np.isin(ids, allowed)
    return ranked(ids[keep], scores[keep], DEPTH)
