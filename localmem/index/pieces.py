"""Pieces of messages and their vectors.

A long message says several things; one vector for all of it would say none of them. It is embedded in
pieces of whole sentences, and the file keeps one vector for each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import apsw
import numpy as np
from numpy.typing import NDArray

from localmem.index.columns import Rows
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


@dataclass(frozen=True, slots=True)
class Pieces:
    """p vectors of n messages, in order of row."""

    matrix: Vectors
    """Shape (p, dimension)."""
    row: Rows
    """Row of the message that each is a piece of, ascending, shape (p,)."""
    words: Rows
    """Weights, shape (p,)."""

    @classmethod
    def empty(cls, dimension: int) -> Self:
        """The pieces of an empty store."""
        rows = np.empty(0, np.int32)
        return cls(np.empty((0, dimension), np.float32), rows, rows)


class PieceReader:
    """Keeps a copy of one model's vectors in memory and goes on where it stopped."""

    def __init__(self, model_id: int, dimension: int) -> None:
        self._model_id = model_id
        self._last = 0
        self._count = 0
        self._matrix = np.empty((0, dimension), np.float32)
        self._message = np.empty(0, np.int64)
        self._words = np.empty(0, np.int32)

    def read(self, connection: apsw.Connection, ids: NDArray[np.int64]) -> Pieces:
        """The pieces of the messages ``ids`` (ascending); only new ones are read from the file."""
        rows: list[Any] = connection.execute(
            "SELECT id, message_id, words, embedding FROM vector WHERE id > ? AND model_id = ? ORDER BY id",
            (self._last, self._model_id),
        ).fetchall()
        if rows:
            self._last = rows[-1][0]
            self._append(rows)
        message, matrix = self._message, self._matrix[: self._count]
        words = self._words
        if len(message) and np.any(np.diff(message) < 0):
            # Two programs embedded at once: their messages arrived mixed.
            order = np.argsort(message, kind="stable")
            message, matrix, words = message[order], matrix[order], words[order]
        return Pieces(matrix, np.searchsorted(ids, message).astype(np.int32), words)

    def _append(self, rows: Sequence[Any]) -> None:
        fresh = np.frombuffer(b"".join(row[3] for row in rows), "<f4").reshape(len(rows), -1)
        needed = self._count + len(fresh)
        if needed > len(self._matrix):
            # A larger copy, so that a search under way keeps the array that it was given.
            matrix = np.empty((max(needed, 2 * self._count), fresh.shape[1]), np.float32)
            matrix[: self._count] = self._matrix[: self._count]
            self._matrix = matrix
        self._matrix[self._count : needed] = fresh
        self._count = needed
        self._message = np.concatenate([self._message, np.array([row[1] for row in rows], np.int64)])
        self._words = np.concatenate([self._words, np.array([row[2] for row in rows], np.int32)])
