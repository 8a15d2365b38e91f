"""Pieces of messages and their vectors.

A long message says several things; one vector for all of it would say none of them. It is embedded in
pieces of whole sentences, and the file keeps one vector for each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import apsw
import numpy as np
from numpy.typing import NDArray

from localmem.index.columns import Places, Rows
from localmem.index.reduction import Batch, basis_of, read_batches
from localmem.index.tokens import terms
from localmem.models.protocols import Vectors
from localmem.types import Message

PIECE = 35
"""Words. Whole sentences are gathered up to this length; a sentence of twice as many is cut."""

_SENTENCE = re.compile(r"(?<=[.!?。！？])[\"')\]]*\s+|\n+")


def pieces_of(message: Message) -> list[str]:
    """The texts to embed for a message: the speaker's name leads each, as in a transcript."""
    gathered: list[list[str]] = []
    for sentence in _SENTENCE.split(f"{message.text} {message.attachments}"):
        words = sentence.split()
        for start in range(0, len(words), 2 * PIECE):
            part = words[start : start + 2 * PIECE]
            if gathered and len(gathered[-1]) + len(part) <= PIECE:
                gathered[-1] += part
            else:
                gathered.append(part)
    lead = f"{message.speaker}: " if message.speaker else ""
    return [lead + " ".join(words) for words in gathered] or [lead + message.text]


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece's vector on its way into the file."""

    vector: Vectors
    words: int
    """Its length in terms: its weight among the pieces around it."""


def weight_of(text: str) -> int:
    """A piece's length in terms, at least 1."""
    return max(len(terms(text)), 1)


def store_pieces(connection: apsw.Connection, model_id: int, pieces: Mapping[int, Sequence[Piece]]) -> None:
    """Write the pieces of messages (by message id); those of a message deleted meanwhile are dropped."""
    connection.executemany(
        "INSERT OR IGNORE INTO vector (message_id, model_id, part, words, embedding) "
        "SELECT id, ?2, ?3, ?4, ?5 FROM message WHERE id = ?1",
        (
            (message_id, model_id, part, piece.words, piece.vector.astype("<f4").tobytes())
            for message_id, rows in pieces.items()
            for part, piece in enumerate(rows)
        ),
    )


@dataclass(frozen=True)  # without slots, for the cached properties
class Pieces:
    """p vectors of n messages, in order of row."""

    matrix: Vectors
    """Shape (p, dimension) or (p, basis.shape[1])."""
    row: Rows
    """Row of the message that each is a piece of, ascending, shape (p,)."""
    words: Rows
    """Weights, shape (p,)."""
    basis: Vectors | None
    """None: ``matrix`` holds the vectors themselves; else their coordinates in it."""

    def cosines(self, query: Vectors) -> NDArray[np.float32]:
        """Cosines of all pieces with a query vector; with a basis only nearly so. Shape (p,)."""
        reduced: Vectors = query if self.basis is None else np.asarray(query @ self.basis, np.float32)
        return np.asarray(self.matrix @ reduced, np.float32)

    def places(self, rows: NDArray[np.int64]) -> Places:
        """Where the pieces of the messages at ``rows`` (ascending) are, in order."""
        at = np.searchsorted(self.row, rows, side="left")
        end = np.searchsorted(self.row, rows, side="right")
        counts = end - at
        return np.repeat(at - np.append(0, np.cumsum(counts)[:-1]), counts) + np.arange(counts.sum())

    @cached_property
    def first(self) -> Places:
        """The first piece of each message that has any."""
        return np.flatnonzero(np.diff(self.row, prepend=-1))

    @cached_property
    def others(self) -> Places:
        """The pieces that are not the first of their message."""
        return np.flatnonzero(np.diff(self.row, prepend=-1) == 0)

    @cached_property
    def weights(self) -> NDArray[np.float32]:
        """``words`` as numbers to multiply with."""
        return self.words.astype(np.float32)

    @cached_property
    def rows(self) -> Places:
        """The row that each entry of ``first`` belongs to."""
        return self.row[self.first].astype(np.intp)

    @classmethod
    def empty(cls, dimension: int) -> Self:
        """The pieces of an empty store."""
        rows = np.empty(0, np.int32)
        return cls(np.empty((0, dimension), np.float32), rows, rows, None)


class PieceReader:
    """Keeps a copy of one model's vectors in memory and goes on where it stopped."""

    def __init__(self, model_id: int, dimension: int) -> None:
        self._model_id = model_id
        self._basis: Vectors | None = None
        self._forget(dimension)

    def read(self, connection: apsw.Connection, ids: NDArray[np.int64]) -> Pieces:
        """The pieces of the messages ``ids`` (ascending); only new ones are read from the file."""
        if self._basis is None:
            self._basis = basis_of(connection, self._model_id)
            if self._basis is not None:
                self._forget(self._basis.shape[1])
        for batch in read_batches(connection, self._model_id, self._basis, self._last):
            self._append(batch)
        message, matrix, words = self._message, self._matrix[: self._count], self._words
        if len(message) and np.any(np.diff(message) < 0):
            # Two programs embedded at once: their messages arrived mixed.
            order = np.argsort(message, kind="stable")
            message, matrix, words = message[order], matrix[order], words[order]
        return Pieces(matrix, np.searchsorted(ids, message).astype(np.int32), words, self._basis)

    def _forget(self, dimension: int) -> None:
        self._last = 0
        self._count = 0
        self._matrix = np.empty((0, dimension), np.float32)
        self._message = np.empty(0, np.int64)
        self._words = np.empty(0, np.int32)

    def _append(self, batch: Batch) -> None:
        needed = self._count + len(batch.vectors)
        if needed > len(self._matrix):
            # A larger copy, so that a search under way keeps the array that it was given.
            room = max(needed, self._count + self._count // 2)
            matrix = np.empty((room, batch.vectors.shape[1]), np.float32)
            matrix[: self._count] = self._matrix[: self._count]
            self._matrix = matrix
        self._matrix[self._count : needed] = batch.vectors
        self._count = needed
        self._last = batch.last_id
        self._message = np.concatenate([self._message, batch.messages])
        self._words = np.concatenate([self._words, batch.words])


def exact_cosines(
    connection: apsw.Connection, model_id: int, message_ids: Sequence[int], query: Vectors
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Message id and cosine with ``query`` of each piece of some messages, by message and part.

    sqlite-vec computes them inside the file. Messages deleted meanwhile are absent.
    """
    found: list[Any] = connection.execute(
        "SELECT message_id, 1 - vec_distance_cosine(embedding, ?1) FROM vector "
        "WHERE model_id = ?2 AND message_id IN (SELECT value FROM json_each(?3)) ORDER BY message_id, part",
        (query.astype("<f4").tobytes(), model_id, json.dumps(message_ids)),
    ).fetchall()
    ids = np.array([row[0] for row in found], np.int64)
    return ids, np.array([row[1] for row in found], np.float32)
