"""Names beside the points of a plot, where they cover neither a point nor each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from localmem.evals.report.svg import CHARACTER


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, y downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def covered(self, other: Box) -> float:
        """Area that both cover."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(wide, 0.0) * max(high, 0.0)


Placed = tuple[str, float, float, str]
"""Text, its place and its anchor."""


def placed(points: Sequence[tuple[str, float, float]], inside: Box) -> Iterator[Placed]:
    """A place for each (name, x, y): the first of eight around the point that covers least."""
    taken = [Box(x - 6, y - 6, x + 6, y + 6) for _, x, y in points]
    for text, x, y in points:
        best = min(_around(text, x, y), key=lambda place: _cost(_box(place), taken, inside))
        taken.append(_box(best))
        yield best


def _around(text: str, x: float, y: float) -> list[Placed]:
    return [
        (text, x + 9, y + 4, "start"),
        (text, x - 9, y + 4, "end"),
        (text, x, y - 10, "middle"),
        (text, x, y + 18, "middle"),
        (text, x + 7, y - 8, "start"),
        (text, x + 7, y + 16, "start"),
        (text, x - 7, y - 8, "end"),
        (text, x - 7, y + 16, "end"),
    ]


def _box(place: Placed) -> Box:
    text, x, y, anchor = place
    wide = CHARACTER * len(text)
    left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
    return Box(left, y - 10, left + wide, y + 3)


def _cost(box: Box, taken: Sequence[Box], inside: Box) -> float:
    """Area over names and points, and what sticks out of the plot, which weighs more."""
    area = (box.right - box.left) * (box.bottom - box.top)
    return sum(box.covered(other) for other in taken) + 4 * (area - box.covered(inside))
