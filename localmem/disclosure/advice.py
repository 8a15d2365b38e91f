"""Advice on T_max, the controller's most steps (APDMem, Appendix D): from the steps that answers took."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

RARE = 0.01
"""Share of answers that the tightest sufficient bound may cut short."""


@dataclass(frozen=True, slots=True)
class StepDistribution:
    """How many steps answers took (APDMem, Table 6)."""

    answers: int
    median: int
    p95: int
    p99: int
    most: int
    truncated: int
    """Answers that used up all the steps they had."""
    advice: int | None
    """The smallest bound that at most one answer in a hundred would have passed; None: too many were cut
    short to say how many steps they wanted."""


def step_distribution(steps: Sequence[int], limits: Sequence[int]) -> StepDistribution:
    """Of each answer its steps and its T_max; at least one. Percentiles are values that occurred."""
    ordered = sorted(steps)
    truncated = sum(taken >= limit for taken, limit in zip(steps, limits, strict=True))
    tightest = percentile(ordered, 1 - RARE)
    return StepDistribution(
        len(ordered),
        percentile(ordered, 0.5),
        percentile(ordered, 0.95),
        percentile(ordered, 0.99),
        ordered[-1],
        truncated,
        tightest if truncated <= RARE * len(ordered) else None,
    )


def percentile(ordered: Sequence[int], share: float) -> int:
    """The smallest value that at least ``share`` of the ascending values do not exceed (nearest rank)."""
    return ordered[max(math.ceil(share * len(ordered) - 1e-9), 1) - 1]
