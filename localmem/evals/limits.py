"""What an arm may spend, and the paper's operating points (BFR, Table 16)."""

from __future__ import annotations

from dataclasses import dataclass

from localmem.errors import BadInput
from localmem.reconstruction.completion import Budget


@dataclass(frozen=True, slots=True)
class Limits:
    """What an arm may spend on a question."""

    records: int
    """Records that an arm which ranks returns; one that builds a set has its budget instead."""
    budget: Budget | None = None
    """Of completion; None: the arm's own."""
    keep: int | None = None
    """Records kept a round; None: the arm's own."""
    seed: int = 0


POINTS = {f"C{calls}": calls for calls in (0, 1, 2, 3, 4, 6, 9)}
"""Operating points of the budget sweep: how many calls each allows."""

PAPER: dict[tuple[str, str], tuple[float, float]] = {
    ("fca-ms", "C0"): (0.00, 10.00),
    ("bfr-mv", "C1"): (1.00, 21.91),
    ("bfr-mv", "C2"): (2.00, 29.05),
    ("bfr-mv", "C3"): (3.00, 29.84),
    ("bfr-mv", "C4"): (4.00, 39.72),
    ("bfr-mv", "C6"): (5.99, 39.88),
    ("bfr-mv", "C9"): (8.98, 59.23),
    ("bfr-text", "C1"): (1.00, 18.00),
    ("bfr-text", "C2"): (2.00, 26.00),
    ("bfr-text", "C3"): (3.00, 34.00),
    ("bfr-text", "C4"): (4.00, 40.00),
    ("bfr-text", "C6"): (4.00, 40.00),
}
"""Means of (calls, records) that the paper reports by arm and point."""


def at_point(point: str) -> Budget:
    """The budget of an operating point. Raises :class:`BadInput` for one that there is not.

    Calls are what a point is named by. Three rounds are too few for a schedule of one call a round past C3,
    and C9's sets of 59 records need 50 new ones.
    """
    if point not in POINTS:
        raise BadInput(f"There is no operating point {point!r}. Points: {', '.join(POINTS)}.")
    calls = POINTS[point]
    return Budget(steps=max(3, calls), calls=calls, records=50 if calls > 6 else 30)
