"""How fast a history becomes searchable: by words, by meaning, by summary."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from localmem.bench.corpus import Corpus
from localmem.index.embedding import EmbeddingQueue
from localmem.layers.queue import SummaryQueue
from localmem.memory import Memory
from localmem.models.protocols import Embedder
from localmem.store import Database, SessionStore
from localmem.types import NewSession
from localmem.writing import Writer


def bench_ingest(sessions: Sequence[NewSession], embedder: Embedder) -> dict[str, Any]:
    """Store sessions and embed them in the background, as an import does.

    ``stored_per_s`` is the rate at which messages can be found by their words, ``searchable_per_s`` the
    rate from the start until the last one and the last summary has its vector: L0 and L3. ``stages`` has the
    rate of each piece of work alone, one after the other.
    """
    words = [len(message.text.split()) for session in sessions for message in session.messages]
    messages = len(words)
    embedder.embed_query("the model is loaded before the clock starts")
    with tempfile.TemporaryDirectory(prefix="localmem-bench-") as folder:
        with Memory(Path(folder) / "bench.db", embedder) as memory:
            started = time.perf_counter()
            for session in sessions:
                memory.add(session)
            stored = time.perf_counter() - started
            memory.wait_embedded()
            searchable = time.perf_counter() - started
            pieces = len(memory.retrieval.view().pieces.row)
        stages = _stages(Path(folder) / "stages.db", sessions, embedder)
    return {
        "embedder": embedder.name,
        "messages": messages,
        "words_mean": sum(words) / max(messages, 1),
        "pieces": pieces,
        "stored_per_s": messages / stored,
        "searchable_per_s": messages / searchable,
        "stages": {f"{name}_per_s": messages / seconds for name, seconds in stages.items()},
    }


def made_up(messages: int) -> list[NewSession]:
    """Chats with so many messages."""
    return list(Corpus(1).sessions(messages))


def _stages(path: Path, sessions: Sequence[NewSession], embedder: Embedder) -> dict[str, float]:
    """Seconds that each stage takes with nothing beside it."""
    database = Database(path)
    try:
        writer = Writer(database, SessionStore(database))
        queue, summaries = EmbeddingQueue(database, embedder), SummaryQueue(database)
        clock = [time.perf_counter()]
        for session in sessions:
            writer.add(session)
        clock.append(time.perf_counter())
        # A summary is made in the transaction that stores its messages; made once more, it is timed alone.
        with database.atomic() as connection:
            connection.execute("DELETE FROM layer_entry")
        clock.append(time.perf_counter())
        while summaries.make_next():
            pass
        clock.append(time.perf_counter())
        while queue.embed_next():
            pass
        clock.append(time.perf_counter())
    finally:
        database.close()
    both, _, summed_up, embedded = (after - before for before, after in pairwise(clock))
    return {"lexical": max(both - summed_up, 1e-9), "summaries": summed_up, "embedding": embedded}
