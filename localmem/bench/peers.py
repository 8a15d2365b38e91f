"""Other memory stores beside localmem: the same messages, vectors and questions, one after the other.

Speed is measured with the questions of :mod:`localmem.bench.retrieval`. Quality is a small known-answer
task: find the message that a few of its rarer words were taken from. Made-up text means nothing, so the
task rewards the matching of words; a store that only compares vectors cannot win it.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from localmem.bench.corpus import Corpus
from localmem.bench.retrieval import APPENDS, KEPT, QUESTIONS, REAL, Row, quantiles
from localmem.bench.stores import ONE_THREAD, STORES
from localmem.index.pieces import pieces_of
from localmem.models.protocols import Embedder, Vectors
from localmem.peers import Peer
from localmem.peers.environment import environment
from localmem.types import Message, NewMessage, Origin, Role

HIT_AT = 10
ASKED_WORDS = 4
"""Words of a known-answer question."""


def add_peers(
    result: dict[str, Any],
    embedder: Embedder,
    progress: Callable[[str], None],
    kinds: Sequence[type[Peer]] = STORES,
) -> None:
    """Give each row of :func:`bench_retrieval` its ``peers``: a row for each store, localmem first.

    Past ``REAL`` messages there are none.
    """
    for row in result["rows"]:
        row["peers"] = []
        if row["messages"] > REAL:
            continue
        sessions = Corpus(1).sessions(row["messages"])
        texts = [message.text for session in sessions for message in session.messages]
        progress(f"{len(texts)} messages: vectors for the peers")
        known = KnownVectors(embedder, texts)
        for kind in kinds:
            progress(f"{len(texts)} messages: {kind.name}")
            row["peers"].append(_measure(kind, texts, known))


class KnownVectors:
    """The embedder, with the vectors of the stored texts made beforehand and a clock on questions."""

    def __init__(self, embedder: Embedder, texts: Sequence[str]) -> None:
        self._embedder = embedder
        self.name, self.fingerprint, self.dimension = embedder.name, embedder.fingerprint, embedder.dimension
        pieces = [part for text in texts for piece in _pieces(text) for part in embedder.split(piece)]
        every = list(dict.fromkeys([*texts, *pieces]))
        self._vectors = dict(zip(every, embedder.embed_documents(every), strict=True))
        self.question_ms = 0.0
        """What the vectors of questions have taken so far."""

    def split(self, text: str) -> list[str]:
        """Parts of ``text`` that fit the model's window."""
        return self._embedder.split(text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of ``texts``; only unknown ones are made."""
        new = [text for text in texts if text not in self._vectors]
        made = dict(zip(new, self._embedder.embed_documents(new), strict=True)) if new else {}
        found = [made[text] if text in made else self._vectors[text] for text in texts]
        return np.array(found, np.float32).reshape(len(found), self.dimension)

    def embed_query(self, text: str) -> Vectors:
        """Vector of a question, timed."""
        started = time.perf_counter()
        vector = self._embedder.embed_query(text)
        self.question_ms += 1000 * (time.perf_counter() - started)
        return vector

    def close(self) -> None:
        """The embedder behind it belongs to whoever made it."""


def _pieces(text: str) -> list[str]:
    """What localmem embeds of a message with this text."""
    return pieces_of(Message(0, 0, 0, 0, Role.USER, "", text, None, False, "", "", Origin.SAID, ""))


def _measure(kind: type[Peer], texts: Sequence[str], known: KnownVectors) -> Row:
    if reason := kind.missing():
        return {"name": kind.name, "installed": False, "reason": reason}
    row: Row = {"name": kind.name, "installed": True, "version": kind.version()}
    with (
        tempfile.TemporaryDirectory(prefix="localmem-bench-") as folder,
        environment(ONE_THREAD),
        closing(kind(Path(folder), known)) as store,
    ):
        started = time.perf_counter()
        store.add(_numbered(texts, 0))
        store.index()
        row["build_s"] = time.perf_counter() - started
        row |= _query_times(store, known)
        row["hit_at_10"] = _hit_share(store, texts)
        row |= _append_times(store, len(texts))
    return row


def _numbered(texts: Sequence[str], first: int) -> list[NewMessage]:
    """The texts as messages that are named by their numbers."""
    return [NewMessage(Role.USER, text, external_id=str(number)) for number, text in enumerate(texts, first)]


def _query_times(store: Peer, known: KnownVectors) -> Row:
    corpus = Corpus()
    questions = corpus.questions(QUESTIONS)
    store.search(questions[0], KEPT)
    whole, without = [], []
    for question in questions:
        before = known.question_ms
        started = time.perf_counter()
        store.search(question, KEPT)
        whole.append(1000 * (time.perf_counter() - started))
        without.append(whole[-1] - (known.question_ms - before))
    return {"query_ms": quantiles(whole), "query_without_embedding_ms": quantiles(without)}


def known_answers(texts: Sequence[str], count: int) -> list[tuple[str, int]]:
    """Questions with the number of the message each was made from; the same for the same texts.

    A question is some words of the rarer half of a message in another order. Words of one message alone
    are left out: anything finds those.
    """
    chance = random.Random(7)
    words = [list(dict.fromkeys(text.lower().split())) for text in texts]
    spread = Counter(word for message in words for word in message)
    asked = []
    for number in chance.sample(range(len(texts)), len(texts)):
        shared = sorted((word for word in words[number] if spread[word] > 1), key=lambda word: spread[word])
        rarer = shared[: len(shared) // 2]
        if len(rarer) >= ASKED_WORDS:
            asked.append((" ".join(chance.sample(rarer, ASKED_WORDS)), number))
        if len(asked) == count:
            break
    return asked


def _hit_share(store: Peer, texts: Sequence[str]) -> float | None:
    """Share of known answers among the best 10; None without a text long enough to ask about."""
    asked = known_answers(texts, QUESTIONS)
    hits = sum(str(number) in store.search(question, HIT_AT) for question, number in asked)
    return hits / len(asked) if asked else None


def _append_times(store: Peer, stored: int) -> Row:
    """Store one text and search for it, both vectors included, so many times."""
    times, found = [], 0
    for number in range(stored, stored + APPENDS):
        text = f"a brand new zebra{number} story"
        started = time.perf_counter()
        store.add(_numbered([text], number))
        found += str(number) in store.search(text, HIT_AT)
        times.append(1000 * (time.perf_counter() - started))
    return {"append_and_search_ms": quantiles(times), "appended_found": found / APPENDS}


def peer_lines(rows: Sequence[Row]) -> list[str]:
    """The peers of one size as a table."""
    columns = ("build s", "query ms", "p95", "no vector", "append ms", "found", "hit@10")
    lines = [f"  {'':15}" + "".join(f"{column:>10}" for column in columns)]
    for row in rows:
        if not row["installed"]:
            lines.append(f"  {row['name']:15} skipped: {row['reason']}")
            continue
        query, bare = row["query_ms"], row["query_without_embedding_ms"]
        times = (row["build_s"], query["p50"], query["p95"], bare["p50"], row["append_and_search_ms"]["p50"])
        hit = "-" if row["hit_at_10"] is None else f"{row['hit_at_10']:.1%}"
        cells = [*(f"{value:.1f}" for value in times), f"{row['appended_found']:.0%}", hit]
        lines.append(f"  {row['name']:15}" + "".join(f"{cell:>10}" for cell in cells))
    return lines
