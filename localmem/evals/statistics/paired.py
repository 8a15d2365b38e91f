"""Tests of two systems on the same questions, and of several such tests at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from localmem.evals.statistics.extra import needed
from localmem.evals.statistics.intervals import (
    RESAMPLES,
    Mean,
    Numbers,
    mean_interval,
    resampled_means,
    units,
)


def paired_bootstrap(
    first: Numbers, second: Numbers, clusters: Sequence[str] | None = None, seed: int = 0
) -> tuple[Mean | None, float | None]:
    """The mean of ``first - second``, question by question, with its interval, and the p of no difference.

    Interval and resampling are those of :func:`mean_interval`. Two-sided p: how often a resampled mean lies
    as far from the mean seen as that lies from 0, (1 + k) / (1 + 10,000). Its tail is widened for few units
    like the interval's, so that five conversations that all agree give p = 0.02 and two give 0.2. Differences
    that are all 0 give p = 1; that all are the same other number gives None: nothing varies to judge it by.
    """
    differences = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    mean = mean_interval(differences, clusters, seed)
    if mean is None:
        return None, None
    drawn = units(differences, clusters)
    if not drawn.vary:
        return mean, 1.0 if abs(mean.value) < 1e-12 else None
    away = np.abs(resampled_means(drawn, seed) - drawn.mean)
    extreme = int(np.count_nonzero(away >= abs(drawn.mean) - 1e-12))
    return mean, _widened((1 + extreme) / (1 + RESAMPLES), len(drawn.sums))


def mcnemar(win: int, loss: int) -> float:
    """Exact two-sided McNemar p of two systems that are right on ``win`` and ``loss`` questions alone."""
    with needed():
        from statsmodels.stats.contingency_tables import mcnemar as test
    return float(test([[0, win], [loss, 0]], exact=True).pvalue)


def holm(p: Sequence[float]) -> tuple[float, ...]:
    """The p values of a family of tests, adjusted by Holm (1979), in the same order.

    The smallest of m times m, the next times m - 1 ..., none less than the one before it, none above 1.
    """
    values = np.asarray(p, np.float64)
    order = np.argsort(values, kind="stable")
    adjusted = np.empty(len(values))
    adjusted[order] = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    return tuple(float(value) for value in adjusted.clip(max=1))


def _widened(p: float, count: int) -> float:
    """A bootstrap's two-sided p, from the normal tail to that of t with ``count`` units."""
    with needed():
        from scipy import stats
    return float(2 * stats.t.sf(stats.norm.isf(p / 2) * math.sqrt((count - 1) / count), count - 1))
