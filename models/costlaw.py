"""How the seconds of a call follow from its tokens, and the fit of that law to timed calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from localmem.models.protocols import Finished, StopReason

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Floats = NDArray[np.float64]


class Law(BaseModel):
    """Seconds of reading and of writing. A token attends to all before it, so its position counts.

    Each part is non-negative; so a prediction never falls when a call grows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    read_call: Seconds
    """For every call, however little it reads: one pass over the weights."""
    read_token: Seconds
    read_position: Seconds
    """For a token read, times its position."""
    written_token: Seconds
    written_position: Seconds
    """For a token written, times its position."""

    def reading(self, start: int, count: int) -> float:
        """Seconds to read ``count`` tokens, the first at position ``start``; 0 for none."""
        if count == 0:
            return 0.0
        return self.read_call + self.read_token * count + self.read_position * _positions(start, count)

    def writing(self, start: int, count: int) -> float:
        """Seconds to write ``count`` tokens, the first at position ``start``."""
        return self.written_token * count + self.written_position * _positions(start, count)


GENERAL = Law(
    read_call=1 / 20,
    read_token=1 / 60,
    read_position=1 / 60 / 5000,
    written_token=1 / 20,
    written_position=1 / 20 / 8000,
)
"""A model of a billion weights on a laptop; what stands in for a model that was never timed."""


_TICK = 1e-6  # seconds: less was not timed
FAR = 1000
"""Position that a timed stretch must reach for the cost of positions to show above the noise."""


@dataclass(frozen=True, slots=True)
class Timed:
    """One timed stretch of reading or writing."""

    start: int
    """Position of its first token."""
    count: int
    """Tokens, at least 1."""
    seconds: float
    """More than 0; as :class:`~localmem.models.protocols.Finished` has them."""


def reading_of(call: Finished) -> Timed | None:
    """What a call read; None when that was nothing, or was broken off."""
    if call.reason is StopReason.CANCELLED and call.tokens_written == 0:
        return None
    return _timed(call.tokens_reused, call.tokens_read, call.seconds_read)


def writing_of(call: Finished) -> Timed | None:
    """What a call wrote; None when that was nothing.

    The first token comes of reading, and the last is evaluated only if the model goes on after it to
    say that it was done.
    """
    evaluated = call.tokens_written - (call.reason is not StopReason.END)
    return _timed(call.tokens_reused + call.tokens_read, evaluated, call.seconds_written)


def _timed(start: int, count: int, seconds: float) -> Timed | None:
    return Timed(start, count, seconds) if count > 0 and seconds > _TICK else None


def fit(reads: Sequence[Timed], writes: Sequence[Timed]) -> tuple[Law, float]:
    """The law nearest to what was timed, and its error: root mean square of the relative residuals.

    Least squares over the relative errors, so that a short call counts as much as a long one. What was
    timed near the start of the window only says nothing about positions: those then weigh as in
    :data:`GENERAL`.
    """
    call, read, read_position, read_errors = _solve(reads, GENERAL.read_position / GENERAL.read_token, True)
    _, written, written_position, write_errors = _solve(
        writes, GENERAL.written_position / GENERAL.written_token, False
    )
    law = Law(
        read_call=call,
        read_token=read,
        read_position=read_position,
        written_token=written,
        written_position=written_position,
    )
    return law, float(np.sqrt(np.mean(np.concatenate([read_errors, write_errors]) ** 2)))


def non_negative(matrix: Floats, target: Floats) -> Floats:
    """The x >= 0 with the least squares of ``matrix @ x - target``; exact, for a few columns.

    Its positive part is the plain solution over those columns, so every choice of columns is tried.
    """
    columns = range(matrix.shape[1])
    best, least = np.zeros(matrix.shape[1]), float(target @ target)
    for size in range(1, matrix.shape[1] + 1):
        for chosen in combinations(columns, size):
            part = matrix[:, chosen]
            solution = np.linalg.lstsq(part, target, rcond=None)[0]
            residual = part @ solution - target
            if (solution >= 0).all() and float(residual @ residual) < least:
                best, least = np.zeros(matrix.shape[1]), float(residual @ residual)
                best[list(chosen)] = solution
    return best


def _solve(timed: Sequence[Timed], general: float, calls: bool) -> tuple[float, float, float, Floats]:
    """Seconds a call (if ``calls``), a token and a token's position, then the relative residuals.

    ``general`` is what a position costs beside a token when no timed stretch reaches ``FAR``.
    """
    counts = np.array([t.count for t in timed], np.float64)
    positions = np.array([_positions(t.start, t.count) for t in timed])
    far = max(t.start + t.count for t in timed) >= FAR
    columns = [np.ones(len(timed))] if calls else []
    columns += [counts, positions] if far else [counts + general * positions]
    matrix = np.stack(columns, axis=1) / np.array([[t.seconds] for t in timed])
    scale = matrix.max(axis=0)  # counts and sums of positions differ by thousands
    solution = non_negative(matrix / scale, np.ones(len(timed))) / scale
    call, token, *position = solution.tolist() if calls else [0.0, *solution.tolist()]
    return call, token, position[0] if far else general * token, matrix @ solution - 1


def _positions(start: int, count: int) -> float:
    """Sum of the positions of ``count`` tokens, the first at ``start``."""
    return count * start + count * count / 2
