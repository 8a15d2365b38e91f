"""Run an arm over a benchmark and sum it up. Each conversation gets a store of its own."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from localmem import __version__
from localmem.errors import BadInput
from localmem.evals.arms import ARMS, UNRANKED
from localmem.evals.datasets import Case, Question, read_cases
from localmem.evals.limits import PAPER, Limits, at_point
from localmem.evals.log import Line, RunLog, file_hash
from localmem.evals.metrics import METRICS
from localmem.memory import Memory
from localmem.models.protocols import Embedder
from localmem.reconstruction.completion import Budget


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
    """Of that draw, and of what an arm draws."""
    point: str | None = None
    """Operating point of the paper's budget sweep (:mod:`localmem.evals.limits`)."""
    steps: int | None = None
    """Rounds of completion; this and the next three None: the arm's own."""
    calls: int | None = None
    """Retrieval calls of completion."""
    records: int | None = None
    """New records of completion."""
    keep: int | None = None
    """Records kept a round."""

    def limits(self) -> Limits:
        """What the arm may spend. Raises :class:`BadInput` for a point with limits beside it."""
        given = (self.steps, self.calls, self.records)
        budget = None
        if self.point is not None:
            if any(number is not None for number in given):
                raise BadInput("An operating point sets rounds, calls and records: give one or the others.")
            budget = at_point(self.point)
        elif any(number is not None for number in given):
            main = Budget()
            budget = Budget(
                *(own if one is None else one for one, own in zip(given, astuple(main), strict=True))
            )
        return Limits(max(self.k), budget, self.keep, self.seed)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run measured."""

    summary: dict[str, Any]
    """The same for the same run, byte for byte."""
    seconds: float
    """Median time of a question."""


def evaluate(run: Run, embedder: Embedder, out: Path | None, progress: Callable[[int, int], None]) -> Outcome:
    """Ask the questions that the log in ``out`` does not have yet; return the summary of all.

    ``progress`` gets (questions done, questions in all). Raises :class:`BadInput` for an unknown arm or
    benchmark, or a log of another run; :class:`ImportFailed` for a file that cannot be read.
    """
    if run.arm not in ARMS:
        raise BadInput(f"There is no arm {run.arm!r}. Arms: {', '.join(ARMS)}.")
    limits = run.limits()
    chosen = _chosen(run)
    described = {**asdict(run), "data": file_hash(run.data), "embedder": embedder.fingerprint}
    log = RunLog(out, {**described, "k": list(run.k), "version": __version__})
    progress(len(log.results), len(chosen))
    for case in read_cases(run.benchmark, run.data):
        left = [q for q in case.questions if q.id in chosen and q.id not in log.results]
        if not left:
            continue
        for result in _asked(run.arm, limits, case, left, embedder):
            log.add(result)
            progress(len(log.results), len(chosen))
    results = [log.results[identity] for identity in sorted(log.results)]
    return Outcome(summary(run, results), median([line["seconds"] for line in results]) if results else 0.0)


def _chosen(run: Run) -> frozenset[str]:
    """Ids of the questions to ask: those that memory can answer, or ``limit`` of them."""
    cases = read_cases(run.benchmark, run.data)
    ids = [question.id for case in cases for question in case.questions if not question.abstain]
    if run.limit is not None and run.limit < len(ids):
        ids = random.Random(run.seed).sample(ids, run.limit)
    return frozenset(ids)


def _asked(
    arm: str, limits: Limits, case: Case, questions: Sequence[Question], embedder: Embedder
) -> Iterator[Line]:
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
            kept = ARMS[arm](memory, question, limits)
            yield {
                "id": question.id,
                "category": question.category,
                "gold": sorted(question.gold),
                "kept": list(kept.external_ids),
                "calls": kept.calls,
                "completion_calls": kept.completion_calls,
                "messages": messages,
                "seconds": round(time.perf_counter() - started, 6),
            }


def summary(run: Run, results: Iterable[Line]) -> dict[str, Any]:
    """Means over the questions with annotated evidence, in all and by category.

    ``metrics`` are over all records kept, ``at_k`` over the first k of them. ``turn_hit`` counts a question
    without annotation as a miss; ``turn_hit_annotated`` leaves it out. In ``ledger`` the largest numbers tell
    whether a budget was kept, and ``paper`` has the means that the paper reports for this arm and point.
    """
    lines = list(results)
    annotated = [line for line in lines if line["gold"]]
    hits = [METRICS["gold_hit"](line["kept"], line["gold"]) for line in annotated]
    categories = sorted({line["category"] for line in annotated})
    return {
        "arm": run.arm,
        "benchmark": run.benchmark,
        "n": len(annotated),
        "metrics": {
            "turn_hit": sum(hits) / len(lines) if lines else 0.0,
            "turn_hit_annotated": fmean(hits) if hits else 0.0,
            "unannotated": len(lines) - len(annotated),
            **_means(annotated, None),
        },
        "at_k": _at_k(run, annotated),
        "by_type": {
            category: {"n": len(group), "metrics": _means(group, None), "at_k": _at_k(run, group)}
            for category in categories
            if (group := [line for line in annotated if line["category"] == category])
        },
        "ledger": {
            "retrieval_calls": _mean(lines, "calls"),
            "completion_calls": _mean(lines, "completion_calls"),
            "completion_calls_max": max((line["completion_calls"] for line in lines), default=0),
            "records": fmean([len(line["kept"]) for line in lines]) if lines else 0.0,
            "records_max": max((len(line["kept"]) for line in lines), default=0),
            "messages": _mean(lines, "messages"),
            "model_tokens": 0,
            "paper": _paper(run),
        },
    }


def _mean(lines: Sequence[Line], name: str) -> float:
    return fmean([line[name] for line in lines]) if lines else 0.0


def _paper(run: Run) -> dict[str, float] | None:
    reported = PAPER.get((run.arm, run.point or ""))
    return None if reported is None else dict(zip(("completion_calls", "records"), reported, strict=True))


def _at_k(run: Run, lines: Sequence[Line]) -> dict[str, dict[str, float]]:
    return {} if run.arm in UNRANKED else {str(k): _means(lines, k) for k in run.k}


def _means(lines: Sequence[Line], first: int | None) -> dict[str, float]:
    """The metrics over the ``first`` records kept, or all."""
    return {
        name: fmean([metric(line["kept"][:first], line["gold"]) for line in lines]) if lines else 0.0
        for name, metric in METRICS.items()
    }
