"""Which model a store is embedded with, and the queue of messages and summaries that still need a vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localmem.errors import EmbeddingMismatch
from localmem.index.mirror import Mirror
from localmem.index.pieces import Piece, exact_cosines, pieces_of, store_pieces, weight_of
from localmem.index.reduction import compact
from localmem.index.summaries import (
    embed_summaries,
    index_summaries,
    reembed_summaries,
    summary_cosines,
    waiting_summaries,
)
from localmem.models.protocols import Embedder, Vectors
from localmem.paths import default_database
from localmem.store import Database, SessionStore

BATCH = 256
"""Messages embedded and committed together: the most that an interruption repeats."""


class EmbeddingQueue:
    """Embeds what was stored. Interrupted at any point, it goes on where it was.

    Raises :class:`EmbeddingMismatch` at construction when the store's vectors are another model's:
    vectors of two models are never compared.
    """

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self._sessions = SessionStore(database)
        self.embedder = embedder
        self._model_id = self._register()
        self.mirror = Mirror(database, self._model_id, embedder.dimension)

    def _register(self) -> int:
        with self._database.atomic() as connection:
            row = connection.execute(
                "SELECT id, name, fingerprint, dimension FROM embedding_model WHERE current"
            ).fetchone()
            if row is None:
                return _add_model(self._database, self.embedder, current=True)
        model_id, name, fingerprint, dimension = row
        if fingerprint != self.embedder.fingerprint:
            raise EmbeddingMismatch(
                f"This memory is embedded with {name} ({dimension} dimensions), but the embedder is now "
                f"{self.embedder.name} ({self.embedder.dimension} dimensions). Run `localmem build` to embed "
                f"it again with {self.embedder.name}, or `localmem models use embedder {name}` to go back."
            )
        return int(model_id)

    def exact_cosines(
        self, message_ids: Sequence[int], query: Vectors
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Message id and cosine of each piece of some messages with ``query``, from the file."""
        return exact_cosines(self._database.connection(), self._model_id, message_ids, query)

    def exact_summary_cosines(self, entry_ids: Sequence[int], query: Vectors) -> dict[int, float]:
        """Cosine with ``query`` of those of some summaries that have a vector of their own, from the file."""
        return summary_cosines(self._database.connection(), self._model_id, entry_ids, query)

    def pending(self) -> int:
        """How many messages wait for their vector; when none do, how many summaries.

        While messages wait, most summaries wait for nothing but them.
        """
        connection = self._database.connection()
        count: int = connection.execute("SELECT count(*) FROM pending_embedding").get
        return count or waiting_summaries(connection)

    def embed_next(self) -> int:
        """Embed one batch of messages in order of arrival, then what it can of the summaries.

        Returns how many got their vectors (or terms that were missing), 0 when none wait.
        """
        ids = [
            message_id
            for (message_id,) in self._database.connection().execute(
                "SELECT message_id FROM pending_embedding ORDER BY message_id LIMIT ?", (BATCH,)
            )
        ]
        if ids:
            pieces = _embed(self._sessions, self.embedder, ids)
            with self._database.atomic() as connection:
                store_pieces(connection, self._model_id, pieces)
                compact(connection, self._model_id)
                connection.executemany(
                    "DELETE FROM pending_embedding WHERE message_id = ?", ((i,) for i in ids)
                )
        indexed = index_summaries(self._database, BATCH)
        return len(ids) + indexed + embed_summaries(self._database, self.embedder, self._model_id)


def reembed(database: Database, embedder: Embedder, progress: Callable[[int, int], None]) -> None:
    """Embed the whole store with ``embedder``; the old vectors serve until the last new one is in.

    ``progress`` gets (messages done, messages in all). Interrupted, it goes on where it was.
    """
    sessions = SessionStore(database)
    with database.atomic() as connection:
        row = connection.execute(
            "SELECT id FROM embedding_model WHERE fingerprint = ?", (embedder.fingerprint,)
        ).fetchone()
        model_id = row[0] if row else _add_model(database, embedder, current=False)
    missing = "FROM message WHERE id NOT IN (SELECT message_id FROM vector WHERE model_id = ?1)"
    while True:
        ids = [
            i for (i,) in connection.execute(f"SELECT id {missing} ORDER BY id LIMIT {BATCH}", (model_id,))
        ]
        if ids:
            pieces = _embed(sessions, embedder, ids)
            with database.atomic():
                store_pieces(connection, model_id, pieces)
            _, total, _ = sessions.counts()
            left = connection.execute(f"SELECT count(*) {missing}", (model_id,)).get
            progress(total - left, total)
            continue
        if reembed_summaries(database, embedder, model_id):
            continue
        with database.atomic():
            if connection.execute(f"SELECT count(*) {missing}", (model_id,)).get:
                continue  # one arrived meanwhile
            connection.execute("UPDATE embedding_model SET current = (id = ?)", (model_id,))
            connection.execute("DELETE FROM embedding_model WHERE NOT current")
            connection.execute("DELETE FROM pending_embedding")
            connection.execute(
                "DELETE FROM pending_summary_vector WHERE entry_id IN (SELECT entry_id FROM summary_vector)"
            )
        return


def _add_model(database: Database, embedder: Embedder, *, current: bool) -> int:
    with database.atomic() as connection:
        connection.execute(
            "INSERT INTO embedding_model (name, fingerprint, dimension, current) VALUES (?, ?, ?, ?)",
            (embedder.name, embedder.fingerprint, embedder.dimension, int(current)),
        )
        return connection.last_insert_rowid()


def _embed(sessions: SessionStore, embedder: Embedder, ids: Sequence[int]) -> dict[int, list[Piece]]:
    """Message id -> its pieces."""
    messages = sessions.messages_by_id(ids)
    texts = {i: _windows(embedder, pieces_of(message)) for i, message in sorted(messages.items())}
    vectors = iter(embedder.embed_documents([text for pieces in texts.values() for text in pieces]))
    return {
        message_id: [Piece(next(vectors), weight_of(text)) for text in pieces]
        for message_id, pieces in texts.items()
    }


def _windows(embedder: Embedder, pieces: Sequence[str]) -> list[str]:
    """The pieces, those cut further that the model could not read whole."""
    return [part for piece in pieces for part in embedder.split(piece)]


def reembed_file(
    path: Path | None, embedder: Embedder, progress: Callable[[int, int], None], *, key: str | None = None
) -> None:
    """Embed a whole memory file with another model; ``progress`` gets (messages done, in all)."""
    database = Database(path or default_database(), key)
    try:
        reembed(database, embedder, progress)
    finally:
        database.close()
