"""Is a result one of a few conversations? Means over conversation-level folds (BFR, Appendix J)."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from localmem.errors import BadInput
from localmem.evals.log import Log
from localmem.evals.scored import Scored, scored
from localmem.evals.scores import Score


@dataclass(frozen=True, slots=True)
class Fold:
    """A mean over the questions of some conversations."""

    conversations: tuple[str, ...]
    """Held out of the rest; of a leave-one-out fold, the one that is left out of the mean."""
    n: int
    mean: float


@dataclass(frozen=True, slots=True)
class Folds:
    """A score over folds: nothing is trained, so they show how far it depends on the conversations."""

    mean: float
    """Over all questions."""
    folds: tuple[Fold, ...]
    average: float
    """Of the folds' means, each counted once whatever its size."""
    deviation: float
    """Of the folds' means (n - 1)."""
    low: float
    """Smallest mean of a fold."""
    high: float
    unscored: int
    """Questions without the score, left out."""


def leave_one_out(log: Log, score: Score) -> Folds:
    """The mean without one conversation, for each conversation.

    Raises :class:`BadInput` for fewer than two conversations with the score.
    """
    found = scored(log.lines.values(), score)
    groups = _by_conversation(found, log)
    folds = [
        _fold((name,), (value for other, values in groups.items() if other != name for value in values))
        for name in groups
    ]
    return _folds(found, folds)


def grouped_folds(log: Log, score: Score, k: int, seed: int = 0) -> Folds:
    """The mean over each of ``k`` groups of conversations, dealt at random, as many to each as goes.

    Raises :class:`BadInput` for a ``k`` below 2 or above the number of conversations with the score.
    """
    found = scored(log.lines.values(), score)
    groups = _by_conversation(found, log)
    if not 2 <= k <= len(groups):
        raise BadInput(f"{len(groups)} conversations make 2 to {len(groups)} folds, not {k}.")
    dealt = random.Random(seed).sample(list(groups), len(groups))
    parts = [tuple(sorted(dealt[start::k])) for start in range(k)]
    return _folds(found, [_fold(part, (value for name in part for value in groups[name])) for part in parts])


def _by_conversation(found: Scored, log: Log) -> dict[str, list[float]]:
    groups: defaultdict[str, list[float]] = defaultdict(list)
    for source, value in zip(found.sources, found.values, strict=True):
        groups[source].append(value)
    if len(groups) < 2:
        raise BadInput(f"{log.path} has scores of {len(groups)} conversations: folds need at least two.")
    return dict(sorted(groups.items()))


def _fold(conversations: tuple[str, ...], values: Iterable[float]) -> Fold:
    numbers = list(values)
    return Fold(conversations, len(numbers), fmean(numbers))


def _folds(found: Scored, folds: Sequence[Fold]) -> Folds:
    means = [fold.mean for fold in folds]
    return Folds(
        fmean(found.values), tuple(folds), fmean(means), stdev(means), min(means), max(means), found.unscored
    )
