"""Postings in the file: segments for ranges of message ids, and the rows that no segment covers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw
import numpy as np

from localmem.index.postings import Postings, TermsRow

SEGMENT = 4096
"""Messages. That many uncovered ones become a segment."""
FANOUT = 8
"""Neighbouring segments that become one."""
LARGEST = SEGMENT * FANOUT
"""Messages from which on a segment is joined no more. Joining takes five times the memory of the result: of
these 100 MB, of the next size a gigabyte, and a search for ten words spends 0.02 ms on each."""

_LAST = (1 << 63) - 1

Span = tuple[int, int, int]
"""A stored segment: its id, its first and its last message id."""


def spans(connection: apsw.Connection) -> list[Span]:
    """The stored segments by range; ranges never overlap."""
    return list(connection.execute("SELECT id, first_id, last_id FROM lexical_segment ORDER BY first_id"))


def load(connection: apsw.Connection, segment_id: int) -> Postings:
    """One segment's postings."""
    documents, lengths, terms, starts, places, counts = connection.execute(
        "SELECT documents, lengths, terms, starts, places, counts FROM lexical_segment WHERE id = ?",
        (segment_id,),
    ).get
    return Postings(
        np.frombuffer(documents, "<i8"),
        np.frombuffer(lengths, "<i4"),
        np.frombuffer(terms, "<i4"),
        np.frombuffer(starts, "<i8"),
        np.frombuffer(places, "<i4"),
        np.frombuffer(counts, "<i4"),
    )


def uncovered(connection: apsw.Connection, stored: list[Span], after: int = 0) -> Iterator[list[TermsRow]]:
    """Rows of ``message_terms`` above id ``after`` that lie in no segment: one list for each gap."""
    start = 0
    for first, last in [(first, last) for _, first, last in stored] + [(_LAST, _LAST)]:
        rows: list[Any] = connection.execute(
            "SELECT message_id, length, terms FROM message_terms WHERE message_id BETWEEN ? AND ? "
            "ORDER BY message_id",
            (max(start, after + 1), first - 1),
        ).fetchall()
        if rows:
            yield rows
        start = last + 1


def due(connection: apsw.Connection) -> bool:
    """Whether enough rows wait after the last segment to :func:`merge` them."""
    waiting: int = connection.execute(
        "SELECT count(*) FROM message_terms "
        "WHERE message_id > (SELECT coalesce(max(last_id), 0) FROM lexical_segment)"
    ).get
    return waiting >= SEGMENT


def merge(connection: apsw.Connection) -> bool:
    """Cover what is uncovered and join small neighbours; False when there was nothing to do.

    Runs inside the caller's transaction. A gap between segments (a message there was deleted) is
    covered whatever its size, so that its neighbours may be joined across it; rows after the last
    segment wait until they are :data:`SEGMENT`.
    """
    stored = spans(connection)
    end = stored[-1][2] if stored else 0
    changed = False
    for rows in uncovered(connection, stored):
        if rows[-1][0] < end or len(rows) >= SEGMENT:
            _save(connection, Postings.build(rows))
            changed = True
    while group := _joinable(connection):
        joined = Postings.joined([load(connection, segment_id) for segment_id in group])
        connection.executemany("DELETE FROM lexical_segment WHERE id = ?", ((i,) for i in group))
        _save(connection, joined)
        changed = True
    return changed


def _save(connection: apsw.Connection, postings: Postings) -> None:
    connection.execute(
        "INSERT INTO lexical_segment "
        "(first_id, last_id, messages, documents, lengths, terms, starts, places, counts) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            int(postings.documents[0]),
            int(postings.documents[-1]),
            len(postings.documents),
            postings.documents.astype("<i8").tobytes(),
            postings.lengths.astype("<i4").tobytes(),
            postings.terms.astype("<i4").tobytes(),
            postings.starts.astype("<i8").tobytes(),
            postings.places.astype("<i4").tobytes(),
            postings.counts.astype("<i4").tobytes(),
        ),
    )


def _joinable(connection: apsw.Connection) -> list[int]:
    """Ids of the first :data:`FANOUT` neighbours that are not :data:`LARGEST` yet, or nothing."""
    run: list[int] = []
    for segment_id, messages in connection.execute(
        "SELECT id, messages FROM lexical_segment ORDER BY first_id"
    ):
        run = [*run, segment_id] if messages < LARGEST else []
        if len(run) == FANOUT:
            return run
    return []
