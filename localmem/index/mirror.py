"""The searchable state of the file in memory: one consistent view, that follows every commit."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property

import apsw
import numpy as np
from numpy.typing import NDArray

from localmem.index import segments
from localmem.index.columns import ColumnReader, Columns, Rows
from localmem.index.pieces import PieceReader, Pieces
from localmem.index.postings import Postings
from localmem.index.units import UnitReader, Units
from localmem.store import Database


@dataclass(frozen=True)  # without slots, for the cached properties
class View:
    """What was committed at one moment."""

    columns: Columns
    parts: tuple[tuple[Postings, Rows], ...]
    """Postings of all messages, each message in one part, with the rows of the part's messages."""
    pieces: Pieces

    @cached_property
    def weight(self) -> NDArray[np.float32]:
        """Length in terms of each message's pieces, 0 where it has no vector yet, shape (n,)."""
        weight = np.zeros(len(self.columns), np.float32)
        np.add.at(weight, self.pieces.row, self.pieces.weights)
        return weight

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Which messages have a vector, shape (n,)."""
        return self.weight > 0

    @cached_property
    def complete(self) -> bool:
        """Whether every message has a vector."""
        return bool(self.known.all())

    @cached_property
    def around(self) -> NDArray[np.float32]:
        """``weight`` summed over each window, shape (n,)."""
        return self.columns.spread(self.weight)


class Mirror:
    """Hands out views. Safe from several threads; sees what other processes have committed.

    Inside a transaction the view is of what was committed before.
    """

    def __init__(self, database: Database, model_id: int, dimension: int) -> None:
        self._database = database
        self._model_id = model_id
        self._dimension = dimension
        self._lock = threading.Lock()
        self._forget()
        self._forget_units()

    def view(self) -> View:
        """The state now."""
        with self._lock:
            if not self._database.connection().in_transaction:
                try:
                    with self._database.snapshot() as connection:
                        self._follow(connection)
                except BaseException:  # half followed: the next call reads everything anew
                    self._forget()
                    raise
            return self._view

    def units(self) -> tuple[View, Units]:
        """The state now, with the summaries; those are read when they are first asked for."""
        with self._lock:
            if not self._database.connection().in_transaction:
                try:
                    with self._database.snapshot() as connection:
                        self._follow(connection)
                        self._follow_units(connection)
                except BaseException:  # as in view()
                    self._forget()
                    self._forget_units()
                    raise
            return self._units_view, self._units

    def _forget_units(self) -> None:
        self._units_seen = (-1, -1, -1)
        self._units_view = View(Columns.empty(), (), Pieces.empty(self._dimension))
        self._unit_reader = UnitReader(self._model_id, self._dimension)
        self._units = Units.empty(self._dimension)

    def _follow_units(self, connection: apsw.Connection) -> None:
        seen = connection.execute(
            "SELECT (SELECT value FROM counter WHERE name = 'summary_deletions'), "
            "(SELECT coalesce(max(id), 0) FROM summary_terms), "
            "(SELECT coalesce(max(id), 0) FROM summary_vector)"
        ).get
        if seen == self._units_seen and self._view is self._units_view:
            return
        self._units = self._unit_reader.read(connection, self._view.columns.ids, self._view.pieces.basis)
        self._units_seen, self._units_view = seen, self._view

    def _forget(self) -> None:
        self._seen = (-1, -1, -1, -1)
        self._columns = ColumnReader()
        self._pieces = PieceReader(self._model_id, self._dimension)
        self._segments: dict[int, Postings] = {}
        self._rows: dict[int, Rows] = {}
        self._tail = Postings.build([])
        self._view = View(Columns.empty(), (), Pieces.empty(self._dimension))

    def _follow(self, connection: apsw.Connection) -> None:
        deletions, segment, message, _ = seen = connection.execute(
            "SELECT (SELECT value FROM counter WHERE name = 'deletions'), "
            "(SELECT coalesce(max(id), 0) FROM lexical_segment), "
            "(SELECT coalesce(max(message_id), 0) FROM message_terms), "
            "(SELECT coalesce(max(id), 0) FROM vector)"
        ).get
        if seen == self._seen:
            return
        if deletions != self._seen[0]:
            kept = self._segments
            self._forget()
            self._segments = kept  # a segment never changes; the one around a deletion is gone
            self._seen = (deletions, -1, 0, 0)
        if (segment, message) != self._seen[1:3]:
            self._follow_terms(connection, segment)
        columns = self._columns.read(connection)
        pieces = self._pieces.read(connection, columns.ids)
        for identity, segment_postings in self._segments.items():
            if identity not in self._rows:
                self._rows[identity] = _rows(columns, segment_postings)
        parts = [(postings, self._rows[identity]) for identity, postings in self._segments.items()]
        self._view = View(columns, (*parts, (self._tail, _rows(columns, self._tail))), pieces)
        self._seen = seen

    def _follow_terms(self, connection: apsw.Connection, segment: int) -> None:
        stored = segments.spans(connection)
        after = self._seen[2]
        if segment != self._seen[1]:
            self._segments = {i: self._segments.get(i) or segments.load(connection, i) for i, _, _ in stored}
            self._tail = Postings.build([])
            after = 0
        fresh = [Postings.build(rows) for rows in segments.uncovered(connection, stored, after)]
        self._tail = Postings.joined([self._tail, *fresh])


def _rows(columns: Columns, postings: Postings) -> Rows:
    return np.searchsorted(columns.ids, postings.documents).astype(np.int32)
