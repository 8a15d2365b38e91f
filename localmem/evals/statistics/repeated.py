"""Two systems, each run several times: how sure is the difference of their means over runs?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from localmem.evals.statistics.extra import needed
from localmem.evals.statistics.intervals import CONFIDENCE, RESAMPLES, Numbers


@dataclass(frozen=True, slots=True)
class Welch:
    """Welch's t test (1947) of two groups of runs, first less second."""

    difference: float
    t: float
    df: float
    p: float
    """Two-sided."""
    low: float
    """Ends of the 95 % interval of the difference."""
    high: float


def welch(first: Numbers, second: Numbers) -> Welch | None:
    """Welch's t test of the means of two groups of at least two runs; None when no run differs in either."""
    if not _vary(first, second):
        return None
    with needed():
        from scipy import stats
    with warnings.catch_warnings():
        # Of a group whose runs are all alike: its variance is 0, and no precision was lost.
        warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
        test = stats.ttest_ind(first, second, equal_var=False)
    interval = test.confidence_interval(CONFIDENCE)
    return Welch(
        float(np.mean(first) - np.mean(second)),
        float(test.statistic),
        float(test.df),
        float(test.pvalue),
        float(interval.low),
        float(interval.high),
    )


def bca_difference(first: Numbers, second: Numbers, seed: int = 0) -> tuple[float, float] | None:
    """BCa interval (95 %) of the same difference (APDMem, Table 8); None as above."""
    if not _vary(first, second):
        return None
    with needed():
        from scipy import stats
    found = stats.bootstrap(
        (np.sort(first), np.sort(second)),
        _difference,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="BCa",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(found.low), float(found.high)


def _difference(first: Numbers, second: Numbers, axis: int = -1) -> Numbers:
    difference: Numbers = np.mean(first, axis=axis) - np.mean(second, axis=axis)
    return difference


def _vary(*groups: Numbers) -> bool:
    return any(not np.allclose(group, group[0], rtol=1e-12, atol=1e-12) for group in groups)
