"""Values that pass between the parts that read dates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

Stretch = tuple[date, date]
"""First and last day, both included."""


class Lean(StrEnum):
    """Which of its years a date without a year belongs to."""

    NEAREST = "nearest"
    PAST = "past"
    """The latest that has begun."""
    COMING = "coming"
    """The earliest that is not over."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When words were said, and how to complete what they leave out."""

    day: date
    time: datetime | None = None
    """The moment itself where it is known; hours are counted from it."""
    lean: Lean = Lean.NEAREST
    before: str = ""
    """What was said before the words that are read, lowercased; it tells of past or future."""


@dataclass(frozen=True, slots=True)
class Days:
    """The days some words mean, and how the words were read."""

    first: date
    last: date
    """Equal to ``first`` when one day is meant."""
    how: str
    vague: bool = False
    """The words leave open which days: this is a wide guess at them."""

    @property
    def stretch(self) -> Stretch:
        """First and last day."""
        return self.first, self.last


class Undecided(ValueError):
    """Words of time that name no days; the message says why."""


Part = dict[str, str]
"""The named groups that took part in a match, lowercased, white space as single spaces."""

Reader = Callable[[Part, Moment], tuple[Days, ...]]
"""What a kind of expression means; two readings where it is ambiguous.

Raises ValueError or OverflowError for days that no calendar has, and ``Undecided``.
"""


def one(day: date, how: str) -> tuple[Days, ...]:
    """A single day."""
    return (Days(day, day, how),)


def span(stretch: Stretch, how: str, *, vague: bool = False) -> tuple[Days, ...]:
    """A stretch of days."""
    return (Days(*stretch, how, vague),)
