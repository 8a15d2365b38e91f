"""Words before a date that move or narrow it: "the week before", "the first weekend of", "early"."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

from localmem.dates.counting import few, number, shifted
from localmem.dates.days import Days, Part
from localmem.dates.units import DAYS, day_text, moved, part_of, period
from localmem.dates.vocabulary import CLOCK, COUNT, DAY, FEW, UNIT, compiled, part_of_match

_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}
_NIGHTS = CLOCK.split("|")
_PARTS = {
    "beginning": "early",
    "start": "early",
    "early": "early",
    "middle": "mid",
    "mid": "mid",
    "end": "late",
}
_LONGEST = 64
"""Characters of an operator, white space included."""


def _offset(part: Part, base: Days) -> Days | None:
    """``the week before``, ``two days after``, ``the Friday before``, ``a week from``, ``a year ago``."""
    unit, way = part["unit"], 1 if part["way"] in ("after", "following", "from") else -1
    count = part.get("n")
    if part["way"] in ("from", "ago") and not count:
        return None
    edge = base.last if way > 0 else base.first
    if unit in DAYS:
        return _weekday_from(edge, way, unit, number(count or "one"))
    if unit == "weekend":
        sunday = _weekday_from(edge, way, "sunday" if way < 0 else "saturday", number(count or "one")).first
        return Days(*period("weekend", sunday), f"weekend, counted from {day_text(edge)}")
    if unit in _NIGHTS:
        unit = "day"
    if "few" in part:
        return few(edge, way, unit)[0]
    if part["way"] == "ago":
        day = moved(edge, -number(count or "one"), unit)
        return Days(day, day, f"{count} {unit} before {day_text(edge)}")
    if count and "the" not in part:
        return shifted(edge, way * number(count), unit)[0]
    near, far = edge + timedelta(days=way), moved(edge, way * number(count or "one"), unit)
    how = f"the {count + ' ' if count else ''}{unit} {'after' if way > 0 else 'before'} {day_text(edge)}"
    if unit not in ("day", "week", "fortnight"):
        # a calendar month before a month, twelve months before a year
        far = moved(near, way * number(count or "one"), unit) - timedelta(days=way)
    return Days(min(near, far), max(near, far), how)


def _weekday_from(edge: date, way: int, weekday: str, count: int) -> Days:
    ahead = (
        (DAYS.index(weekday) - edge.weekday()) % 7 if way > 0 else (edge.weekday() - DAYS.index(weekday)) % 7
    )
    day = edge + timedelta(days=way * ((ahead or 7) + 7 * (count - 1)))
    return Days(day, day, f"{weekday.capitalize()}, counted from {day_text(edge)}")


def _nth(part: Part, base: Days) -> Days | None:
    """``the first weekend of``, ``the last Friday of``, ``the first two weeks of``, ``the 15th of``."""
    if base.first == base.last:
        return None
    unit, word = part.get("unit", "day"), part["nth"]
    nth = _ORDINALS[word] if word in _ORDINALS else int(word[:-2])
    pieces = _pieces(unit, base, backwards=nth < 0)
    count = number(part["n"]) if "n" in part else 1
    chosen = pieces[-count:] if nth < 0 else pieces[nth - 1 : nth - 1 + count]
    if nth == 0 or len(chosen) < count:
        raise ValueError(f"there is no {word} {unit} in it")
    how = f"{word} {f'{count} {unit}s' if count > 1 else unit} in it; {base.how}"
    return Days(chosen[0][0], chosen[-1][1], how, base.vague)


def _pieces(unit: str, base: Days, *, backwards: bool) -> list[tuple[date, date]]:
    """The weeks, weekends, weekdays ... of a stretch, in order; weeks count from its first or last day."""
    first, last = base.stretch
    length = (last - first).days + 1
    if unit in DAYS or unit == "weekend":
        begins = DAYS.index("saturday" if unit == "weekend" else unit)
        starts = [first + timedelta(days=d) for d in range((begins - first.weekday()) % 7, length, 7)]
        return [(day, day + timedelta(days=unit == "weekend")) for day in starts]
    if unit in ("day", "week"):
        size = 7 if unit == "week" else 1
        offsets = range(length % size if backwards else 0, length - size + 1, size)
        return [(first + timedelta(days=d), first + timedelta(days=d + size - 1)) for d in offsets]
    if unit == "half":
        if length > 31:
            months = (last.year - first.year) * 12 + last.month - first.month + 1
            second = moved(first, months // 2, "month")
        else:
            second = first + timedelta(days=length // 2)
        return [(first, second - timedelta(days=1)), (second, last)]
    pieces = [period(unit, first)]
    while pieces[-1][1] < last:
        pieces.append(period(unit, pieces[-1][1] + timedelta(days=1)))
    return pieces if pieces[0][0] == first and pieces[-1][1] == last else []


def _of(part: Part, base: Days) -> Days | None:
    """``the week of``, ``the night of``, ``the month of``."""
    unit = part["unit"]
    if unit in ("day", *_NIGHTS):
        return base
    whole = period(unit, base.first)
    return Days(*whole, f"the {unit} of {day_text(base.first)}") if whole[1] >= base.last else None


def _part(part: Part, base: Days) -> Days | None:
    """``early``, ``mid-``, ``the end of``."""
    which = _PARTS.get(part["part"], part["part"])
    stretch = part_of(base.stretch, which)
    if stretch == base.stretch:
        return base
    return Days(*stretch, f"{which} part of it, about a third; {base.how}", base.vague)


Operator = Callable[[Part, Days], Days | None]

_UNITS = rf"{UNIT}|weekend|{CLOCK}|{DAY}"
OPERATORS: tuple[tuple[str, Operator], ...] = (
    (
        rf"(?P<the>(?:the )?(?:last|first) |the )?(?:(?:(?P<few>{FEW})|(?P<n>{COUNT})) )?"
        rf"(?P<unit>{_UNITS})s? (?P<way>before|after|following|preceding|prior to|from|ago)(?: the)? ",
        _offset,
    ),
    (
        rf"(?:the )?(?:(?P<nth>first|second|third|fourth|fifth|last|\d{{1,2}}(?:st|nd|rd|th))"
        rf"(?: (?P<n>{COUNT}))? (?P<unit>day|week|weekend|month|quarter|half|{DAY})s? (?:of|in)"
        r"|(?P<nth2>\d{1,2}(?:st|nd|rd|th)) of)(?: the)? ",
        _nth,
    ),
    (rf"the (?P<unit>day|week|weekend|month|year|{CLOCK}) of(?: the)? ", _of),
    (
        r"(?:the )?(?:very )?(?P<part>early|mid|middle|late|beginning|start|end)"
        r"(?:(?: part)? (?:of|in)(?: the)?)?[ -]",
        _part,
    ),
)
_COMPILED = tuple((compiled(rf"\b(?:{pattern})\Z"), operator) for pattern, operator in OPERATORS)


def extended(text: str, start: int, days: tuple[Days, ...]) -> tuple[int, tuple[Days, ...]]:
    """Apply the operators that stand right before ``start`` in a lowercased text; where the whole begins."""
    while start and (text[start - 1].isspace() or text[start - 1] == "-"):
        for pattern, operator in _COMPILED:
            match = pattern.search(text, max(0, start - _LONGEST), start)
            changed = [operator(part_of_match(match), each) for each in days] if match else []
            if match and all(changed):
                start, days = match.start(), tuple(each for each in changed if each)
                break
        else:
            break
    return start, days
