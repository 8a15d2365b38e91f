"""The same thing run several times: mean and deviation over runs, and Welch's test of two such groups."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean, stdev

from localmem.errors import BadInput
from localmem.evals.comparing.pairs import QUALITY
from localmem.evals.log import Log
from localmem.evals.scored import names, same_data, scored
from localmem.evals.scores import Score
from localmem.evals.statistics import Welch, bca_difference, holm, welch

DETERMINISTIC = (
    "At temperature 0 a run is deterministic here: repeated, it gives the same answers, so that a deviation "
    "over runs would be 0 and Welch's test would test nothing. Compare single runs with `localmem eval "
    "compare`, or run with --runs N, which draws answers at a temperature with a seed."
)

_OF_A_RUN = frozenset({"label", "arm_label", "run_number"})
"""Of a log's first line: what the runs of a group may differ in."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A score over the runs of a group."""

    score: str
    means: tuple[float, ...]
    """Of each run, by run number."""
    mean: float
    deviation: float
    """Of the runs' means (n - 1)."""
    unscored: int
    """Questions without the score, over all runs: left out."""


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that differ in nothing but what was drawn."""

    name: str
    runs: int
    questions: int
    temperature: float
    spreads: tuple[Spread, ...]
    """Scores that no run has are left out."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """A score in two groups: first less second."""

    score: str
    first: str
    second: str
    welch: Welch | None
    """None when no run differs from another in either group."""
    bca: tuple[float, float] | None
    """BCa interval (95 %) of the same difference."""
    holm_p: float | None = None
    """Welch's p after Holm over all scores and pairs of groups."""


@dataclass(frozen=True, slots=True)
class MultiRun:
    """Groups of runs and the tests of each two."""

    groups: tuple[Group, ...]
    tests: tuple[Contrast, ...]


def multi_run(logs: Sequence[Log], scores: Mapping[str, Score] = QUALITY, seed: int = 0) -> MultiRun:
    """Mean and deviation of ``scores`` over repeated runs, and Welch's test where there are several groups.

    Raises :class:`BadInput` for runs at temperature 0 (:data:`DETERMINISTIC`), a run alone or given twice,
    and runs over different data or questions.
    """
    if not logs:
        raise BadInput("There is no run to sum up.")
    if any(not log.run["temperature"] for log in logs):
        raise BadInput(DETERMINISTIC)
    same_data(logs)
    for log in logs:
        if set(log.lines) != set(logs[0].lines):
            raise BadInput(
                f"{log.path} and {logs[0].path} are not over the same questions. "
                "Let both runs end, with the same --limit and --seed."
            )
    grouped: dict[str, list[Log]] = {}
    for log in sorted(logs, key=lambda log: int(log.run["run_number"])):
        same = {key: value for key, value in log.run.items() if key not in _OF_A_RUN}
        grouped.setdefault(json.dumps(same, sort_keys=True), []).append(log)
    called = names([runs[0] for runs in grouped.values()])
    groups = tuple(_group(name, runs, scores) for name, runs in zip(called, grouped.values(), strict=True))
    return MultiRun(groups, _tests(groups, seed))


def _group(name: str, runs: Sequence[Log], scores: Mapping[str, Score]) -> Group:
    first, numbers = runs[0], [log.run["run_number"] for log in runs]
    if len(set(numbers)) < len(numbers):
        raise BadInput(f"Run {max(numbers, key=numbers.count)} of {first.label} is given more than once.")
    if len(runs) < 2:
        raise BadInput(f"{first.path} is the only run of its kind: a deviation needs at least two.")
    spreads = []
    for score_name, score in scores.items():
        found = [scored(log.lines.values(), score) for log in runs]
        if all(one.values for one in found):
            means = tuple(fmean(one.values) for one in found)
            unscored = sum(one.unscored for one in found)
            spreads.append(Spread(score_name, means, fmean(means), stdev(means), unscored))
    called = name.replace(f"-run{numbers[0]}", "", 1)
    return Group(called, len(runs), len(first.lines), float(first.run["temperature"]), tuple(spreads))


def _tests(groups: Sequence[Group], seed: int) -> tuple[Contrast, ...]:
    tests = []
    for one, other in combinations(groups, 2):
        others = {spread.score: spread.means for spread in other.spreads}
        for spread in one.spreads:
            if spread.score in others:
                pair = (spread.means, others[spread.score])
                bca = bca_difference(*pair, seed=seed)
                tests.append(Contrast(spread.score, one.name, other.name, welch(*pair), bca))
    adjusted = iter(holm([test.welch.p for test in tests if test.welch is not None]))
    return tuple(test if test.welch is None else replace(test, holm_p=next(adjusted)) for test in tests)
