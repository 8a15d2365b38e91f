"""How quick the chat is over a small and over a large memory."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from localmem.answering.keepers import CHAT_SOURCE
from localmem.bench.corpus import Corpus
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.types import NewMessage, NewSession, Role

LONG = 5000
"""Messages of the session whose pages are turned, or all there are if those are fewer."""


def bench_tui(sizes: Sequence[int], say: Callable[[str], None]) -> dict[str, Any]:
    """Start the chat and use it over made-up histories with so many messages; a row of figures for each."""
    return {"rows": [_row(size, say) for size in sizes]}


def _row(messages: int, say: Callable[[str], None]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="localmem-bench-") as folder:
        database = Path(folder) / "bench.db"
        long = min(LONG, messages)
        say(f"{messages:,} messages: storing them…")
        with Memory(database, HashEmbedder()) as memory:
            for session in _sessions(messages, long):
                memory.add(session)
            say(f"{messages:,} messages: making their vectors…")
            memory.wait_embedded()
            session_id = next(one.id for one in memory.sessions() if one.external_id == "long")
        say(f"{messages:,} messages: starting the chat and turning its pages…")
        # The chat lies above and is found by its name: nothing here imports a terminal library.
        measure: Callable[..., dict[str, Any]] = importlib.import_module("localmem.tui.measuring").measure
        size = database.stat().st_size
        return {
            "messages": messages,
            "session_messages": long,
            "file_mb": size / 1e6,
            **measure(database, session_id),
        }


def _sessions(messages: int, long: int) -> Iterator[NewSession]:
    """Chats of usual length, and one with ``long`` messages."""
    corpus = Corpus(1)
    yield from (replace(one, source=CHAT_SOURCE) for one in corpus.sessions(messages - long))
    roles = (Role.USER, Role.ASSISTANT)
    said = tuple(NewMessage(roles[place % 2], corpus.text(), external_id=str(place)) for place in range(long))
    started = datetime(2020, 1, 1, tzinfo=UTC)
    yield NewSession(CHAT_SOURCE, "long", said, title="A long chat", started_at=started)
