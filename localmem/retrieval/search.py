"""Message search: one ranking over words, meaning, neighbourhood, speaker and time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime

import apsw
import numpy as np
from numpy.typing import NDArray

from localmem.index.columns import NO_DAY, Columns, day_of
from localmem.index.dense import Similarity, corrected, similarity
from localmem.index.embedding import EmbeddingQueue
from localmem.index.lexical import Scores, TermMatches
from localmem.index.mirror import View
from localmem.index.terms import term_ids
from localmem.models.protocols import Vectors
from localmem.retrieval.asked import read
from localmem.retrieval.ranking import Ranking, correct, lexical_scores, rank
from localmem.store import Database, SessionStore
from localmem.store.columns import time_to_columns
from localmem.types import Hit, Message


@dataclass(frozen=True, slots=True)
class Filter:
    """Which messages may be found."""

    after: datetime | None = None
    """Sent at this time or later."""
    before: datetime | None = None
    """Sent before this time."""
    without_session: int | None = None
    """Id of a session to leave out: the one that is being held."""
    without: frozenset[int] = frozenset()
    """Ids of messages to leave out: those that a person does not want used."""
    said: bool = False
    """Only what was said: what memory itself answered is no evidence, what it rested on is."""

    def __bool__(self) -> bool:
        return self != Filter()


NO_FILTER = Filter()
EVIDENCE = Filter(said=True)
"""What an answer may rest on."""

CANDIDATES = 100
"""Messages whose score is made exact, when the first look used a smaller form of the vectors."""
MARGIN = 0.03
"""Cosine by which that first look may be wrong about the best message of a session."""


class HybridSearch:
    """Ranks the messages of a store for a question."""

    def __init__(self, database: Database, queue: EmbeddingQueue) -> None:
        self._database = database
        self._sessions = SessionStore(database)
        self._queue = queue

    def search(
        self,
        query: str,
        k: int,
        only: Filter = NO_FILTER,
        *,
        asked_on: date | None = None,
        by_session: bool = False,
        exactly: bool = False,
    ) -> list[Hit]:
        """The ``k`` best messages, best first; equal scores by id. ``by_session``: the best of each session.

        ``asked_on`` is the day that relative dates in the query count from; None: the day of the newest
        message. ``exactly`` compares every vector in the file, however many there are: the measure for
        the rest. A message that has nothing to do with the query is not a hit.
        """
        view = self.view()
        if k < 1 or not query.strip() or not len(view.columns):
            return []
        every = exactly or by_session
        ranking, found = self.ranked(view, query, None if every else k, only, asked_on=asked_on)
        rows = _order(
            ranking.total, found & _among_best(ranking.total, found, len(found) if by_session else k)
        )
        if by_session:
            rows = rows[np.sort(np.unique(view.columns.session[rows], return_index=True)[1])]
        rows = rows[:k]
        return [
            Hit(
                message=message,
                score=float(ranking.total[row]),
                similarity=float(ranking.similarity.message[row]) if ranking.similarity.known[row] else 0.0,
                views=_views(ranking, row),
            )
            for row, message in self.messages(view, rows)
        ]

    def ranked(
        self, view: View, query: str, k: int | None, only: Filter = NO_FILTER, *, asked_on: date | None = None
    ) -> tuple[Ranking, NDArray[np.bool_]]:
        """The ranking of a view for a query, and which messages may be found under ``only``.

        The scores of those that may be among the ``k`` best are exact, with None all are; see
        :meth:`compare_exactly`. ``asked_on`` as in :meth:`search`.
        """
        asked = read(query, view.columns.names, asked_on or _newest_day(view.columns))
        words = lexical_scores(view.columns, self.matches(view, asked.terms))
        vector = self._queue.embedder.embed_query(asked.similar_to)
        near = similarity(view, view.pieces.cosines(vector), lexical=words[0])
        ranking = rank(view.columns, words, near, asked)
        found = ranking.found()
        if only:
            found &= self.allowed(view, only)
        if view.pieces.basis is not None:
            self.compare_exactly(view, ranking, found, vector, k)
        return ranking, found

    def compare_exactly(
        self, view: View, ranking: Ranking, found: NDArray[np.bool_], vector: Vectors, k: int | None
    ) -> None:
        """Make exact the scores of those that may be among the ``k`` best; of all, when it is None.

        The others are taken out of ``found``.
        """
        if k is not None:
            found &= _among_best(ranking.total, found, max(CANDIDATES, 3 * k))
        best = np.flatnonzero(found)
        rows = _deciding(view, ranking.similarity, best)
        ids, exact = self._queue.exact_cosines(view.columns.ids[rows].tolist(), vector)
        there = rows[np.isin(view.columns.ids[rows], ids)]
        if len(there):
            correct(ranking, best, corrected(view, ranking.similarity, there, exact, best))

    def view(self) -> View:
        """What is committed now."""
        return self._queue.mirror.view()

    def matches(self, view: View, words: tuple[str, ...]) -> TermMatches:
        """Where terms stand in a view, and their idf; of one that no message has, that of the rarest."""
        return TermMatches(view, words, term_ids(self._database.connection(), words))

    def similarity(self, view: View, text: str) -> Similarity:
        """How similar the messages of a view are to a text; past the threshold only nearly so."""
        return similarity(view, view.pieces.cosines(self._queue.embedder.embed_query(text)))

    def vector(self, view: View, text: str) -> Vectors:
        """Vector of a text in the coordinates of the view's pieces."""
        vector, basis = self._queue.embedder.embed_query(text), view.pieces.basis
        return vector if basis is None else np.asarray(vector @ basis, np.float32)

    def closeness(self, text: str, message_ids: Sequence[int]) -> dict[int, float]:
        """Cosine of the best piece of some messages with a text, names and all; without a vector: absent."""
        ids, cosines = self._queue.exact_cosines(message_ids, self._queue.embedder.embed_query(text))
        best: dict[int, float] = {}
        for message_id, cosine in zip(ids.tolist(), cosines.tolist(), strict=True):
            best[message_id] = max(cosine, best.get(message_id, -1.0))
        return best

    def messages(self, view: View, rows: NDArray[np.int64]) -> Iterator[tuple[int, Message]]:
        """The messages at rows of a view; those deleted by another process since then are left out."""
        ids = view.columns.ids[rows].tolist()
        messages = self._sessions.messages_by_id(ids)
        for row, message_id in zip(rows.tolist(), ids, strict=True):
            if message_id in messages:
                yield row, messages[message_id]

    def allowed(self, view: View, only: Filter) -> NDArray[np.bool_]:
        """Which messages of a view a filter lets through."""
        after, before = time_to_columns(only.after)[0], time_to_columns(only.before)[0]
        connection = self._database.connection()
        left_out = connection.execute("SELECT id FROM message WHERE session_id = ?", (only.without_session,))
        allowed = ~np.isin(view.columns.ids, [*_ids(left_out), *only.without])
        if only.said:
            recalled = connection.execute("SELECT id FROM message WHERE origin = 'recalled'")
            allowed &= ~np.isin(view.columns.ids, _ids(recalled))
        if after is not None or before is not None:
            sent = connection.execute(
                "SELECT id FROM message WHERE (?1 IS NULL OR sent_at >= ?1) AND (?2 IS NULL OR sent_at < ?2)",
                (after, before),
            )
            allowed &= np.isin(view.columns.ids, _ids(sent))
        return allowed


def _ids(found: apsw.Cursor) -> NDArray[np.int64]:
    return np.array(found.fetchall(), np.int64).ravel()


def _order(scores: Scores, which: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Rows by score, best first; equal ones by row."""
    rows = np.flatnonzero(which)
    return rows[np.lexsort((rows, -scores[rows]))]


def _among_best(scores: Scores, which: NDArray[np.bool_], k: int) -> NDArray[np.bool_]:
    """Rows whose score is no lower than the k-th best; a sort of few in place of one of all."""
    eligible = scores[which]
    if len(eligible) <= k:
        return which
    best: NDArray[np.bool_] = scores >= np.partition(eligible, -k)[-k]
    return best


def _deciding(view: View, near: Similarity, best: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows whose vectors decide the scores of ``best``: those, their neighbours, who may lead a session."""
    columns = view.columns
    there = np.zeros(columns.sessions, np.bool_)
    there[columns.session[best]] = True
    leading = np.flatnonzero(there[columns.session] & (near.message >= near.session - MARGIN))
    rows = np.unique(np.concatenate([best, leading, *(beside[best] for _, beside in columns.near)]))
    rows = rows[rows >= 0]
    return np.asarray(rows[view.known[rows]], np.intp)


def _newest_day(columns: Columns) -> date | None:
    newest = int(columns.day.max())
    return None if newest == NO_DAY else day_of(newest)


def _views(ranking: Ranking, row: int) -> tuple[str, ...]:
    """What found a message, in the words of ``search --json``."""
    parts = {
        "lexical": ranking.lexical[row] > 0,
        "dense": ranking.similarity.known[row] and ranking.similarity.message[row] > 0,
        "window": ranking.window_lexical[row] > ranking.lexical[row],
        "speaker": ranking.speaker[row],
    }
    return tuple(name for name, part in parts.items() if part)
