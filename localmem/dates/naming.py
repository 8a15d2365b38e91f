"""Expressions that name: weekdays, months, seasons, holidays, dates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date

from localmem.dates.counting import STEPS, number
from localmem.dates.days import Days, Lean, Moment, Part, Reader, Stretch, Undecided, one, span
from localmem.dates.digits import full_year
from localmem.dates.holidays import holiday, reading
from localmem.dates.units import DAYS, MONTHS, SEASONS, chosen, day_text, moved, period, season_of

DECADES = {
    "twenties": 20, "thirties": 30, "forties": 40, "fifties": 50, "sixties": 60, "seventies": 70,
    "eighties": 80, "nineties": 90,
}  # fmt: skip

_AHEAD = re.compile(r"\b(?:will|can|could|shall|going to|have to|want to|plan)\b|'ll\b")
"""Before a bare weekday: the coming one is meant."""
_AWAY = re.compile(r"\b(?:day|week|month|year)s? from \Z")
"""So it is in "a week from Friday"."""
_SEASON_MONTHS = {
    "spring": "March to May", "summer": "June to August", "autumn": "September to November",
    "winter": "December to February",
}  # fmt: skip


def near(part: Part, at: Moment) -> tuple[Days, ...]:
    """``yesterday``, ``last night``, ``this morning``, ``tomorrow``."""
    shift = {"yesterday": -1, "last": -1, "tomorrow": 1}.get(part["day"].split()[0], 0)
    how = ("the day before", "the same day", "the day after")[shift + 1]
    return one(moved(at.day, shift, "day"), f"{how}, counted from {day_text(at.day)}")


def stepped(part: Part, at: Moment) -> tuple[Days, ...]:
    """``last week``, ``next Friday``, ``the Sunday before last``, ``two summers ago``."""
    step = -number(part["n"]) if "n" in part else STEPS[part["which"]] * (2 if "twice" in part else 1)
    return steps(part["unit"], step, at)


def steps(unit: str, step: int, at: Moment) -> tuple[Days, ...]:
    """The whole calendar unit ``step`` units away; a weekday, month, season or holiday by its name."""
    day = at.day
    if unit in DAYS:
        ahead = (DAYS.index(unit) - day.weekday()) % 7
        days = ahead + 7 * step if step < 0 or ahead == 0 else ahead + 7 * max(step - 1, 0)
        return one(moved(day, days, "day"), f"{unit.capitalize()}, counted from {day_text(day)}")
    if unit in ("week", "weekend", "fortnight"):
        return span(period(unit, moved(day, step, "week")), "weeks from Monday to Sunday")
    if unit in ("month", "quarter", "year", "decade"):
        return span(period(unit, moved(period(unit, day)[0], step, unit)), f"calendar {unit}")
    whole = [yearly(unit, day.year + year) for year in range(-abs(step) - 1, abs(step) + 2)]
    if step == 0:
        current = [stretch for stretch in whole if stretch[0] <= day <= stretch[1]]
        return span(current[0] if current else chosen(whole, Moment(day)), _named(unit))
    over = [stretch for stretch in whole if stretch[1] < day]
    ahead_of = [stretch for stretch in whole if stretch[0] > day]
    return span(over[step] if step < 0 else ahead_of[step - 1], _named(unit))


def yearly(name: str, year: int) -> Stretch:
    """The month, season or holiday of a year."""
    if name in SEASONS:
        return season_of(name, year)
    if (month := _month(name)) is not None:
        return period("month", date(year, month, 1))
    day = holiday(name, year)
    return day, day


def named(part: Part, at: Moment) -> tuple[Days, ...]:
    """A month, season or holiday, with its year or without."""
    name = part["name"]
    how = _named(name)
    if year := given_year(part, at):
        return span(yearly(name, year), how + (", which began in that year" if name == "winter" else ""))
    years = range(max(at.day.year - 1, 1), min(at.day.year + 2, 9999))
    return span(chosen([yearly(name, year) for year in years], at), f"{how}; the {_leaning(at)} one")


def of_month(part: Part, at: Moment) -> tuple[Days, ...]:
    """``7 May``, ``May 7th, 2023``, ``3 to 5 May``; 29 February in a leap year."""
    month, day = _month(part["month"]), int(part["d"])
    last = int(part.get("to", part["d"]))
    if month is None or last < day:
        raise ValueError("days in the wrong order")
    if year := given_year(part, at):
        how = _weekday_note(part, date(year, month, day))
        return span((date(year, month, day), date(year, month, last)), how or "date")
    reach = 8 if (month, last) == (2, 29) else 1  # 1896 and 1904 were leap years, 1900 was not
    found = list(_possible(range(at.day.year - reach, at.day.year + reach + 1), month, day, last))
    if not found:
        raise ValueError("no such day")
    best = chosen(found, at)
    return span(
        best, _weekday_note(part, best[0]) or f"the {_leaning(at)} {day} {MONTHS[month - 1].capitalize()}"
    )


def day_and_month(part: Part, at: Moment) -> tuple[Days, ...]:
    """``7/22``, where one of the two can only be a day."""
    return of_month({"d": part["d"], "month": MONTHS[int(part["month"]) - 1]}, at)


def day_alone(part: Part, at: Moment) -> tuple[Days, ...]:
    """``on the 15th``."""
    months = (moved(period("month", at.day)[0], step, "month") for step in range(-2, 3))
    days = [
        date(first.year, first.month, int(part["d"]))
        for first in months
        if int(part["d"]) <= period("month", first)[1].day
    ]
    if not days:
        raise ValueError("no such day")
    return span(chosen([(day, day) for day in days], at), f"the {_leaning(at)} one")


def weekday(part: Part, at: Moment) -> tuple[Days, ...]:
    """``on Sunday``: today if it is one, else the one before; the coming one if the future is spoken of."""
    coming = at.lean is Lean.COMING or bool(_AWAY.search(at.before))
    if at.lean is Lean.NEAREST and _AHEAD.search(at.before):
        coming = True
    ahead = (DAYS.index(part["weekday"]) - at.day.weekday()) % 7
    days = ahead if coming or ahead == 0 else ahead - 7
    return one(
        moved(at.day, days, "day"), f"the {'coming' if coming else 'latest'} one, the same day counted in"
    )


def weekday_of_week(part: Part, at: Moment) -> tuple[Days, ...]:
    """``Tuesday last week``, ``two weeks ago on Sunday``."""
    step = -number(part["n"]) if "n" in part else STEPS[part["which"]]
    monday = period("week", moved(at.day, step, "week"))[0]
    return one(moved(monday, DAYS.index(part["weekday"]), "day"), "weeks from Monday to Sunday")


def year(part: Part, at: Moment) -> tuple[Days, ...]:
    """``in 2019``, ``2019 to 2021``."""
    first, last = (
        period("year", date(int(part[which]), 1, 1)) for which in ("year", "to" if "to" in part else "year")
    )
    return span((first[0], last[1]), "calendar year")


def quarter(part: Part, at: Moment) -> tuple[Days, ...]:
    """``Q3 2022``."""
    month = 3 * int(part["q"]) - 2
    given = given_year(part, at)
    years = [given] if given else range(at.day.year - 1, at.day.year + 2)
    return span(chosen([period("quarter", date(y, month, 1)) for y in years], at), "calendar quarter")


def decade(part: Part, at: Moment) -> tuple[Days, ...]:
    """``the 1990s``, ``the 90s``, ``the nineties``: of the latest century in which it has begun."""
    short = part.get("short", "")
    begins = int(part["long"]) if "long" in part else DECADES[short] if short in DECADES else int(short)
    if "long" not in part:
        century = at.day.year // 100 * 100
        begins += century if century + begins <= at.day.year else century - 100
    return span(period("decade", date(begins, 1, 1)), "decade")


def within(part: Part, at: Moment) -> tuple[Days, ...]:
    """``earlier this year``, ``later this week``, ``so far this month``: up to, or from, the day itself."""
    whole = steps(part["unit"], 0, at)[0]
    if part["way"] == "later":
        return span((at.day, max(whole.last, at.day)), f"from {day_text(at.day)} on")
    return span((min(whole.first, at.day), at.day), f"up to {day_text(at.day)}")


def at_hand(part: Part, at: Moment) -> tuple[Days, ...]:
    """``the month`` in "the end of the month": the one it was said in."""
    return steps(part["unit"], 0, at)


def undecided(why: str) -> Reader:
    """A reader of words that name no days, for a reason."""

    def reader(part: Part, at: Moment) -> tuple[Days, ...]:
        raise Undecided(why)

    return reader


def _month(name: str) -> int | None:
    """Its number, by full or short name."""
    return next((number for number, full in enumerate(MONTHS, 1) if full.startswith(name[:3])), None)


def given_year(part: Part, at: Moment) -> int | None:
    """The year that an expression gives: ``2021``, ``'21``, ``last year``."""
    words = part.get("year")
    if not words:
        return None
    digits = "".join(filter(str.isdigit, words))
    if len(digits) == 2:
        return full_year(int(digits), at)
    return int(digits) if digits else at.day.year + STEPS[words.split()[-2]]


def _possible(years: Iterable[int], month: int, first: int, last: int) -> Iterator[Stretch]:
    """The days in those years that have them: not every year has a 29 February."""
    for each in years:
        if 1 <= each <= 9999 and last <= period("month", date(each, month, 1))[1].day:
            yield date(each, month, first), date(each, month, last)


def _named(name: str) -> str:
    if name in SEASONS:
        season = "autumn" if name == "fall" else name
        return f"northern {season}, {_SEASON_MONTHS[season]}"
    return "calendar month" if _month(name) else reading(name) or "holiday"


def _leaning(at: Moment) -> str:
    return {Lean.NEAREST: "nearest", Lean.PAST: "latest", Lean.COMING: "coming"}[at.lean]


def _weekday_note(part: Part, day: date) -> str:
    """What to say when the weekday written beside a date is another."""
    written_day = part.get("weekday", "")[:3]
    falls_on = DAYS[day.weekday()]
    if not written_day or falls_on.startswith(written_day):
        return ""
    return f"by the date, although {day_text(day)} is a {falls_on.capitalize()}"
