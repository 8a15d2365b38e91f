"""BM25 over messages: exact scores, appended to without a rebuild, shared between processes.

The truth is ``message_terms``, one row a message, written in the message's own transaction.
*Segments* (:mod:`localmem.index.segments`) hold ranges of it inverted. Frequencies and lengths are
summed over all of them at query time, so a score is that of one index over everything committed.
"""

from __future__ import annotations

import json
import math
import threading
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from localmem.index import segments
from localmem.index.postings import Ids, Postings, pack_terms
from localmem.index.tokens import query_terms, terms
from localmem.store import Database

K1 = 1.5
"""Saturation of term frequency."""
B = 0.75
"""How much a message's length counts."""

Scores = NDArray[np.float64]


class LexicalIndex:
    """BM25 search. Safe from several threads; sees what other processes have committed.

    Inside a transaction it answers from what was committed before.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._seen = (-1, -1, -1)
        self._segments: dict[int, Postings] = {}
        self._tail = Postings.build([])

    def add(self, texts: Mapping[int, str]) -> None:
        """Index messages (id -> searchable text), inside the transaction that stores them."""
        counted = {message_id: Counter(terms(text)) for message_id, text in texts.items()}
        distinct = json.dumps(sorted({term for counts in counted.values() for term in counts}))
        with self._database.atomic() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO term (text) SELECT value FROM json_each(?)", (distinct,)
            )
            ids: dict[str, int] = dict(
                connection.execute(
                    "SELECT text, id FROM term WHERE text IN (SELECT value FROM json_each(?))", (distinct,)
                )
            )
            connection.executemany(
                "INSERT INTO message_terms (message_id, length, terms) VALUES (?, ?, ?)",
                (
                    (message_id, counts.total(), pack_terms([ids[term] for term in counts], counts.values()))
                    for message_id, counts in counted.items()
                ),
            )

    def scores(self, query: str) -> tuple[Ids, Scores]:
        """Ids (ascending) and BM25 scores of all messages that share a term with ``query``.

        The idf is Lucene's, log(1 + (N - df + 0.5) / (df + 0.5)), which is never negative.
        """
        with self._lock:
            parts = self._refreshed()
        known = self._database.connection().execute(
            "SELECT id FROM term WHERE text IN (SELECT value FROM json_each(?)) ORDER BY id",
            (json.dumps(query_terms(query)),),
        )
        found = [[part.of(term) for part in parts] for (term,) in known]
        total = sum(len(part.documents) for part in parts)
        average = sum(int(part.lengths.sum()) for part in parts) / max(total, 1)
        ids, values = [np.empty(0, np.int64)], [np.empty(0)]
        for place, part in enumerate(parts):
            score = np.zeros(len(part.documents))
            for postings in found:
                frequency = sum(len(places) for places, _ in postings)
                idf = _idf(total, frequency)
                at, counts = postings[place]
                norm = K1 * (1 - B + B * part.lengths[at] / average)
                score[at] += idf * counts * (K1 + 1) / (counts + norm)
            hits = np.flatnonzero(score)
            ids.append(part.documents[hits])
            values.append(score[hits])
        return _ascending(np.concatenate(ids), np.concatenate(values))

    def weights(self, words: Sequence[str]) -> dict[str, float]:
        """The idf of each term of ``words``; of one that no message has, that of the rarest."""
        with self._lock:
            parts = self._refreshed()
        ids = dict(
            self._database.connection().execute(
                "SELECT text, id FROM term WHERE text IN (SELECT value FROM json_each(?))",
                (json.dumps(words),),
            )
        )
        total = sum(len(part.documents) for part in parts)
        return {
            word: _idf(total, sum(len(part.of(ids[word])[0]) for part in parts) if word in ids else 0)
            for word in words
        }

    def merge(self) -> None:
        """Cover the tail by segments and join small ones; scores stay the same."""
        with self._database.atomic() as connection:
            segments.merge(connection)

    def _refreshed(self) -> list[Postings]:
        """Postings of all that is committed, the uncovered tail last. The lock is held."""
        if self._database.connection().in_transaction:
            return [*self._segments.values(), self._tail]
        with self._database.snapshot() as connection:
            deletions, segment, last = connection.execute(
                "SELECT (SELECT value FROM counter WHERE name = 'deletions'), "
                "(SELECT coalesce(max(id), 0) FROM lexical_segment), "
                "(SELECT coalesce(max(message_id), 0) FROM message_terms)"
            ).get
            if (deletions, segment, last) != self._seen:
                stored = segments.spans(connection)
                after = self._seen[2]
                if (deletions, segment) != self._seen[:2]:
                    self._segments = {
                        i: self._segments.get(i) or segments.load(connection, i) for i, _, _ in stored
                    }
                    self._tail = Postings.build([])
                    after = 0
                fresh = [Postings.build(rows) for rows in segments.uncovered(connection, stored, after)]
                self._tail = Postings.joined([self._tail, *fresh])
                self._seen = (deletions, segment, last)
        return [*self._segments.values(), self._tail]


def _idf(total: int, frequency: int) -> float:
    return math.log1p((total - frequency + 0.5) / (frequency + 0.5))


def _ascending(ids: Ids, scores: Scores) -> tuple[Ids, Scores]:
    """By message id: segments lie in order, but the tail may have gaps between them."""
    order = np.argsort(ids, kind="stable")
    return ids[order], scores[order]
