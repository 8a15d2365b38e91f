"""How long evidence reconstruction takes to filter a pool by formal concepts."""

from __future__ import annotations

import random
import time
from statistics import median
from typing import Any

from localmem.reconstruction.concepts import Context
from localmem.reconstruction.notes import POOL
from localmem.reconstruction.requirements import MOST
from localmem.reconstruction.selection import prefilter

USUAL = 4
"""Requirements of a long question; most have one or two."""
MET = 0.3
"""Share of the pool that meets a requirement."""
RUNS = 20


def bench_concepts() -> dict[str, Any]:
    """Milliseconds of the prefilter for a usual question and the worst, and the concepts of that."""
    draw = random.Random(0)
    usual = [sum((draw.random() < MET) << n for n in range(USUAL)) for _ in range(POOL)]
    every = (1 << MOST) - 1
    worst = [every ^ (1 << place % MOST) for place in range(POOL)]  # each candidate lacks one requirement
    return {
        "usual_ms": median(_milliseconds(usual, USUAL) for _ in range(RUNS)),
        "worst_ms": _milliseconds(worst, MOST),
        "worst_concepts": sum(1 for _ in Context(worst, MOST).concepts()),
    }


def _milliseconds(rows: list[int], needs: int) -> float:
    started = time.perf_counter()
    prefilter(rows, needs)
    return 1000 * (time.perf_counter() - started)
