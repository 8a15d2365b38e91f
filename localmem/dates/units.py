"""The calendar that days are counted in.

Weeks begin on Monday. Seasons are the northern ones, in whole months. Every date is a wall date in the
zone of whoever spoke: there is no clock here, and no zone.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterable
from datetime import date, timedelta

from dateutil.relativedelta import relativedelta

from localmem.dates.days import Lean, Moment, Stretch

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""Month in which each begins in the north; it lasts three."""

_LENGTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
"""In months."""


def day_text(day: date) -> str:
    """``7 May 2023``."""
    return f"{day.day} {day:%B} {day.year}"


def stretch_text(first: date, last: date) -> str:
    """``7 May 2023``, ``May 2023``, ``early May 2023``, ``summer 2023``, ``2 May 2023 to 3 June 2023``."""
    if first == last:
        return day_text(first)
    for unit, name in (
        ("month", f"{first:%B} {first.year}"),
        ("year", f"{first.year}"),
        ("decade", f"the {first.year}s"),
    ):
        whole = period(unit, first)
        if (first, last) == whole:
            return name
        if unit == "decade" or whole[0] > first or whole[1] < last:
            continue
        for part in ("early", "mid", "late"):
            if (first, last) == part_of(whole, part):
                return f"{part} {name}"
    for season in ("spring", "summer", "autumn", "winter"):
        begins = SEASONS[season]
        if (first.month, last.month) == (begins, (begins + 1) % 12 + 1) and (first, last) == season_of(
            season, first.year
        ):
            return f"{season} {first.year}"
    return f"{day_text(first)} to {day_text(last)}"


def moved(day: date, count: int, unit: str) -> date:
    """The day ``count`` units later; the last of a shorter month in place of a day that it lacks."""
    if unit in ("day", "week", "fortnight"):
        return day + timedelta(days=count * {"day": 1, "week": 7, "fortnight": 14}[unit])
    months = count * _LENGTHS[unit]
    if abs(months) > 12 * 9999:
        raise OverflowError("outside the calendar")
    landed: date = day + relativedelta(months=months)
    return landed


def period(unit: str, day: date) -> Stretch:
    """The calendar day, week, weekend, month, quarter, year or decade that ``day`` is in.

    The weekend is the one that ends the week of ``day``.
    """
    if unit == "day":
        return day, day
    monday = day - timedelta(days=day.weekday())
    if unit in ("week", "weekend"):
        return monday + timedelta(days=5 if unit == "weekend" else 0), monday + timedelta(days=6)
    months = _LENGTHS[unit]
    if unit == "decade":
        first = date(max(day.year - day.year % 10, 1), 1, 1)
        return first, date(first.year - first.year % 10 + 9, 12, 31)
    first = date(day.year, (day.month - 1) // months * months + 1, 1)
    return first, _month_end(day.year, first.month + months - 1)


def season_of(name: str, year: int) -> Stretch:
    """The season that begins in ``year``: winter runs into the next."""
    month = SEASONS[name]
    return date(year, month, 1), _month_end(year + (month == 12), (month + 1) % 12 + 1)


def part_of(whole: Stretch, part: str) -> Stretch:
    """``early``, ``mid`` or ``late`` in a stretch: a third of it.

    A year or a season divides by whole months; a month after the 10th and the 20th; a week into Monday and
    Tuesday, Wednesday and Thursday, and the rest.
    """
    first, last = whole
    length = (last - first).days + 1
    if length < 80:
        third = 10 if length >= 28 else length // 3
        one, two = first + timedelta(days=third), first + timedelta(days=2 * third)
    else:
        months = (last.year - first.year) * 12 + last.month - first.month + 1
        # 1990 to 1993, 1994 to 1996, 1997 to 1999
        cuts = (48, 84) if months == 120 else (months // 3, 2 * (months // 3))
        one, two = moved(first, cuts[0], "month"), moved(first, cuts[1], "month")
    begin, after = {"early": (first, one), "mid": (one, two), "late": (two, None)}[part]
    end = last if after is None else after - timedelta(days=1)
    return (begin, end) if begin <= end else whole


def _month_end(year: int, month: int) -> date:
    return date(year, month, monthrange(year, month)[1])


def chosen(candidates: Iterable[Stretch], at: Moment) -> Stretch:
    """The stretch that an expression without a year means; ``candidates`` ascend."""
    all_of_them = list(candidates)
    begun = [stretch for stretch in all_of_them if stretch[0] <= at.day]
    if at.lean is Lean.PAST and begun:
        return begun[-1]
    coming = [stretch for stretch in all_of_them if stretch[1] >= at.day]
    if at.lean is Lean.COMING and coming:
        return coming[0]

    def distance(stretch: Stretch) -> int:
        middle = stretch[0] + (stretch[1] - stretch[0]) // 2
        return abs((middle - at.day).days)

    return min(all_of_them, key=distance)
