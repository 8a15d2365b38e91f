"""The units of session search in memory: what each turn's summary says, and how near it is to a query.

A *row* is a unit's place in order of session and turn, so that the same summaries rank the same, in whatever
order they were made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import apsw
import numpy as np
from numpy.typing import NDArray

from localmem.index.columns import Places, Rows
from localmem.index.pieces import Pieces
from localmem.index.postings import Counts, Ids, Postings
from localmem.models.protocols import Vectors

PART = 4096
"""Units that were added one by one before they become a part of their own."""
GONE = -1
"""Row of a unit that is no more."""

Weighted = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of all units, in parts as they were read."""

    lengths: Counts
    """Terms of each unit, repeats included, shape (n,)."""
    parts: tuple[tuple[Postings, Rows], ...]
    """Postings, and the row of each of their documents or ``GONE``."""

    def of(self, term: int) -> tuple[Counts, Counts]:
        """Rows and frequencies of the units that have a term."""
        rows, counts = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        for postings, part_rows in self.parts:
            places, frequencies = postings.of(term)
            found = part_rows[places]
            alive = found != GONE
            rows.append(found[alive])
            counts.append(frequencies[alive])
        return np.concatenate(rows), np.concatenate(counts)


@dataclass(frozen=True, slots=True)
class Units:
    """n units in s sessions, as they were committed at one moment."""

    entries: Ids
    """Ids of the layer entries, shape (n,)."""
    turn: Rows
    """Number of the turn in its session, shape (n,)."""
    session: Places
    """Number of the session, from 0 in order of id, shape (n,)."""
    sessions: Ids
    """Ids of the sessions, shape (s,)."""
    summary: Field
    keywords: Field
    phrases: Field
    """Whole keywords, by :func:`localmem.index.phrases.numbers_of`."""
    messages: Places
    """Rows of the messages of all turns, as they were said; see ``owner``."""
    owner: Places
    """The unit that each of ``messages`` belongs to."""
    norms: Weighted
    """Length of the weighted sum of its messages' vectors; 0 where a unit is no such mean, shape (n,)."""
    own: Places
    """Units that have a vector of their own, shape (m,)."""
    vectors: Vectors
    """Those, shape (m, dimension), or as ``Pieces.matrix`` in its basis."""

    def __len__(self) -> int:
        return len(self.entries)

    def with_any(self, messages: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which units are made of at least one of the messages marked, shape (n,)."""
        return np.bincount(self.owner, messages[self.messages], len(self)) > 0

    def matches(self, phrases: Ids, which: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """How many of these whole keywords each session has, in all its units or in ``which``, shape (s,)."""
        counts = np.zeros(len(self.sessions), np.int64)
        for phrase in phrases.tolist():
            rows, _ = self.phrases.of(phrase)
            rows = rows if which is None else rows[which[rows]]
            counts[np.unique(self.session[rows])] += 1
        return counts

    def cosines(self, said: Weighted, own: Weighted) -> Weighted:
        """Cosine of each unit with a query, 0 where its vector is not there yet, shape (n,).

        ``said``: of each message the cosines of its pieces times their lengths (:func:`weighted`); ``own``:
        cosines of ``vectors``.
        """
        sums = np.bincount(self.owner, weights=said[self.messages], minlength=len(self))
        cosines = np.divide(sums, self.norms, out=np.zeros(len(self)), where=self.norms > 0)
        cosines[self.own] = own
        return cosines

    @classmethod
    def empty(cls, dimension: int) -> Self:
        """The units of an empty store."""
        ids, rows, places = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.intp)
        field = Field(rows, ())
        vectors = np.empty((0, dimension), np.float32)
        return cls(ids, rows, places, ids, field, field, field, places, places, np.empty(0), places, vectors)


def weighted(pieces: Pieces, cosines: NDArray[np.float32], messages: int) -> Weighted:
    """Of each message the cosines of its pieces times their lengths, shape (messages,)."""
    return np.bincount(pieces.row, cosines * pieces.weights, messages).astype(np.float64)


class UnitReader:
    """Reads units from the file and goes on where it stopped.

    It holds them in order of arrival, and puts them in order for each view.
    """

    def __init__(self, model_id: int, dimension: int) -> None:
        self._model_id = model_id
        self._dimension = dimension
        self._forget()

    def _forget(self) -> None:
        self._gone = 0
        self._ids = np.empty(0, np.int64)  # of summary_terms, ascending
        self._entries = np.empty(0, np.int64)
        self._session = np.empty(0, np.int64)
        self._turn = np.empty(0, np.int32)
        self._lengths = np.empty((2, 0), np.int32)
        self._messages = np.empty(0, np.int64)
        self._sizes = np.empty(0, np.int64)  # how many of _messages are each unit's
        self._parts: list[tuple[Postings, Postings, Postings]] = []
        self._forget_vectors(None)

    def _forget_vectors(self, basis: Vectors | None) -> None:
        self._basis = basis
        self._last_vector = 0
        self._norms = np.zeros(len(self._ids))
        self._own = np.empty(0, np.int64)  # ids of their entries
        self._vectors = np.empty((0, self._dimension if basis is None else basis.shape[1]), np.float32)

    def read(self, connection: apsw.Connection, message_ids: Ids, basis: Vectors | None) -> Units:
        """All units, over messages ``message_ids`` (ascending); only new ones are read from the file."""
        gone: int = connection.execute("SELECT value FROM counter WHERE name = 'summary_deletions'").get
        if gone != self._gone and len(self._ids):
            self._drop_deleted(connection)
        self._gone = gone
        self._read_terms(connection)
        self._read_vectors(connection, basis)
        return self._units(message_ids)

    def _drop_deleted(self, connection: apsw.Connection) -> None:
        left = np.array([i for (i,) in connection.execute("SELECT id FROM summary_terms")], np.int64)
        alive = np.isin(self._ids, left)
        if 2 * alive.sum() < len(alive):  # most of what is held is gone: all is read anew, without holes
            self._forget()
            return
        self._messages = self._messages[np.repeat(alive, self._sizes)]
        self._ids, self._entries = self._ids[alive], self._entries[alive]
        self._session, self._turn = self._session[alive], self._turn[alive]
        self._lengths, self._sizes = self._lengths[:, alive], self._sizes[alive]
        self._norms = self._norms[alive]
        there = np.isin(self._own, self._entries)
        self._own, self._vectors = self._own[there], self._vectors[there]

    def _read_terms(self, connection: apsw.Connection) -> None:
        rows: list[Any] = connection.execute(
            "SELECT s.id, s.entry_id, t.session_id, t.number, s.messages, s.summary_length, "
            "s.keywords_length, s.summary, s.keywords, s.phrases FROM summary_terms s "
            "JOIN layer_entry e ON e.id = s.entry_id JOIN turn t ON t.id = e.turn_id "
            "WHERE s.id > ? ORDER BY s.id",
            (int(self._ids[-1]) if len(self._ids) else 0,),
        ).fetchall()
        if not rows:
            return
        ids, entries, session, turn, messages, words, keys, summary, keywords, phrases = zip(
            *rows, strict=True
        )
        documents, lengths = np.array(ids, np.int64), np.array([words, keys], np.int32)
        self._ids = np.concatenate([self._ids, documents])
        self._entries = np.concatenate([self._entries, np.array(entries, np.int64)])
        self._session = np.concatenate([self._session, np.array(session, np.int64)])
        self._turn = np.concatenate([self._turn, np.array(turn, np.int32)])
        self._lengths = np.concatenate([self._lengths, lengths], axis=1)
        self._messages = np.concatenate([self._messages, np.frombuffer(b"".join(messages), "<i8")])
        self._sizes = np.concatenate([self._sizes, _sizes(messages)])
        self._norms = np.concatenate([self._norms, np.zeros(len(rows))])
        part = (
            _terms(documents, lengths[0], summary),
            _terms(documents, lengths[1], keywords),
            _phrases(documents, phrases),
        )
        if self._parts and len(self._parts[-1][0].documents) < PART:
            before = self._parts.pop()
            part = (
                Postings.joined([before[0], part[0]]),
                Postings.joined([before[1], part[1]]),
                Postings.joined([before[2], part[2]]),
            )
        self._parts.append(part)

    def _read_vectors(self, connection: apsw.Connection, basis: Vectors | None) -> None:
        if (basis is None) != (self._basis is None):
            self._forget_vectors(basis)
        rows: list[Any] = connection.execute(
            "SELECT id, entry_id, norm, embedding FROM summary_vector "
            "WHERE id > ? AND model_id = ? ORDER BY id",
            (self._last_vector, self._model_id),
        ).fetchall()
        if not rows:
            return
        self._last_vector = rows[-1][0]
        means = [row for row in rows if row[3] is None]
        self._norms[self._places(np.array([row[1] for row in means], np.int64))] = [row[2] for row in means]
        own = [row for row in rows if row[3] is not None]
        vectors = np.frombuffer(b"".join(row[3] for row in own), "<f4").reshape(len(own), self._dimension)
        self._own = np.concatenate([self._own, np.array([row[1] for row in own], np.int64)])
        self._vectors = np.concatenate([self._vectors, vectors if basis is None else vectors @ basis])

    def _places(self, entries: Ids) -> Places:
        """Where the units of some entries are, in order of arrival."""
        order = np.argsort(self._entries)
        return order[np.searchsorted(self._entries, entries, sorter=order)]

    def _units(self, message_ids: Ids) -> Units:
        order = np.lexsort((self._turn, self._session))
        row = np.empty(len(order), np.int32)
        row[order] = np.arange(len(order), dtype=np.int32)
        sessions, session = np.unique(self._session[order], return_inverse=True)
        rows = [self._rows(part[0].documents, row) for part in self._parts]
        lengths = (*self._lengths[:, order], np.empty(0, np.int32))
        summary, keywords, phrases = (
            Field(of, tuple((part[number], at) for part, at in zip(self._parts, rows, strict=True)))
            for number, of in enumerate(lengths)
        )
        return Units(
            entries=self._entries[order],
            turn=self._turn[order],
            session=session,
            sessions=sessions,
            summary=summary,
            keywords=keywords,
            phrases=phrases,
            messages=np.searchsorted(message_ids, self._messages),
            owner=np.repeat(row, self._sizes).astype(np.intp),
            norms=self._norms[order],
            own=row[self._places(self._own)].astype(np.intp),
            vectors=self._vectors,
        )

    def _rows(self, documents: Ids, row: Rows) -> Rows:
        places = np.searchsorted(self._ids, documents)
        alive = np.isin(documents, self._ids)
        rows = np.full(len(documents), GONE, np.int32)
        rows[alive] = row[places[alive]]
        return rows


def _sizes(blobs: Sequence[bytes]) -> Ids:
    """How many entries of eight bytes each blob has."""
    return np.array([len(blob) for blob in blobs], np.int64) // 8


def _terms(documents: Ids, lengths: Counts, blobs: Sequence[bytes]) -> Postings:
    """Postings of a field; each blob as :func:`localmem.index.postings.pack_terms` made it."""
    sizes = _sizes(blobs)
    flat = np.frombuffer(b"".join(blobs), "<i4")
    first = np.repeat(np.tile([True, False], len(blobs)), np.repeat(sizes, 2))
    places = np.repeat(np.arange(len(blobs), dtype=np.int32), sizes)
    return Postings.inverted(documents, lengths, flat[first], places, flat[~first])


def _phrases(documents: Ids, blobs: Sequence[bytes]) -> Postings:
    """Postings of whole keywords; each blob holds their numbers."""
    sizes = _sizes(blobs)
    flat = np.frombuffer(b"".join(blobs), "<i8")
    places = np.repeat(np.arange(len(blobs), dtype=np.int32), sizes)
    return Postings.inverted(documents, sizes.astype(np.int32), flat, places, np.ones(len(flat), np.int32))
