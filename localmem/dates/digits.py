"""Dates in digits."""

from __future__ import annotations

from datetime import date

from localmem.dates.days import Days, Moment, Part, one, span
from localmem.dates.units import period


def written(part: Part, at: Moment) -> tuple[Days, ...]:
    """``2023-05-07``, ``2023-05``."""
    if "iso" in part:
        return one(date.fromisoformat(part["iso"]), "ISO date")
    return span(period("month", date.fromisoformat(part["month"] + "-01")), "ISO month")


def numeric(part: Part, at: Moment) -> tuple[Days, ...]:
    """``13/4/2023``; both readings where day and month may be either."""
    a, b, c = part["a"], part["b"], part["c"]
    if len(a) == 4:
        return one(date(int(a), int(b), int(c)), "year, month, day")
    year = int(c) if len(c) == 4 else full_year(int(c), at)
    first, second = int(a), int(b)
    if first == second or first > 12:
        return one(date(year, second, first), "day, month, year")
    if second > 12:
        return one(date(year, first, second), "month, day, year")
    return (
        *one(date(year, second, first), "day first; it may also be written month first"),
        *one(date(year, first, second), "month first; it may also be written day first"),
    )


def full_year(short: int, at: Moment) -> int:
    """``98`` -> 1998, ``23`` -> 2023: at most 30 years ahead of when it was said."""
    year = at.day.year // 100 * 100 + short
    return year - 100 if year > at.day.year + 30 else year
