"""How fast and how right search is at several sizes, in one run."""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from localmem.bench.concepts import bench_concepts
from localmem.bench.corpus import Corpus, NoisyEmbedder
from localmem.index.dense import similarity
from localmem.index.lexical import K1, B, bm25
from localmem.index.tokens import query_terms, terms
from localmem.memory import Memory
from localmem.models.protocols import Embedder
from localmem.retrieval.asked import read
from localmem.retrieval.ranking import lexical_scores, rank
from localmem.types import NewMessage, NewSession, Role

QUESTIONS = 200
APPENDS = 20
KEPT = 34
"""Messages asked for, as in the papers' main setting."""
ORACLE = 3
"""Questions whose lexical scores are compared with a plain computation over every message."""
CHECKED = 20
"""Questions whose result is compared with an exact one."""
REAL = 10_000
"""Messages up to which every vector is a real one; beyond, real ones plus noise."""

Row = dict[str, Any]


def bench_retrieval(
    sizes: Sequence[int], embedder: Embedder, home: Path, progress: Callable[[str], None]
) -> dict[str, Any]:
    """One row for each size, and how the query time grows: time ~ messages ** exponent."""
    rows = []
    for size in sizes:
        progress(f"{size} messages")
        with tempfile.TemporaryDirectory(prefix="localmem-bench-") as folder:
            rows.append(_row(size, embedder, Path(folder) / "bench.db", home))
    growth = [
        math.log(b["query_ms"]["p50"] / a["query_ms"]["p50"]) / math.log(b["messages"] / a["messages"])
        for a, b in pairwise(rows)
    ]
    return {
        "embedder": embedder.name,
        "rows": rows,
        "growth_exponents": growth,
        "concepts": bench_concepts(),
    }


def _row(size: int, embedder: Embedder, path: Path, home: Path) -> Row:
    corpus = Corpus()
    noisy = size > REAL
    used: Embedder = NoisyEmbedder(embedder, [corpus.text() for _ in range(1000)]) if noisy else embedder
    questions = corpus.questions(QUESTIONS)
    with Memory(path, used) as memory:
        started = time.perf_counter()
        for session in Corpus(1).sessions(size):
            memory.add(session)
        stored = time.perf_counter() - started
        memory.wait_embedded()
        embedded = time.perf_counter() - started
        memory.search(questions[0], KEPT)
        return {
            "messages": size,
            "vectors": "real plus noise" if noisy else "real",
            "store_messages_per_s": size / stored,
            "embed_messages_per_s": None if noisy else size / embedded,
            "file_mb": sum(f.stat().st_size for f in path.parent.iterdir()) / 1e6,
            "hot_mb": _hot_bytes(memory) / 1e6,
            "query_ms": quantiles([_timed(memory.search, question, KEPT) for question in questions]),
            "stage_ms": _stages(memory, used, questions),
            "append_and_search_ms": quantiles([_append(memory, n) for n in range(APPENDS)]),
            "lexical_error": _lexical_error(memory, questions[:ORACLE]),
            "exact_top_found": _exact_share(memory, questions[:CHECKED]),
            "cold_start_s": _cold_start(path, home, used),
        }


def _timed(work: Callable[..., object], *arguments: object) -> float:
    """Milliseconds that a call takes."""
    started = time.perf_counter()
    work(*arguments)
    return 1000 * (time.perf_counter() - started)


def quantiles(milliseconds: Sequence[float]) -> dict[str, float]:
    """The median and the 95th percentile."""
    p50, p95 = np.quantile(milliseconds, [0.5, 0.95])
    return {"p50": float(p50), "p95": float(p95)}


def _stages(memory: Memory, embedder: Embedder, questions: Sequence[str]) -> dict[str, float]:
    """Median milliseconds of the parts of a query, one after the other as a query runs them."""
    times: dict[str, list[float]] = {}
    retrieval = memory.retrieval
    view = retrieval.view()

    def timed(stage: str, work: Callable[..., Any], *arguments: object) -> Any:
        started = time.perf_counter()
        result = work(*arguments)
        times.setdefault(stage, []).append(1000 * (time.perf_counter() - started))
        return result

    for question in questions:
        asked = read(question, view.columns.names, None)
        vector = timed("embed", embedder.embed_query, asked.similar_to)
        matches = timed("terms", retrieval.matches, view, asked.terms)
        words = timed("lexical", lexical_scores, view.columns, matches)
        cosines = timed("compare", view.pieces.cosines, vector)
        near = timed("windows", similarity, view, cosines, words[0])
        ranking = timed("rank", rank, view.columns, words, near, asked)
        found = ranking.found()
        if view.pieces.basis is not None:
            timed("exact", retrieval.compare_exactly, view, ranking, found, vector, KEPT)
        rows = np.argsort(-np.where(found, ranking.total, -np.inf), kind="stable")[:KEPT]
        timed("fetch", list, retrieval.messages(view, rows))
    return {stage: float(np.median(values)) for stage, values in times.items()}


def _append(memory: Memory, number: int) -> float:
    """Store one message and find it by its words."""
    session = NewSession("append", str(number), (NewMessage(Role.USER, f"a brand new zebra{number} story"),))

    def work() -> None:
        memory.add(session)
        found = memory.search(f"zebra{number}", KEPT)
        if all(f"zebra{number}" not in hit.message.text for hit in found):
            raise AssertionError("a message just stored was not found")

    return _timed(work)


def _exact_share(memory: Memory, questions: Sequence[str]) -> float:
    """Share of the exact best messages that search returns."""
    memory.wait_embedded()
    found = wanted = 0
    for question in questions:
        exact = {hit.message.id for hit in memory.retrieval.search(question, KEPT, exactly=True)}
        found += len(exact & {hit.message.id for hit in memory.search(question, KEPT)})
        wanted += len(exact)
    return found / wanted if wanted else 1.0


def _lexical_error(memory: Memory, questions: Sequence[str]) -> float:
    """Largest difference between an index score and BM25 written out over the texts of all messages."""
    view = memory.retrieval.view()
    asked = {question: query_terms(question) for question in questions}
    wanted = {term for words in asked.values() for term in words}
    counted, lengths = [], []
    for _, message in memory.retrieval.messages(view, np.arange(len(view.columns))):
        found = terms(f"{message.text} {message.attachments}")
        lengths.append(len(found))
        counted.append(Counter(term for term in found if term in wanted))
    frequency = Counter(term for counts in counted for term in counts)
    average, error = sum(lengths) / len(lengths), 0.0
    for words in asked.values():
        scores = bm25(view.columns, memory.retrieval.matches(view, words))
        for counts, length, score in zip(counted, lengths, scores.tolist(), strict=True):
            exact = sum(
                math.log1p((len(counted) - frequency[t] + 0.5) / (frequency[t] + 0.5))
                * counts[t] * (K1 + 1) / (counts[t] + K1 * (1 - B + B * length / average))
                for t in words
                if t in counts
            )  # fmt: skip
            error = max(error, abs(exact - score))
    return error


def _hot_bytes(memory: Memory) -> int:
    view = memory.retrieval.view()
    arrays = [value for part in (view.columns, view.pieces) for value in vars(part).values()]
    arrays += [array for postings, rows in view.parts for array in (*postings.arrays(), rows)]
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


def _cold_start(path: Path, home: Path, embedder: Embedder) -> float:
    """Seconds from opening the file in a new process to the first result, the model already loaded."""
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from localmem.memory import Memory\n"
        "from localmem.models.library import Library\n"
        "library = Library(Path(sys.argv[2]))\n"
        "embedder = library.embedder()\n"
        "embedder.embed_query('warm')\n"
        "class Same:\n"
        "    name, fingerprint = embedder.name, sys.argv[3]\n"
        "    dimension, split = embedder.dimension, embedder.split\n"
        "    embed_query, embed_documents = embedder.embed_query, embedder.embed_documents\n"
        "started = time.perf_counter()\n"
        "with Memory(Path(sys.argv[1]), Same()) as memory:\n"
        "    memory.search('When did I talk about the garden?', 34)\n"
        "    print(time.perf_counter() - started)\n"
        "library.close()\n"
    )
    command = [sys.executable, "-c", script, str(path), str(home), embedder.fingerprint]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
