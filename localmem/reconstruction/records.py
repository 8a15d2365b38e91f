"""What one question can ask of the store, on one view of it; scores are kept by text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from localmem.index.columns import NO_DAY, Rows, day_of
from localmem.index.dense import similarity
from localmem.index.lexical import Scores, bm25
from localmem.retrieval.asked import Asked, read
from localmem.retrieval.ranking import Ranking
from localmem.retrieval.search import NO_FILTER, Filter, HybridSearch
from localmem.types import Message

EXACT = 100
"""Best messages whose hybrid score is exact, when the store is so large that the others' is not."""


class Records:
    """The records of a store for one question: messages by row, and their scores for texts."""

    def __init__(self, search: HybridSearch, only: Filter = NO_FILTER, asked_on: date | None = None) -> None:
        """``asked_on``: the day relative dates count from; None: the day of the newest message."""
        self._search = search
        self._only = only
        self.view = search.view()
        self.columns = self.view.columns
        newest = int(self.columns.day.max()) if len(self.columns) else NO_DAY
        self.asked_on = asked_on or (None if newest == NO_DAY else day_of(newest))
        self.allowed: NDArray[np.bool_] = (
            search.allowed(self.view, only) if only else np.ones(len(self.columns), np.bool_)
        )
        self._scores: dict[tuple[str, str], Scores] = {}
        self._messages: dict[int, Message] = {}
        self._rankings: dict[str, Ranking] = {}

    def __len__(self) -> int:
        return len(self.columns)

    def words(self, text: str) -> Scores:
        """BM25 of every message, 0 where no term occurs."""

        def score() -> Scores:
            return bm25(self.columns, self._search.matches(self.view, self.asked(text, ()).terms))

        return self._kept("words", text, score)

    def meaning(self, text: str) -> Scores:
        """Cosine of every message with a text."""
        return self._kept("meaning", text, lambda: self._search.similarity(self.view, text).message)

    def relevance(self, text: str) -> Scores:
        """The score of ``localmem search`` (:mod:`localmem.retrieval.ranking`); minus infinity: no hit."""

        def score() -> Scores:
            ranking, found = self._search.ranked(self.view, text, EXACT, self._only, asked_on=self.asked_on)
            self._rankings[text] = ranking
            return np.where(found, ranking.total, -np.inf).astype(np.float32)

        return self._kept("relevance", text, score)

    def ranking(self, text: str) -> Ranking:
        """The parts that ``relevance`` is the sum of."""
        self.relevance(text)
        return self._rankings[text]

    def coverage(self, text: str) -> Scores:
        """Share of a text's terms, weighted by idf and without speakers' names, that each message has."""

        def score() -> Scores:
            share = np.zeros(len(self.columns), np.float32)
            matches = self._search.matches(self.view, self.asked(text).terms)
            total = sum(matches.idf.values())
            for word, (rows, _) in matches.found.items():
                share[rows] += np.float32(matches.idf[word] / total)
            return share

        return self._kept("coverage", text, score)

    def overlap(self, words: Iterable[str]) -> NDArray[np.int64]:
        """How many of the terms each message has."""
        counts = np.zeros(len(self.columns), np.int64)
        for rows, _ in self._search.matches(self.view, tuple(dict.fromkeys(words))).found.values():
            counts[rows] += 1
        return counts

    def rarity(self, words: Sequence[str]) -> dict[str, float]:
        """The idf of terms."""
        return self._search.matches(self.view, tuple(words)).idf

    def shared(self, weights: dict[str, float]) -> Scores:
        """Sum of the weights of the terms that each message has."""
        total = np.zeros(len(self.columns), np.float32)
        for word, (rows, _) in self._search.matches(self.view, tuple(weights)).found.items():
            total[rows] += np.float32(weights[word])
        return total

    def asked(self, text: str, names: tuple[str, ...] | None = None) -> Asked:
        """How the search reads a text, with the speakers of this store."""
        return read(text, self.columns.names if names is None else names, self.asked_on)

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """One vector of length 1 for each of some rows: the mean of its pieces; zeros without any."""
        pieces = self.view.pieces
        order = np.unique(rows)
        at = pieces.places(order)
        made = np.zeros((len(order), pieces.matrix.shape[1]), np.float32)
        if len(at):
            start = np.flatnonzero(np.diff(pieces.row[at], prepend=-1))
            having = np.searchsorted(order, pieces.row[at[start]])
            made[having] = np.add.reduceat(pieces.weights[at, None] * pieces.matrix[at], start)
        made /= np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-9)
        return made[np.searchsorted(order, rows)]

    def vector(self, text: str) -> NDArray[np.float32]:
        """Vector of a text, comparable with :meth:`vectors`."""
        return self._search.vector(self.view, text)

    def along(self, direction: NDArray[np.float32]) -> Scores:
        """Inner product of every message's best piece with a vector; 0 without a vector."""
        near = similarity(self.view, self.view.pieces.matrix @ direction)
        return np.where(near.known, near.message, np.float32(0))

    def row(self, message_id: int) -> int | None:
        """A message's row; None for one that came later."""
        ids = self.columns.ids
        row = int(np.searchsorted(ids, message_id))
        return row if row < len(ids) and ids[row] == message_id else None

    def closeness(self, text: str, message_ids: Sequence[int]) -> dict[int, float]:
        """Cosine of some messages with a text; one without a vector is absent."""
        return self._search.closeness(text, message_ids)

    def ordered(self, scores: Scores, least: float = 0.0) -> NDArray[np.int64]:
        """Rows that may be found and score more than ``least``, best first; equal ones by row."""
        rows = np.flatnonzero(self.allowed & (scores > least))
        return rows[np.lexsort((rows, -scores[rows]))]

    def message(self, row: int) -> Message:
        """The message at a row. Raises :class:`KeyError` when another process has just deleted it."""
        if row not in self._messages:
            self.fetch([row])
        return self._messages[row]

    def fetch(self, rows: Iterable[int]) -> list[Message]:
        """The messages at rows, in that order; those just deleted by another process are left out."""
        wanted = list(rows)
        missing = [row for row in dict.fromkeys(wanted) if row not in self._messages]
        self._messages |= dict(self._search.messages(self.view, np.array(missing, np.int64)))
        return [self._messages[row] for row in wanted if row in self._messages]

    def turn(self, row: int) -> tuple[int, ...]:
        """The rows of the turn that a message belongs to, in order."""
        before, after = self._turn(row, self.columns.before), self._turn(row, self.columns.after)
        return (*reversed(before), row, *after)

    def _turn(self, row: int, step: Rows) -> list[int]:
        """The rows of the same turn in one direction, nearest first."""
        own, found = self.message(row).turn, []
        beside = int(step[row])
        while beside >= 0 and self.fetch([beside]) and self.message(beside).turn == own:
            found.append(beside)
            beside = int(step[beside])
        return found

    def _kept(self, kind: str, text: str, score: Callable[[], Scores]) -> Scores:
        key = (kind, text)
        if key not in self._scores:
            self._scores[key] = score()
        return self._scores[key]
