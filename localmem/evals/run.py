"""Run an arm over a benchmark and sum it up. Each conversation gets a store of its own."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from localmem import __version__
from localmem.errors import BadInput
from localmem.evals.arms import ARMS
from localmem.evals.datasets import Case, Question, read_cases
from localmem.evals.log import Line, RunLog, file_hash
from localmem.evals.metrics import METRICS
from localmem.memory import Memory
from localmem.models.protocols import Embedder


@dataclass(frozen=True, slots=True)
class Run:
    """What is run."""

    benchmark: str
    arm: str
    data: Path
    k: tuple[int, ...]
    """Numbers of records at which the metrics are taken, ascending."""
    limit: int | None = None
    """So many questions, drawn at random; None: all."""
    seed: int = 0


def evaluate(
    run: Run, embedder: Embedder, out: Path | None, progress: Callable[[int, int], None]
) -> dict[str, Any]:
    """Ask the questions that the log in ``out`` does not have yet; return the summary of all.

    ``progress`` gets (questions done, questions in all). Raises :class:`BadInput` for an unknown arm or
    benchmark, or a log of another run; :class:`ImportFailed` for a file that cannot be read.
    """
    if run.arm not in ARMS:
        raise BadInput(f"There is no arm {run.arm!r}. Arms: {', '.join(ARMS)}.")
    chosen = _chosen(run)
    described = {**asdict(run), "data": file_hash(run.data), "embedder": embedder.fingerprint}
    log = RunLog(out, {**described, "k": list(run.k), "version": __version__})
    progress(len(log.results), len(chosen))
    for case in read_cases(run.benchmark, run.data):
        left = [q for q in case.questions if q.id in chosen and q.id not in log.results]
        if not left:
            continue
        for result in _asked(run, case, left, embedder):
            log.add(result)
            progress(len(log.results), len(chosen))
    return summary(run, log.results.values())


def _chosen(run: Run) -> frozenset[str]:
    """Ids of the questions to ask: those that memory can answer, or ``limit`` of them."""
    cases = read_cases(run.benchmark, run.data)
    ids = [question.id for case in cases for question in case.questions if not question.abstain]
    if run.limit is not None and run.limit < len(ids):
        ids = random.Random(run.seed).sample(ids, run.limit)
    return frozenset(ids)


def _asked(run: Run, case: Case, questions: Sequence[Question], embedder: Embedder) -> Iterator[Line]:
    with (
        tempfile.TemporaryDirectory(prefix="localmem-eval-") as folder,
        Memory(Path(folder) / "memory.db", embedder) as memory,
    ):
        for session in case.sessions:
            memory.add(session)
        memory.wait_embedded()
        _, messages = memory.counts()
        for question in questions:
            started = time.perf_counter()
            kept = ARMS[run.arm](memory, question, max(run.k))
            yield {
                "id": question.id,
                "category": question.category,
                "gold": sorted(question.gold),
                "kept": list(kept.external_ids),
                "calls": kept.calls,
                "messages": messages,
                "seconds": round(time.perf_counter() - started, 6),
            }


def summary(run: Run, results: Iterable[Line]) -> dict[str, Any]:
    """Means over the questions with annotated evidence, in all and by category.

    ``turn_hit`` counts a question without annotation as a miss; ``turn_hit_annotated`` leaves it out.
    """
    lines = list(results)
    annotated = [line for line in lines if line["gold"]]
    largest = max(run.k)
    hits = [METRICS["gold_hit"](line["kept"][:largest], line["gold"]) for line in annotated]
    categories = sorted({line["category"] for line in annotated})
    return {
        "arm": run.arm,
        "benchmark": run.benchmark,
        "n": len(annotated),
        "metrics": {
            "turn_hit": sum(hits) / len(lines) if lines else 0.0,
            "turn_hit_annotated": fmean(hits) if hits else 0.0,
            "unannotated": len(lines) - len(annotated),
        },
        "at_k": _at_k(run, annotated),
        "by_type": {
            category: {"n": len(group), "at_k": _at_k(run, group)}
            for category in categories
            if (group := [line for line in annotated if line["category"] == category])
        },
        "ledger": {
            "retrieval_calls": fmean([line["calls"] for line in lines]) if lines else 0.0,
            "records": fmean([len(line["kept"]) for line in lines]) if lines else 0.0,
            "messages": fmean([line["messages"] for line in lines]) if lines else 0.0,
            "seconds_median": median([line["seconds"] for line in lines]) if lines else 0.0,
            "model_tokens": 0,
        },
    }


def _at_k(run: Run, lines: Sequence[Line]) -> dict[str, dict[str, float]]:
    return {
        str(k): {
            name: fmean([metric(line["kept"][:k], line["gold"]) for line in lines]) if lines else 0.0
            for name, metric in METRICS.items()
        }
        for k in run.k
    }
