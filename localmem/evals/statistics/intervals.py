"""A mean with its interval: a bootstrap of conversations, or of questions where each stands for itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from localmem.evals.statistics.extra import needed

RESAMPLES = 10_000
CONFIDENCE = 0.95

Floats = NDArray[np.float64]
Numbers = Sequence[float] | Floats

_AT_A_TIME = 1_000_000
"""Draws that are held in memory."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over questions. Interval and error are None where the numbers cannot tell: see the function."""

    value: float
    n: int
    """Questions."""
    clusters: int
    """What was resampled: conversations, or single questions."""
    low: float | None
    """Ends of the 95 % interval."""
    high: float | None
    error: float | None
    """Standard error; robust to clusters where there are any."""
    method: Literal["clustered", "BCa"]


@dataclass(frozen=True, slots=True)
class Units:
    """What is drawn: sums and sizes of conversations, or single values of size 1."""

    values: Floats
    """Of the questions, ascending: their order is no part of a result."""
    codes: NDArray[np.intp]
    """Unit of each value."""
    sums: Floats
    sizes: Floats

    @property
    def mean(self) -> float:
        """Over all questions."""
        return float(self.sums.sum() / self.sizes.sum())

    @property
    def clustered(self) -> bool:
        """Whether a unit holds more than one question."""
        return len(self.sums) < len(self.values)

    @property
    def vary(self) -> bool:
        """Whether resampling can change the mean."""
        return not np.allclose(self.sums, self.mean * self.sizes, rtol=1e-12, atol=1e-12)


def units(values: Numbers, clusters: Sequence[str] | None) -> Units:
    """The units of ``values``; ``clusters`` names the conversation of each.

    With fewer than two conversations every question is a unit.
    """
    numbers = np.asarray(values, np.float64)
    order = np.argsort(numbers, kind="stable")
    codes: NDArray[np.intp] = np.arange(len(numbers))
    if clusters is not None and len(set(clusters)) > 1:
        codes = np.unique(np.asarray(clusters), return_inverse=True)[1][order]
    ascending = numbers[order]
    sums, sizes = np.bincount(codes, ascending), np.bincount(codes)
    return Units(ascending, codes, sums.astype(np.float64), sizes.astype(np.float64))


def resampled_means(drawn: Units, seed: int, resamples: int = RESAMPLES) -> Floats:
    """Means of ``resamples`` samples of as many units, drawn with replacement.

    A sample's mean is over its questions: conversations of different length keep their weight.
    """
    random = np.random.default_rng(seed)
    count = len(drawn.sums)
    means = np.empty(resamples)
    step = max(1, _AT_A_TIME // count)
    for start in range(0, resamples, step):
        rows = random.integers(0, count, (min(step, resamples - start), count))
        sizes = drawn.sizes[rows].sum(axis=1) if drawn.clustered else count
        means[start : start + step] = drawn.sums[rows].sum(axis=1) / sizes
    return means


def mean_interval(values: Numbers, clusters: Sequence[str] | None = None, seed: int = 0) -> Mean | None:
    """The mean of ``values`` with its 95 % interval, from 10,000 resamples; None without a value.

    Questions of one conversation depend on each other, so whole conversations are resampled when there are
    at least two and one has several questions. Percentiles of few units are too narrow; their tails are
    widened as Hesterberg advises (2015, "What teachers should know about the bootstrap", expanded
    percentiles): by sqrt(n / (n - 1)) and from the normal to the t distribution. With ten conversations that
    widens the interval by about a fifth, with two it reaches from the lower mean to the higher and means
    little more: no resampling can know of conversations that are unlike all that were seen.
    Else the interval is BCa (``scipy.stats.bootstrap``), which nothing widens.

    The error is statsmodels' cluster-robust one (with its correction for few clusters), or s / sqrt(n).
    Where the units do not vary (one question, or all scored the same) there is no interval and no error: a
    bootstrap would close on the mean, as if it were certain.
    """
    if not len(values):
        return None
    drawn = units(values, clusters)
    method: Literal["clustered", "BCa"] = "clustered" if drawn.clustered else "BCa"
    if not drawn.vary:
        return Mean(drawn.mean, len(values), len(drawn.sums), None, None, None, method)
    low, high = _expanded(drawn, seed) if drawn.clustered else _bca(drawn.values, seed)
    return Mean(drawn.mean, len(values), len(drawn.sums), low, high, _error(drawn), method)


def _expanded(drawn: Units, seed: int) -> tuple[float, float]:
    with needed():
        from scipy import stats
    count = len(drawn.sums)
    quantile = stats.t.ppf((1 + CONFIDENCE) / 2, count - 1)
    tail = stats.norm.cdf(-math.sqrt(count / (count - 1)) * quantile)
    low, high = np.quantile(resampled_means(drawn, seed), [tail, 1 - tail])
    return float(low), float(high)


def _bca(values: Floats, seed: int) -> tuple[float, float]:
    with needed():
        from scipy import stats
    found = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=max(1, _AT_A_TIME // len(values)),
        confidence_level=CONFIDENCE,
        method="BCa",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(found.low), float(found.high)


def _error(drawn: Units) -> float:
    with needed():
        from statsmodels.regression.linear_model import OLS
    model = OLS(drawn.values, np.ones(len(drawn.values)))
    if drawn.clustered:
        return float(model.fit(cov_type="cluster", cov_kwds={"groups": drawn.codes}).bse[0])
    return float(model.fit().bse[0])
