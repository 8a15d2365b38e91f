"""A smaller form of many vectors: coordinates in the directions that hold most of them.

Past :data:`THRESHOLD` pieces a full comparison takes longer than a keystroke. The vectors are then kept
in memory by their coordinates in the first :data:`DIMENSIONS` eigenvectors of their second moment (an
uncentred PCA: inner products stay inner products). The best candidates are compared again exactly,
with the vectors in the file. *Blocks* hold the coordinates of ranges of vectors, for a quick start; they are
made from the table ``vector`` and can be made again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from localmem.models.protocols import Vectors

THRESHOLD = 20_000
"""Pieces. Fewer are compared in full: 2 ms at 384 dimensions on one core."""
DIMENSIONS = 128
"""Kept of a vector's coordinates."""
SAMPLE = 20_000
"""Vectors that the directions are found from."""
BLOCK = 4096
"""Vectors that no block covers before they become one."""

_LAST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Batch:
    """Vectors read from the file, whole or reduced."""

    last_id: int
    """Highest id of the table ``vector`` among them."""
    messages: NDArray[np.int64]
    words: NDArray[np.int32]
    vectors: Vectors


def basis_of(connection: apsw.Connection, model_id: int) -> Vectors | None:
    """The directions, shape (dimension, DIMENSIONS); None while the store is small."""
    row = connection.execute("SELECT basis FROM embedding_model WHERE id = ?", (model_id,)).get
    return None if row is None else np.frombuffer(row, "<f4").reshape(-1, DIMENSIONS)


def read_batches(
    connection: apsw.Connection, model_id: int, basis: Vectors | None, after: int
) -> Iterator[Batch]:
    """The vectors above id ``after`` in order of id, reduced when there is a basis."""
    start = after + 1
    blocks = _blocks(connection, model_id) if basis is not None else []
    for block_id, first, last in [*blocks, (0, _LAST, _LAST)]:
        if last < start:
            continue
        rows = _rows(connection, model_id, start, first - 1)
        if rows:
            yield _batch(rows, basis)
        if block_id:
            messages, words, reduced = connection.execute(
                "SELECT messages, words, reduced FROM vector_block WHERE id = ?", (block_id,)
            ).get
            vectors = np.frombuffer(reduced, "<f2").reshape(-1, DIMENSIONS).astype(np.float32)
            # Of those that were read one by one, before the block was made, it may hold the last ones.
            new = slice(_count(connection, model_id, first, after), None)
            yield Batch(
                last, np.frombuffer(messages, "<i8")[new], np.frombuffer(words, "<i4")[new], vectors[new]
            )
            start = last + 1


def compact(connection: apsw.Connection, model_id: int) -> None:
    """Find the directions when the store has grown large, and cover what no block covers.

    Runs inside the caller's transaction. A gap (a message there was deleted) is covered whatever its
    size; vectors after the last block wait until they are :data:`BLOCK`.
    """
    basis = basis_of(connection, model_id)
    if basis is None:
        if not connection.execute(
            "SELECT 1 FROM vector WHERE model_id = ? LIMIT 1 OFFSET ?", (model_id, THRESHOLD - 1)
        ).get:
            return
        basis = _find_basis(connection, model_id)
    blocks = _blocks(connection, model_id)
    start = 1
    for _, first, last in [*blocks, (0, _LAST, _LAST)]:
        inner = first < _LAST
        if inner or _count(connection, model_id, start, first - 1) >= BLOCK:
            while rows := _rows(connection, model_id, start, first - 1, limit=4 * BLOCK):
                _save(connection, model_id, rows, basis)
                start = rows[-1][0] + 1
        start = last + 1


def _find_basis(connection: apsw.Connection, model_id: int) -> Vectors:
    rows: list[Any] = connection.execute(
        "SELECT embedding FROM vector WHERE model_id = ? ORDER BY id LIMIT ?", (model_id, SAMPLE)
    ).fetchall()
    sample = np.frombuffer(b"".join(row[0] for row in rows), "<f4").reshape(len(rows), -1)
    _, directions = np.linalg.eigh(sample.T.astype(np.float64) @ sample)
    basis: Vectors = directions[:, ::-1][:, :DIMENSIONS].astype(np.float32)
    connection.execute(
        "UPDATE embedding_model SET basis = ? WHERE id = ?", (basis.astype("<f4").tobytes(), model_id)
    )
    return basis


def _blocks(connection: apsw.Connection, model_id: int) -> list[tuple[int, int, int]]:
    return list(
        connection.execute(
            "SELECT id, first_id, last_id FROM vector_block WHERE model_id = ? ORDER BY first_id", (model_id,)
        )
    )


def _count(connection: apsw.Connection, model_id: int, first: int, last: int) -> int:
    count: int = connection.execute(
        "SELECT count(*) FROM vector WHERE model_id = ? AND id BETWEEN ? AND ?", (model_id, first, last)
    ).get
    return count


def _rows(connection: apsw.Connection, model_id: int, first: int, last: int, limit: int = -1) -> list[Any]:
    return connection.execute(
        "SELECT id, message_id, words, embedding FROM vector "
        "WHERE id BETWEEN ? AND ? AND model_id = ? ORDER BY id LIMIT ?",
        (first, last, model_id, limit),
    ).fetchall()


def _batch(rows: Sequence[Any], basis: Vectors | None) -> Batch:
    vectors = np.frombuffer(b"".join(row[3] for row in rows), "<f4").reshape(len(rows), -1)
    return Batch(
        last_id=rows[-1][0],
        messages=np.array([row[1] for row in rows], np.int64),
        words=np.array([row[2] for row in rows], np.int32),
        vectors=vectors if basis is None else vectors @ basis,
    )


def _save(connection: apsw.Connection, model_id: int, rows: Sequence[Any], basis: Vectors) -> None:
    batch = _batch(rows, basis)
    connection.execute(
        "INSERT INTO vector_block "
        "(model_id, first_id, last_id, first_message, last_message, messages, words, reduced) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            model_id,
            rows[0][0],
            batch.last_id,
            int(batch.messages.min()),
            int(batch.messages.max()),
            batch.messages.astype("<i8").tobytes(),
            batch.words.astype("<i4").tobytes(),
            batch.vectors.astype("<f2").tobytes(),
        ),
    )
