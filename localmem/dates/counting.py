"""Expressions that count: days ago, the past weeks, hours."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

from localmem.dates.days import Days, Moment, Part, Undecided, one, span
from localmem.dates.units import day_text, moved, period

COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
FEW = (3, 5)
"""What "a few" and "several" are taken for."""
STEPS = {
    "last": -1, "previous": -1, "past": -1, "this": 0, "next": 1, "coming": 1, "upcoming": 1, "following": 1,
}  # fmt: skip

_TELLS = re.compile(r"\b(?:did|was|were|how (?:many|much|often|long|far|fast))\b[^.!?]*\Z")
"""Before "in two weeks": it is told, or asked, how long something took."""


def number(word: str) -> int:
    """``3``, ``three``, ``a couple of``."""
    if word.isdigit():
        return int(word)
    return 2 if "couple" in word else COUNTS[word]


def counted(part: Part, at: Moment) -> tuple[Days, ...]:
    """``two weeks ago``, ``in three months``."""
    count = number(part["n"])
    if "ago" in part:
        return shifted(at.day, -count, part["unit"])
    if _TELLS.search(at.before) and "in" in part:
        raise Undecided("it tells how long something took, not when")
    return shifted(at.day, count, part["unit"])


def shifted(day: date, count: int, unit: str) -> tuple[Days, ...]:
    """A count of days or weeks names a day; of months or more, the whole month or year reached."""
    units = unit if abs(count) == 1 else f"{unit}s"
    how = f"{abs(count)} {units} {'before' if count < 0 else 'after'} {day_text(day)}"
    reached = moved(day, count, unit)
    if unit in ("day", "week", "fortnight"):
        return one(reached, how)
    wide = "year" if unit == "decade" else unit
    return span(period(wide, reached), f"the {wide} {how}")


def few_ago(part: Part, at: Moment) -> tuple[Days, ...]:
    """``a few days ago``."""
    return few(at.day, -1, part["unit"])


def few(day: date, way: int, unit: str) -> tuple[Days, ...]:
    """Between 3 and 5 units away; ``way`` is -1 for before."""
    ends = sorted(moved(day, way * count, unit) for count in FEW)
    return span((ends[0], ends[1]), f"vague: taken as {FEW[0]} to {FEW[1]} {unit}s", vague=True)


def half_ago(part: Part, at: Moment) -> tuple[Days, ...]:
    """``two and a half years ago``, ``half a year ago``."""
    count, unit = number(part.get("n") or "0") if "n" in part else 0, part["unit"]
    if unit in ("year", "decade"):
        months = (2 * count + 1) * (6 if unit == "year" else 60)
        return shifted(at.day, -months, "month")
    if unit == "month":
        return one(moved(moved(at.day, -count, "month"), -15, "day"), f"{count} months and 15 days before")
    if unit == "week":
        ends = moved(at.day, -7 * count - 4, "day"), moved(at.day, -7 * count - 3, "day")
        return span(ends, f"{7 * count + 3} or {7 * count + 4} days before")
    return elapsed(at, timedelta(days=-count, hours=-12))


def hours(part: Part, at: Moment) -> tuple[Days, ...]:
    """``36 hours ago``, ``in half an hour``: hours that passed, also where clocks were changed."""
    size = timedelta(hours=1) if part["unit"] == "hour" else timedelta(minutes=1)
    length = size * (number(part["n"]) if "n" in part else 0) + size / 2 * ("half" in part)
    if "in" in part and _TELLS.search(at.before):
        raise Undecided("it tells how long something took, not when")
    return elapsed(at, -length if "ago" in part else length)


def elapsed(at: Moment, length: timedelta) -> tuple[Days, ...]:
    """The day that it was or will be after real time has passed; two days when the hour is not known."""
    if at.time is not None:
        return one(_after(at.time, length).date(), "hours counted from the moment of the question")
    begin, end = (_after(datetime.combine(at.day, edge), length).date() for edge in (time.min, time.max))
    return span((begin, end), "the hour of the question is not known", vague=begin < end)


def rolling(part: Part, at: Moment) -> tuple[Days, ...]:
    """``the past three weeks``: up to the day of the question, not calendar weeks."""
    step, unit = STEPS[part["which"]], part["unit"]
    vague = "few" in part
    count = FEW[1] if vague else number(part.get("n", "one"))
    if unit in ("hour", "minute"):
        (reached,) = hours({"n": str(count), "unit": unit, "ago" if step < 0 else "from": ""}, at)
        far = reached.first if step < 0 else reached.last
    else:
        far = moved(at.day, step * count, unit)
    how = f"{count} {unit}{'' if count == 1 else 's'} {'up to' if step < 0 else 'from'} {day_text(at.day)}"
    ends = (far, at.day) if step < 0 else (at.day, far)
    return span(ends, f"vague: taken as {how}" if vague else how, vague=vague)


def year_ago(part: Part, at: Moment) -> tuple[Days, ...]:
    """``this time last year``."""
    middle = moved(at.day, STEPS[part["which"]], "year")
    return span(
        (moved(middle, -15, "day"), moved(middle, 15, "day")), "vague: 15 days either way", vague=True
    )


def other(part: Part, at: Moment) -> tuple[Days, ...]:
    """``the other day``."""
    unit = part["unit"] if part["unit"] in ("week", "weekend", "month") else "day"
    nearest, farthest = {"day": (1, 14), "week": (7, 42), "weekend": (7, 42), "month": (28, 180)}[unit]
    ends = moved(at.day, -farthest, "day"), moved(at.day, -nearest, "day")
    return span(ends, f"vague: taken as {nearest} to {farthest} days before", vague=True)


def _after(moment: datetime, length: timedelta) -> datetime:
    """Passed time is counted outside of any zone, so that a changed clock does not shift it."""
    if moment.tzinfo is None:
        return moment + length
    return (moment.astimezone(UTC) + length).astimezone(moment.tzinfo)
