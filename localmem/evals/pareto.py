"""What does quality cost? The runs that no other beats in both (BFR, Table 16)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from localmem.errors import BadInput
from localmem.evals.log import Log
from localmem.evals.scored import common_ids, names, same_data, scored
from localmem.evals.scores import SCORES, Score
from localmem.evals.statistics import Mean

COSTS = ("completion_calls", "records", "calls", "tokens_read", "seconds")
"""Scores that are costs. The paper's are the first two: calls of completion, and size of the evidence set."""


@dataclass(frozen=True, slots=True)
class Point:
    """A run as cost and quality: means over its questions."""

    name: str
    costs: Mapping[str, float]
    """By name; less is better."""
    quality: float
    """More is better."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Some runs on the questions that all of them have a score for."""

    score: str
    points: tuple[Point, ...]
    """By cost, then by falling quality."""
    means: Mapping[str, Mean]
    """Quality of each point, by name, with its interval."""
    front: frozenset[str]
    """Names of the points that no other beats."""
    n: int
    left_out: int
    """Questions that some run lacks or has no score for."""


def sweep(logs: Sequence[Log], name: str, score: Score, costs: Sequence[str] = COSTS[:1]) -> Sweep:
    """Place runs by their mean ``costs`` (of :data:`COSTS`) and score, which must be better when larger.

    They are meant to be one arm at several operating points; arms over the same data compare as well.
    Raises :class:`BadInput` for an unknown cost, different data or no question that all have a score for.
    """
    if not logs:
        raise BadInput("A budget sweep needs at least one run.")
    if unknown := [cost for cost in costs if cost not in COSTS]:
        raise BadInput(f"There is no cost {unknown[0]!r}. Costs: {', '.join(COSTS)}.")
    same_data(logs)
    shared = common_ids(logs)
    usable = [i for i in shared if all(score(log.lines[i]) is not None for log in logs)]
    if not usable:
        raise BadInput(f"No question has {name} in all runs of the sweep.")
    points, means = [], {}
    for called, log in zip(names(logs), logs, strict=True):
        lines = [log.lines[i] for i in usable]
        mean = scored(lines, score).mean()
        assert mean is not None  # every line is scored
        spent = {cost: fmean(scored(lines, SCORES[cost]).values) for cost in costs}
        points.append(Point(called, spent, mean.value))
        means[called] = mean
    points.sort(key=lambda point: (*point.costs.values(), -point.quality, point.name))
    every = set().union(*(log.lines for log in logs))
    left_out = len(every) - len(usable)
    return Sweep(name, tuple(points), means, pareto_front(points), len(usable), left_out)


def pareto_front(points: Sequence[Point]) -> frozenset[str]:
    """Names of the points that no other is at least as good as in everything and better than in something.

    Equal points stand or fall together.
    """
    return frozenset(point.name for point in points if not any(_dominates(other, point) for other in points))


def _dominates(one: Point, other: Point) -> bool:
    gains = [other.costs[cost] - one.costs[cost] for cost in other.costs]
    gains.append(one.quality - other.quality)
    return min(gains) >= 0 and max(gains) > 0
