"""How fast a history becomes searchable, by words and by meaning."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from localmem.bench.corpus import Corpus
from localmem.memory import Memory
from localmem.models.protocols import Embedder


def bench_ingest(messages: int, embedder: Embedder) -> dict[str, Any]:
    """Store made-up chats and embed them in the background, as an import does.

    ``stored_per_s`` is the rate at which messages can be found by their words, ``searchable_per_s`` the
    rate from the start until the last one has its vector.
    """
    corpus = Corpus(1)
    sessions = list(corpus.sessions(messages))
    words = [len(message.text.split()) for session in sessions for message in session.messages]
    embedder.embed_query("the model is loaded before the clock starts")
    with (
        tempfile.TemporaryDirectory(prefix="localmem-bench-") as folder,
        Memory(Path(folder) / "bench.db", embedder) as memory,
    ):
        started = time.perf_counter()
        for session in sessions:
            memory.add(session)
        stored = time.perf_counter() - started
        memory.wait_embedded()
        searchable = time.perf_counter() - started
        pieces = len(memory.retrieval.view().pieces.row)
    return {
        "embedder": embedder.name,
        "messages": messages,
        "words_mean": sum(words) / max(len(words), 1),
        "pieces": pieces,
        "stored_per_s": messages / stored,
        "searchable_per_s": messages / searchable,
    }
