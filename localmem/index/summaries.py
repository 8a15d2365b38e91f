"""What makes summaries findable: their terms, written with them, and their vectors, which follow.

A *unit* is a turn's summary with its keywords (APDMem, Appendix G). The vector of an extractive one is the
mean of its messages' vectors, weighted by their length: it finds as much as a vector of the summary's own
text (EXPERIMENTS.md) and needs no embedding. A model-written one is embedded.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import apsw
import numpy as np

from localmem.entries import Entry, Summary
from localmem.index.phrases import numbers_of, phrase_of
from localmem.index.postings import pack_terms
from localmem.index.terms import with_new_ids
from localmem.index.tokens import terms
from localmem.models.protocols import Embedder, Vectors
from localmem.store import Database
from localmem.store.layers import LayerStore

BATCH = 256
"""Summaries indexed or embedded together, where that is not done with what they were made from."""


def index_summaries(database: Database, limit: int = -1) -> int:
    """Write the terms of those summaries that have none; return how many there were.

    Called in the transaction that stores them; what another program stored without is found later.
    """
    if not _first(database.connection(), "pending_summary_terms", 1):
        return 0
    with database.atomic() as connection:
        ids = _first(connection, "pending_summary_terms", limit)
        fields = [_fields(entry) for entry in LayerStore(database).entries_by_id(ids).values()]
        messages = _messages(connection, ids)
        known = with_new_ids(
            connection, {term for _, *both, _ in fields for counts in both for term in counts}
        )
        connection.executemany(
            "INSERT INTO summary_terms "
            "(entry_id, messages, summary_length, summary, keywords_length, keywords, phrases) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    entry.id,
                    np.array(messages[entry.id], "<i8").tobytes(),
                    summary.total(),
                    _packed(summary, known),
                    keywords.total(),
                    _packed(keywords, known),
                    numbers_of(phrases).tobytes(),
                )
                for entry, summary, keywords, phrases in fields
            ),
        )
    return len(ids)


def embed_summaries(database: Database, embedder: Embedder, model_id: int) -> int:
    """Give the first summaries that wait for it their vectors; return how many got one.

    Those wait on whose messages do: they come in the order of their messages.
    """
    ids = _first(database.connection(), "pending_summary_vector", BATCH)
    return _embed(database, embedder, model_id, ids) if ids else 0


def reembed_summaries(database: Database, embedder: Embedder, model_id: int) -> int:
    """The same for a model that is to become the current one, whatever waits for that."""
    rows = database.connection().execute(
        "SELECT entry_id FROM summary_terms WHERE entry_id NOT IN "
        "(SELECT entry_id FROM summary_vector WHERE model_id = ?) ORDER BY entry_id LIMIT ?",
        (model_id, BATCH),
    )
    return _embed(database, embedder, model_id, [entry_id for (entry_id,) in rows])


def waiting_summaries(connection: apsw.Connection) -> int:
    """How many summaries wait for their terms or their vector."""
    count: int = connection.execute(
        "SELECT (SELECT count(*) FROM pending_summary_terms) + (SELECT count(*) FROM pending_summary_vector)"
    ).get
    return count


def summary_cosines(
    connection: apsw.Connection, model_id: int, entry_ids: Sequence[int], query: Vectors
) -> dict[int, float]:
    """Entry id -> cosine of those that have a vector of their own; sqlite-vec computes it inside the file."""
    rows = connection.execute(
        "SELECT entry_id, 1 - vec_distance_cosine(embedding, ?1) FROM summary_vector "
        "WHERE model_id = ?2 AND embedding IS NOT NULL AND entry_id IN (SELECT value FROM json_each(?3))",
        (query.astype("<f4").tobytes(), model_id, json.dumps(list(entry_ids))),
    )
    return dict(rows)


_Row = tuple[int, float | None, bytes | None]
"""Entry id, norm, own vector."""


def _embed(database: Database, embedder: Embedder, model_id: int, ids: Sequence[int]) -> int:
    written = database.connection().execute(
        "SELECT id FROM layer_entry WHERE model IS NOT NULL AND id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    entries = LayerStore(database).entries_by_id([entry_id for (entry_id,) in written])
    texts = {entry_id: text for entry_id, entry in entries.items() if (text := _summary(entry).text)}
    # A summary has 30 words at most: what does not fit the model's window is a blob.
    vectors = embedder.embed_documents([embedder.split(text)[0] for text in texts.values()]) if texts else ()
    rows: list[_Row] = [
        (entry_id, None, vector.astype("<f4").tobytes())
        for entry_id, vector in zip(texts, vectors, strict=True)
    ]
    with database.atomic() as connection:
        rows += _norms(connection, model_id, [entry_id for entry_id in ids if entry_id not in texts])
        return _store(connection, model_id, rows)


def _norms(connection: apsw.Connection, model_id: int, ids: Sequence[int]) -> list[_Row]:
    """The length of the weighted sum of each entry's vectors; without those that lack one still."""
    messages: dict[int, list[int]] = {
        entry_id: np.frombuffer(packed, "<i8").tolist()
        for entry_id, packed in connection.execute(
            "SELECT entry_id, messages FROM summary_terms WHERE entry_id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
    }
    sums = _weighted_sums(connection, model_id, {i for needed in messages.values() for i in needed})
    return [
        (entry_id, float(np.linalg.norm(sum((sums[i] for i in needed), np.zeros(1)))), None)
        for entry_id, needed in messages.items()
        if all(i in sums for i in needed)
    ]


def _weighted_sums(
    connection: apsw.Connection, model_id: int, message_ids: Iterable[int]
) -> Mapping[int, Vectors]:
    """Of each message the sum of its pieces' vectors times their lengths; without a vector: absent."""
    rows: list[Any] = connection.execute(
        "SELECT message_id, words, embedding FROM vector "
        "WHERE model_id = ? AND message_id IN (SELECT value FROM json_each(?))",
        (model_id, json.dumps(sorted(message_ids))),
    ).fetchall()
    sums: defaultdict[int, Any] = defaultdict(float)
    for message_id, words, embedding in rows:
        sums[message_id] = sums[message_id] + words * np.frombuffer(embedding, "<f4").astype(np.float64)
    return sums


def _store(connection: apsw.Connection, model_id: int, rows: Sequence[_Row]) -> int:
    """Write vectors; those of a summary that went meanwhile are dropped. Runs in the caller's transaction."""
    connection.executemany(
        "INSERT OR IGNORE INTO summary_vector (entry_id, model_id, norm, embedding) "
        "SELECT entry_id, ?2, ?3, ?4 FROM summary_terms WHERE entry_id = ?1",
        ((entry_id, model_id, norm, embedding) for entry_id, norm, embedding in rows),
    )
    connection.executemany(
        "DELETE FROM pending_summary_vector WHERE entry_id = ?1 AND EXISTS "
        "(SELECT 1 FROM embedding_model WHERE id = ?2 AND current)",
        ((entry_id, model_id) for entry_id, _, _ in rows),
    )
    return len(rows)


def _messages(connection: apsw.Connection, entry_ids: Sequence[int]) -> Mapping[int, list[int]]:
    """Ids of what was said in the turns of entries; the sources of a model's entry are a whole window."""
    found = defaultdict(list)
    for entry_id, message_id in connection.execute(
        "SELECT e.id, m.id FROM layer_entry e JOIN message m ON m.turn_id = e.turn_id "
        "WHERE m.origin = 'said' AND e.id IN (SELECT value FROM json_each(?)) ORDER BY m.position",
        (json.dumps(list(entry_ids)),),
    ):
        found[entry_id].append(message_id)
    return found


def _first(connection: apsw.Connection, queue: str, limit: int) -> list[int]:
    return [
        i for (i,) in connection.execute(f"SELECT entry_id FROM {queue} ORDER BY entry_id LIMIT ?", (limit,))
    ]


def _fields(entry: Entry) -> tuple[Entry, Counter[str], Counter[str], list[str]]:
    """An entry with the terms of its two fields and its whole keywords, each once."""
    summary = _summary(entry)
    phrases = {phrase for keyword in summary.keywords if (phrase := phrase_of(keyword))}
    return entry, Counter(terms(summary.text)), Counter(terms(" ".join(summary.keywords))), sorted(phrases)


def _summary(entry: Entry) -> Summary:
    assert isinstance(entry.content, Summary)
    return entry.content


def _packed(counts: Counter[str], ids: Mapping[str, int]) -> bytes:
    return pack_terms([ids[term] for term in counts], counts.values())
