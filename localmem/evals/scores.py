"""What a question's line in a log scores, by name.

A score is a number from the line of :mod:`localmem.evals.log`, or None where it is not applicable or was not
scored: such a line is left out of a mean and counted as unscored, never as 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from localmem.evals import metrics
from localmem.evals.datasets.locomo import ADVERSARIAL, CATEGORIES
from localmem.evals.judging.refusal import refuses
from localmem.evals.log import Line
from localmem.evals.normal import stem_f1 as stem_f1_of

Score = Callable[[Line], float | None]

DEPTHS = {"summary": 0, "facts": 1, "notes": 2, "raw": 3}
"""Layers by number, L0 to L3 (APDMem, Figure 2b)."""


def adversarial(line: Line) -> bool:
    """Whether it is of LoCoMo's category 5, whose evidence supports another question (left out by BFR)."""
    return bool(line["category"] == CATEGORIES[ADVERSARIAL])


def gold_hit(line: Line, k: int | None = None) -> float | None:
    """1 when any gold message is among the records kept, the first ``k`` of them or all (BFR, equation 3)."""
    return _of_evidence(metrics.gold_hit, line, k)


def evidence_recall(line: Line, k: int | None = None) -> float | None:
    """|kept and gold| / |gold| (BFR, equation 9)."""
    return _of_evidence(metrics.evidence_recall, line, k)


def complete_evidence_recall(line: Line, k: int | None = None) -> float | None:
    """1 when every gold message is kept (BFR, equation 9)."""
    return _of_evidence(metrics.complete_evidence_recall, line, k)


def _of_evidence(metric: Callable[[list[str], list[str]], float], line: Line, k: int | None) -> float | None:
    """None without annotation, and where memory does not answer: there is no evidence to find."""
    if line["abstain"] or not line["gold"]:
        return None
    return metric(line["kept"][:k], line["gold"])


def turn_hit(line: Line, k: int | None = None) -> float | None:
    """Gold Hit over all questions, a miss where nothing is annotated (BFR, equation 4, Table 20).

    LongMemEval's questions that memory does not answer are among them, as in the paper's 500.
    """
    return None if adversarial(line) else metrics.gold_hit(line["kept"][:k], line["gold"])


def turn_hit_annotated(line: Line, k: int | None = None) -> float | None:
    """The same over questions with annotation only (BFR, Appendix P)."""
    return turn_hit(line, k) if line["gold"] else None


def stem_f1(line: Line) -> float | None:
    """F1 of Porter stems by LoCoMo's rules (:mod:`localmem.evals.normal`; BFR, Appendix N).

    Where memory does not answer it is 1 for a refusal and 0 for anything else, as LoCoMo has it.
    """
    text = _answer(line)
    if text is None:
        return None
    return _refusal(line) if line["abstain"] else stem_f1_of(line["category"], text, str(line["reference"]))


def accuracy(line: Line) -> float | None:
    """1 for CORRECT, 0 for WRONG, None without a verdict (judged accuracy; APDMem, Table 1; BFR, Table 3)."""
    verdict = line["verdict"] and line["verdict"]["verdict"]
    return None if verdict is None else float(verdict == "CORRECT")


def right_refusal(line: Line) -> float | None:
    """Of questions that memory does not answer: 1 when the answer says so."""
    return _refusal(line) if line["abstain"] else None


def false_refusal(line: Line) -> float | None:
    """Of questions that memory answers: 1 when the answer says that it does not."""
    return None if line["abstain"] else _refusal(line)


def sessions_drilled(line: Line) -> float | None:
    """Sessions opened / sessions in memory (retrieval selectivity; APDMem 4.3, Figure 2a)."""
    return len(line["opened"]) / line["sessions"] if line["sessions"] else None


def depth(line: Line) -> float | None:
    """Mean number of the finest layer that a session was opened at, L0 to L3 (APDMem 4.3, Figure 2b)."""
    opened = sum(line["depth"].values())
    return sum(DEPTHS[layer] * n for layer, n in line["depth"].items()) / opened if opened else None


def retrieval_error(line: Line) -> float | None:
    """1 for a wrong answer without a gold session opened; of judged questions that have one (APDMem 4.3).

    With it, accuracy and :func:`generation_error` of those questions add up to 1.
    """
    return _error(line, opened=False)


def generation_error(line: Line) -> float | None:
    """1 for a wrong answer although a gold session was opened (APDMem 4.3, Figure 2c)."""
    return _error(line, opened=True)


def suff_at_set(line: Line) -> float | None:
    """1 for sufficient, 0 for insufficient; ``uncertain`` and missing are left out (BFR, Appendix M)."""
    label = (line.get("suff") or {}).get("verdict")
    return None if label in (None, "uncertain") else float(label == "sufficient")


def _answer(line: Line) -> str | None:
    """The answer's text; None when there is none to score: no model worded one, or it failed."""
    text = (line["answer"] or {}).get("text")
    return None if text is None else str(text)


def _refusal(line: Line) -> float | None:
    text = _answer(line)
    return None if text is None else float(line["answer"]["abstained"] or refuses(text))


def _error(line: Line, *, opened: bool) -> float | None:
    right = accuracy(line)
    if right is None or not line["gold_sessions"]:
        return None
    found = bool(set(line["gold_sessions"]) & set(line["opened"]))
    return float(not right and found is opened)


def _online(name: str, line: Line) -> float:
    """Of all models but the shared answerer and the judge (APDMem 4.2)."""
    return float(line["online"][name])


ANSWER_SCORES: dict[str, Score] = {
    "stem_f1": stem_f1,
    "accuracy": accuracy,
    "right_refusal": right_refusal,
    "false_refusal": false_refusal,
    "retrieval_error": retrieval_error,
    "generation_error": generation_error,
}
"""Those that need an answer."""

AT_K: dict[str, Callable[[Line, int | None], float | None]] = {
    "gold_hit": gold_hit,
    "evidence_recall": evidence_recall,
    "complete_evidence_recall": complete_evidence_recall,
    "turn_hit": turn_hit,
    "turn_hit_annotated": turn_hit_annotated,
}
"""Those that can be taken of the first k records."""

SCORES: dict[str, Score] = {
    "gold_hit": gold_hit,
    "evidence_recall": evidence_recall,
    "complete_evidence_recall": complete_evidence_recall,
    "turn_hit": turn_hit,
    "turn_hit_annotated": turn_hit_annotated,
    "suff_at_set": suff_at_set,
    **ANSWER_SCORES,
    "sessions_drilled": sessions_drilled,
    "depth": depth,
    "steps": lambda line: None if line["steps"] is None else float(line["steps"]),
    "records": lambda line: float(len(line["kept"])),
    "calls": lambda line: float(line["calls"]),
    "completion_calls": lambda line: float(line["completion_calls"]),
    "model_calls": partial(_online, "calls"),
    "tokens_read": partial(_online, "tokens_read"),
    "tokens_reused": partial(_online, "tokens_reused"),
    "tokens_written": partial(_online, "tokens_written"),
    "seconds": partial(_online, "seconds"),
}
"""By the name that tables, report and ``compare`` use."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A score over some lines."""

    mean: float | None
    """None: none of them has it."""
    n: int
    """Lines that have it."""
    unscored: int
    """Lines that have not."""


def summed(lines: Iterable[Line], score: Score) -> Summary:
    """The mean of ``score`` over the lines that have it."""
    found = [score(line) for line in lines]
    values = [value for value in found if value is not None]
    return Summary(fmean(values) if values else None, len(values), len(found) - len(values))


@dataclass(frozen=True, slots=True)
class Category:
    """A type of question and its lines."""

    number: int | None
    """LoCoMo's; repositories permute the names, so both are told."""
    name: str
    lines: tuple[Line, ...]


def by_category(lines: Iterable[Line]) -> list[Category]:
    """The lines by category, numbered ones by number, then the others by name."""
    groups: dict[str, list[Line]] = {}
    for line in lines:
        groups.setdefault(line["category"], []).append(line)
    numbers = {name: number for number, name in CATEGORIES.items()}
    found = [
        Category(number, name.partition(" ")[2] if number else name, tuple(groups[name]))
        for name, number in ((name, numbers.get(name)) for name in sorted(groups))
    ]
    return sorted(found, key=lambda category: (category.number is None, category.number or 0, category.name))


@dataclass(frozen=True, slots=True)
class Iterations:
    """How many steps a controller took (APDMem, Table 6)."""

    median: int
    p95: int
    p99: int
    max: int
    n: int
    """Questions."""


def iterations(lines: Iterable[Line]) -> Iterations | None:
    """Nearest-rank percentiles: so many steps do for that share of the questions. None: no controller."""
    steps = sorted(line["steps"] for line in lines if line["steps"] is not None)
    if not steps:
        return None
    median, p95, p99 = (steps[max(math.ceil(share * len(steps) / 100), 1) - 1] for share in (50, 95, 99))
    return Iterations(median, p95, p99, steps[-1], len(steps))
