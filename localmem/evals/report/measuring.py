"""Means of a run's scores, as the tables show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from localmem.evals.judging import combined
from localmem.evals.log import Line, Log
from localmem.evals.report.parts import NOT_SCORED, Cell, number, percent
from localmem.evals.scored import scored
from localmem.evals.scores import AT_K, SCORES, Score
from localmem.evals.statistics import Mean

HEADLINES = {
    "accuracy": "judged accuracy",
    "stem_f1": "stem F1",
    "complete_evidence_recall": "complete evidence recall",
}
"""What runs are told apart by, the first that any of them has."""


def titled(name: str) -> str:
    """A headline at the beginning of a title."""
    told = HEADLINES[name]
    return told[0].upper() + told[1:]


def has(logs: Iterable[Log], name: str) -> bool:
    """Whether any question has the score."""
    return any(SCORES[name](line) is not None for log in logs for line in log.lines.values())


def headline(logs: Sequence[Log]) -> str:
    """The score that plots and comparisons take: answers where they are scored, else evidence.

    Verdicts of a judge that its calibration finds unreliable tell no runs apart.
    """
    reliable = not any(combined([log.calibration]).faults for log in logs if log.calibration is not None)
    names = (name for name in HEADLINES if has(logs, name) and (name != "accuracy" or reliable))
    return next(names, "complete_evidence_recall")


def among_first(name: str, k: int) -> Score:
    """An evidence score over the first ``k`` records kept."""
    return lambda line: AT_K[name](line, k)


def share_cell(lines: Iterable[Line], score: Score, absent: str = NOT_SCORED, of: int | None = None) -> Cell:
    """A mean of shares in percent, its interval below; with ``of`` also n, where it is another number."""
    found = scored(lines, score).mean()
    if found is None:
        return Cell(absent)
    note = interval(found)
    if of is not None and found.n != of:
        note += f", n = {found.n}"
    return Cell(percent(found.value), note)


def interval(found: Mean) -> str:
    """The ends of an interval in percent, or that there is none."""
    if found.low is None or found.high is None:
        return "no interval"
    return f"{percent(found.low)}–{percent(found.high)}"


def mean_of(lines: Iterable[Line], score: Score) -> float | None:
    """The mean alone."""
    values = scored(lines, score).values
    return fmean(values) if values else None


def mean_cell(lines: Iterable[Line], score: Score, digits: int = 1) -> Cell:
    """A mean of counts or seconds, without an interval."""
    return Cell(number(mean_of(lines, score), digits))
