"""Exact search over message vectors by inner product (vectors have length 1: cosine).

The truth is the table ``vector``, one row for each part of a message (a long one has several); the
matrix in memory is a copy that follows it. A message scores its best part.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from localmem.index.postings import Ids
from localmem.models.protocols import Vectors
from localmem.store import Database


class DenseIndex:
    """Vectors of one embedding model. Safe from several threads; sees what other processes commit."""

    def __init__(self, database: Database, model_id: int, dimension: int) -> None:
        self._database = database
        self._model_id = model_id
        self._dimension = dimension
        self._lock = threading.Lock()
        self._seen = (-1, 0)
        self._rows = 0
        self._messages = np.empty(0, np.int64)
        self._matrix = np.empty((0, dimension), np.float32)

    def add(self, vectors: Mapping[int, Vectors]) -> None:
        """Store message id -> vectors of its parts, shape (parts, dimension)."""
        with self._database.atomic() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO vector (message_id, model_id, part, embedding) "
                "SELECT id, ?2, ?3, ?4 FROM message WHERE id = ?1",  # it may have been deleted meanwhile
                (
                    (message_id, self._model_id, part, vector.astype("<f4").tobytes())
                    for message_id, rows in vectors.items()
                    for part, vector in enumerate(rows)
                ),
            )

    def scores(self, query: Vectors) -> tuple[Ids, NDArray[np.float64]]:
        """Message ids (ascending) and the cosine of each message's best part with ``query``."""
        with self._lock:
            self._refresh()
            messages, matrix = self._messages[: self._rows], self._matrix[: self._rows]
        similarity = matrix @ query
        if not len(messages):
            return messages, similarity.astype(np.float64)
        order = np.argsort(messages, kind="stable")
        ids, first = np.unique(messages[order], return_index=True)
        return ids, np.maximum.reduceat(similarity[order], first).astype(np.float64)

    def _refresh(self) -> None:
        """Follow what is committed; the lock is held."""
        if self._database.connection().in_transaction:
            return
        with self._database.snapshot() as connection:
            deletions, last = connection.execute(
                "SELECT (SELECT value FROM counter WHERE name = 'deletions'), "
                "(SELECT coalesce(max(id), 0) FROM vector)"
            ).get
            if deletions != self._seen[0]:
                self._rows, self._seen = 0, (deletions, 0)
            if last != self._seen[1]:
                self._append(connection, self._seen[1])
                self._seen = (deletions, last)

    def _append(self, connection: apsw.Connection, after: int) -> None:
        rows: list[Any] = connection.execute(
            "SELECT message_id, embedding FROM vector WHERE id > ? AND model_id = ? ORDER BY id",
            (after, self._model_id),
        ).fetchall()
        fresh = np.frombuffer(b"".join(row[1] for row in rows), "<f4").reshape(-1, self._dimension)
        needed = self._rows + len(fresh)
        if needed > len(self._matrix):
            # A larger copy, so that a search under way keeps the arrays that it was given.
            room = max(needed, 2 * self._rows)
            matrix, messages = np.empty((room, self._dimension), np.float32), np.empty(room, np.int64)
            matrix[: self._rows] = self._matrix[: self._rows]
            messages[: self._rows] = self._messages[: self._rows]
            self._matrix, self._messages = matrix, messages
        self._matrix[self._rows : needed] = fresh
        self._messages[self._rows : needed] = [row[0] for row in rows]
        self._rows = needed
