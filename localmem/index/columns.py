"""What ranking needs to know of each message beside its words and vectors, as columns in memory.

A *row* is a message's place in order of id. Neighbours are rows of the same session, which need not be
next to each other: sessions grow side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any, Self

import apsw
import numpy as np
from numpy.typing import NDArray

from localmem.index.marks import Mark
from localmem.store.columns import text_from_column, time_from_columns
from localmem.types import Role

NO_DAY = np.iinfo(np.int32).min
"""In ``Columns.day``: the message has no time."""
NONE = -1
"""In ``Columns.before`` and ``after``: there is no neighbour. As an index into a column with one zero
appended it reads that zero."""

KERNEL = (1.0, 0.75, 0.5)
"""Weight of a message and of its neighbours at distance one and two in its window."""
FULL = 8
"""Terms from which on a message is no mere "Thanks!"."""

Rows = NDArray[np.int32]
Places = NDArray[np.intp]


@dataclass(frozen=True)  # without slots, for the cached properties
class Columns:
    """n messages in order of id."""

    ids: NDArray[np.int64]
    session: Places
    """Number of the session, from 0 in order of first appearance."""
    before: Rows
    """Row of the message before it in its session, or ``NONE``."""
    after: Rows
    """Row of the message after it."""
    speaker: Rows
    """Number of the speaker's name, an index into ``names``."""
    user: NDArray[np.bool_]
    """Whether a person said it, not the assistant."""
    marks: NDArray[np.uint8]
    """:class:`localmem.index.marks.Mark` flags."""
    words: Rows
    """Length in terms."""
    day: Rows
    """Ordinal of the day it was sent in its own zone, or ``NO_DAY``."""
    names: tuple[str, ...]
    """Speakers' names, lowercased."""
    sessions: int
    """How many sessions."""

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def near(self) -> tuple[tuple[float, Places], ...]:
        """For each place in a window beside the message itself: its weight and the rows standing there."""
        found = []
        for step in (self.before.astype(np.intp), self.after.astype(np.intp)):
            rows = step
            for weight in KERNEL[1:]:
                found.append((weight, rows))
                rows = np.where(rows < 0, rows, step[rows])
        return tuple(found)

    def spread(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Sum of ``values`` over each window, weighted by :data:`KERNEL`, shape (n,)."""
        padded = np.append(values, np.float32(0))
        total: NDArray[np.float32] = np.float32(KERNEL[0]) * values
        for weight, rows in self.near:
            total += np.float32(weight) * padded.take(rows, mode="wrap")  # wrap: -1 is the zero
        return total

    @cached_property
    def average_words(self) -> float:
        """Mean length of a message in terms, never zero."""
        return max(float(self.words.mean()), 1e-9) if len(self) else 1.0

    @cached_property
    def window_words(self) -> NDArray[np.float32]:
        """Length of each window in terms."""
        return self.spread(self.words.astype(np.float32))

    @cached_property
    def average_window_words(self) -> float:
        """Mean of ``window_words``, never zero."""
        return max(float(self.window_words.mean(dtype=np.float64)), 1e-9) if len(self) else 1.0

    @cached_property
    def fullness(self) -> NDArray[np.float32]:
        """Length of each message as a share of :data:`FULL` terms, at most 1."""
        return np.minimum(self.words, FULL).astype(np.float32) / np.float32(FULL)

    @cached_property
    def asks(self) -> NDArray[np.float32]:
        """1 for each message that ends in a question, else 0."""
        return self._marked(Mark.ASKS)

    @cached_property
    def names_time(self) -> NDArray[np.float32]:
        """1 for each message that names a time, else 0."""
        return self._marked(Mark.TIME)

    def _marked(self, mark: Mark) -> NDArray[np.float32]:
        return ((self.marks & np.uint8(mark)) > 0).astype(np.float32)

    @classmethod
    def empty(cls) -> Self:
        """The columns of an empty store."""
        rows, flags = np.empty(0, np.int32), np.empty(0, np.bool_)
        marks = np.empty(0, np.uint8)
        places = np.empty(0, np.intp)
        return cls(np.empty(0, np.int64), places, rows, rows, rows, flags, marks, rows, rows, (), 0)


@dataclass(slots=True)
class ColumnReader:
    """Reads columns from the file and goes on where it stopped."""

    _columns: Columns = field(default_factory=Columns.empty)
    _sessions: dict[int, int] = field(default_factory=dict)
    _last: dict[int, int] = field(default_factory=dict)  # session number -> its last row
    _names: dict[str, int] = field(default_factory=dict)

    def read(self, connection: apsw.Connection) -> Columns:
        """The columns of all messages; only those new since the last call are read."""
        old = self._columns
        after_id = int(old.ids[-1]) if len(old) else 0
        rows: list[Any] = connection.execute(
            "SELECT m.id, m.session_id, m.role, m.speaker, m.sent_at, m.sent_zone, t.length, t.marks "
            "FROM message m JOIN message_terms t ON t.message_id = m.id WHERE m.id > ? ORDER BY m.id",
            (after_id,),
        ).fetchall()
        if not rows:
            return old
        start, count = len(old), len(rows)
        session = np.empty(count, np.intp)
        speaker = np.empty(count, np.int32)
        day = np.empty(count, np.int32)
        before = np.full(count, NONE, np.int32)
        after = np.concatenate([old.after, np.full(count, NONE, np.int32)])
        days: dict[tuple[str | None, int | None], int] = {}
        for place, (_, session_id, _, name, sent_at, zone, _, _) in enumerate(rows):
            number = self._sessions.setdefault(session_id, len(self._sessions))
            session[place] = number
            speaker[place] = self._names.setdefault(text_from_column(name).lower(), len(self._names))
            if number in self._last:
                before[place] = self._last[number]
                after[self._last[number]] = start + place
            self._last[number] = start + place
            key = (sent_at, zone)
            if key not in days:
                days[key] = _ordinal(sent_at, zone)
            day[place] = days[key]
        self._columns = Columns(
            ids=np.concatenate([old.ids, np.array([row[0] for row in rows], np.int64)]),
            session=np.concatenate([old.session, session]),
            before=np.concatenate([old.before, before]),
            after=after,
            speaker=np.concatenate([old.speaker, speaker]),
            user=np.concatenate([old.user, np.array([row[2] == Role.USER for row in rows])]),
            marks=np.concatenate([old.marks, np.array([row[7] for row in rows], np.uint8)]),
            words=np.concatenate([old.words, np.array([row[6] for row in rows], np.int32)]),
            day=np.concatenate([old.day, day]),
            names=tuple(self._names),
            sessions=len(self._sessions),
        )
        return self._columns


def _ordinal(sent_at: str | None, zone: int | None) -> int:
    moment = time_from_columns(sent_at, zone)
    return NO_DAY if moment is None else moment.date().toordinal()


def day_of(ordinal: int) -> date:
    """The day that an entry of ``Columns.day`` stands for."""
    return date.fromordinal(ordinal)
