"""Sum a run up: means over its questions, in all and by category."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from localmem.evals.arms import UNRANKED
from localmem.evals.limits import PAPER
from localmem.evals.log import Line, Log
from localmem.evals.metrics import METRICS
from localmem.evals.scores import ANSWER_SCORES, SCORES, adversarial, summed


def summary(log: Log) -> dict[str, Any]:
    """Means over the questions with annotated evidence, and of answers over all that were scored.

    ``metrics`` are over all records kept, ``at_k`` over the first k of them. ``turn_hit`` counts a question
    without annotation as a miss; ``turn_hit_annotated`` leaves it out. What was not scored is null, its share
    is beside it. LoCoMo's adversarial questions are a type of their own and in no other mean, as in both
    papers. In ``ledger`` the largest numbers tell whether a budget was kept, and ``paper`` has the means that
    the paper reports for this arm and point.
    """
    lines = [line for line in log.lines.values() if not adversarial(line)]
    answerable = [line for line in lines if not line["abstain"]]
    annotated = [line for line in answerable if line["gold"]]
    return {
        "arm": log.run["arm"],
        "benchmark": log.run["benchmark"],
        "n": len(annotated),
        "metrics": {
            "questions": len(log.lines),
            "turn_hit": _mean_score(lines, "turn_hit"),
            "turn_hit_annotated": _mean_score(lines, "turn_hit_annotated"),
            "unannotated": len(answerable) - len(annotated),
            **_means(annotated, None),
            **_answers(lines),
            "right_refusal": _mean_score(log.lines.values(), "right_refusal"),
        },
        "at_k": _at_k(log, annotated),
        "by_type": {
            category: {
                "n": len(having := [line for line in group if line["gold"] and not line["abstain"]]),
                "metrics": {"questions": len(group), **_means(having, None), **_answers(group)},
                "at_k": _at_k(log, having),
            }
            for category in sorted({line["category"] for line in log.lines.values()})
            if (group := [line for line in log.lines.values() if line["category"] == category])
        },
        "ledger": _ledger(log, list(log.lines.values())),
    }


def _ledger(log: Log, lines: Sequence[Line]) -> dict[str, Any]:
    return {
        "retrieval_calls": _mean(lines, "calls"),
        "completion_calls": _mean(lines, "completion_calls"),
        "completion_calls_max": max((line["completion_calls"] for line in lines), default=0),
        "records": fmean([len(line["kept"]) for line in lines]) if lines else 0.0,
        "records_max": max((len(line["kept"]) for line in lines), default=0),
        "messages": _mean(lines, "messages"),
        "model_tokens": sum(store["model_tokens"]["read"] for store in log.stores)
        + sum(line["online"]["tokens_read"] + (line["answer"] or {}).get("tokens_read", 0) for line in lines),
        "paper": _paper(log),
    }


def _answers(lines: Sequence[Line]) -> dict[str, float | None]:
    """Means of what was scored, and the share that was not."""
    told: dict[str, float | None] = {}
    for name in ANSWER_SCORES:
        told[name] = _mean_score(lines, name)
    told["unscored"] = summed(lines, SCORES["accuracy"]).unscored / len(lines) if lines else None
    return told


def _mean_score(lines: Iterable[Line], name: str) -> float | None:
    return summed(lines, SCORES[name]).mean


def _mean(lines: Sequence[Line], name: str) -> float:
    return fmean([line[name] for line in lines]) if lines else 0.0


def _paper(log: Log) -> dict[str, float] | None:
    reported = PAPER.get((log.run["arm"], log.run["point"] or ""))
    return None if reported is None else dict(zip(("completion_calls", "records"), reported, strict=True))


def _at_k(log: Log, lines: Sequence[Line]) -> dict[str, dict[str, float | None]]:
    return {} if log.run["arm"] in UNRANKED else {str(k): _means(lines, k) for k in log.run["k"]}


def _means(lines: Sequence[Line], first: int | None) -> dict[str, float | None]:
    """The metrics over the ``first`` records kept, or all; None where there is nothing to find."""
    return {
        name: fmean([metric(line["kept"][:first], line["gold"]) for line in lines]) if lines else None
        for name, metric in METRICS.items()
    }
