"""Two things compared on a machine that is never quite quiet: in pairs, each next to the other in time.

A disturbance that lasts longer than a pair slows both of it alike, and one that does not is an outlier
that a median passes by.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000
LEAST = 3
"""Rounds that are always run."""
NARROW = 0.03
"""Width of a 95 % interval, relative, at which more rounds would add little."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """How a speed compares with another: above 1, the first is faster."""

    value: float
    """Median over the pairs."""
    low: float
    high: float
    """Bounds of its 95 % interval (bootstrap over pairs)."""
    pairs: int

    @property
    def width(self) -> float:
        """Of the interval, relative."""
        return (self.high - self.low) / self.value


def ratio(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """The median ratio of pairs of speeds; those with a speed that is no number are left out.

    The same pairs give the same interval. Without a pair all of it is NaN.
    """
    ratios = np.array([one / other for one, other in pairs if math.isfinite(one) and math.isfinite(other)])
    if not len(ratios):
        return Ratio(math.nan, math.nan, math.nan, 0)
    drawn = np.random.default_rng(0).choice(ratios, (RESAMPLES, len(ratios)))
    low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975])
    return Ratio(float(np.median(ratios)), float(low), float(high), len(ratios))


def rounds(
    seconds: float, narrow: Callable[[], bool], clock: Callable[[], float] = time.monotonic
) -> Iterator[int]:
    """Round numbers: ``LEAST``, then more until ``narrow`` or the next would end after ``seconds``."""
    started = clock()
    number = 0
    while True:
        yield number
        number += 1
        spent = clock() - started
        if number >= LEAST and (narrow() or spent + spent / number > seconds):
            return
