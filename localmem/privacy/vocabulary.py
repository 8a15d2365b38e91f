"""Terms that no message and no summary has any more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice

import apsw
import numpy as np
from numpy.typing import NDArray

_LISTS = (
    "SELECT terms FROM message_terms",
    "SELECT summary FROM summary_terms",
    "SELECT keywords FROM summary_terms",
)


def drop_unused_terms(connection: apsw.Connection) -> list[str]:
    """Delete the terms that nothing has; return them. Runs in the caller's transaction.

    A term is written with the first message or summary that has it and outlives them: others may share it,
    so what is unused is known only by looking at all of them.
    """
    used = used_terms(connection)
    known = np.array([i for (i,) in connection.execute("SELECT id FROM term")], np.int64)
    unused = json.dumps(np.setdiff1d(known, used).tolist())
    gone = "FROM term WHERE id IN (SELECT value FROM json_each(?))"
    words = [text for (text,) in connection.execute(f"SELECT text {gone}", (unused,))]
    connection.execute(f"DELETE {gone}", (unused,))
    return words


def used_terms(connection: apsw.Connection) -> NDArray[np.int64]:
    """Ids of the terms that a message or a summary has, ascending."""
    parts = [np.empty(0, np.int64)]
    for query in _LISTS:
        parts += [np.unique(batch) for batch in _batches(connection, query)]
    return np.unique(np.concatenate(parts))


def _batches(connection: apsw.Connection, query: str) -> Iterator[NDArray[np.int64]]:
    """Term ids of many rows at a time; each row holds ids, then as many counts."""
    cursor = connection.execute(query)
    while rows := [row[0] for row in islice(cursor, 20_000)]:
        lists = [np.frombuffer(row, "<i4") for row in rows]
        yield np.concatenate([row[: len(row) // 2] for row in lists]).astype(np.int64)
