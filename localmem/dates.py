"""Dates that a sentence names, resolved against the time it was said, never against the clock."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta

from dateutil.relativedelta import relativedelta

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "a couple of": 2, "couple of": 2, "three": 3, "four": 4, "five": 5,
    "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_DAY = "|".join(_DAYS)
_MONTH = "|".join(f"{name}|{name[:3]}" for name in _MONTHS) + "|sept"
_COUNT = r"\d+|" + "|".join(sorted(_COUNTS, key=len, reverse=True))

_EXPRESSION = re.compile(
    rf"""\b(?:
      (?P<iso>\d{{4}}-\d{{2}}-\d{{2}})
    | (?P<before>the\ day\ before\ yesterday|the\ day\ after\ tomorrow)
    | (?P<near>yesterday|last\ night|today|tonight|this\ (?:morning|afternoon|evening)|tomorrow)
    | (?P<ago_n>{_COUNT})\ (?P<ago_unit>day|week|month|year)s?\ ago
    | in\ (?P<in_n>{_COUNT})\ (?P<in_unit>day|week|month|year)s?
    | (?:in|during|since|until|by|early|mid|late|of)\ (?P<month_alone>{_MONTH})\b\.?
      (?:,?\ (?P<year_c>\d{{4}})\b)?(?!\ \d)
    | (?:in|during|since|until|by|early|late|of)\ (?P<year_alone>(?:19|20)\d\d)
    | (?P<which>last|this|next)\ (?P<unit>week|weekend|month|year|{_DAY})
    | (?P<day_first>\d{{1,2}})(?:st|nd|rd|th)?\ (?:of\ )?(?P<month_second>{_MONTH})\b\.?
      (?:,?\ (?P<year_a>\d{{4}}))?
    | (?P<month_first>{_MONTH})\b\.?\ (?P<day_second>\d{{1,2}})(?:st|nd|rd|th)?\b
      (?:,?\ (?P<year_b>\d{{4}}))?
    | (?<!is\ )(?<!are\ )(?<!every\ )on\ (?P<weekday>{_DAY})
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_AHEAD = re.compile(r"\b(?:will|can|could|shall|going to|have to|want to|plan)\b|'ll\b", re.IGNORECASE)
"""Before a bare weekday: the coming one is meant."""


@dataclass(frozen=True, slots=True)
class DateMention:
    """A date in a text: what was written, and the days it means."""

    span: tuple[int, int]
    first: date
    last: date
    """Equal to ``first`` when one day is meant."""

    def __str__(self) -> str:
        if self.first == self.last:
            return day_text(self.first)
        if (self.first, self.last) == _year(self.first.year):
            return str(self.first.year)
        if (self.first, self.last) == _month(self.first):
            return f"{self.first:%B} {self.first.year}"
        return f"{day_text(self.first)} to {day_text(self.last)}"


def day_text(day: date) -> str:
    """``7 May 2023``."""
    return f"{day.day} {day:%B} {day.year}"


def dates_in(text: str, said: date) -> list[DateMention]:
    """The dates that ``text``, said on day ``said``, names, in order. Impossible dates are passed over."""
    mentions = []
    for match in _EXPRESSION.finditer(text):
        try:
            days = _days(match, said)
        except (ValueError, OverflowError):  # 31 February; a year past 9999
            continue
        mentions.append(DateMention(match.span(), *days))
    return mentions


def _days(match: re.Match[str], said: date) -> tuple[date, date]:
    part = {name: value.lower() for name, value in match.groupdict().items() if value}
    if "iso" in part:
        return _one(date.fromisoformat(part["iso"]))
    if "before" in part:
        return _one(said + timedelta(days=-2 if "before" in part["before"] else 2))
    if "near" in part:
        shift = {"yesterday": -1, "last night": -1, "tomorrow": 1}.get(part["near"], 0)
        return _one(said + timedelta(days=shift))
    if "ago_n" in part:
        return _shifted(said, -_number(part["ago_n"]), part["ago_unit"])
    if "in_n" in part:
        return _shifted(said, _number(part["in_n"]), part["in_unit"])
    if "which" in part:
        return _named(said, part["which"], part["unit"])
    if "weekday" in part:
        past = timedelta(days=(said.weekday() - _DAYS.index(part["weekday"])) % 7)
        coming = timedelta(days=(_DAYS.index(part["weekday"]) - said.weekday()) % 7)
        return _one(said + coming if _AHEAD.search(match.string[: match.start()]) else said - past)
    if "year_alone" in part:
        return _year(int(part["year_alone"]))
    if "month_alone" in part:
        month = _month_number(part["month_alone"])
        if "year_c" in part:
            return _month(date(int(part["year_c"]), month, 1))
        return _month(_nearest(said, month, 15))
    day = int(part.get("day_first") or part["day_second"])
    month = _month_number(part.get("month_second") or part["month_first"])
    year = part.get("year_a") or part.get("year_b")
    if year:
        return _one(date(int(year), month, day))
    return _one(_nearest(said, month, day))


def _one(day: date) -> tuple[date, date]:
    return day, day


def _number(word: str) -> int:
    return int(word) if word.isdigit() else _COUNTS[word]


def _shifted(said: date, count: int, unit: str) -> tuple[date, date]:
    """A count of days or weeks names a day; of months, that month; of years, that year."""
    if unit in ("day", "week"):
        return _one(said + timedelta(days=count * (7 if unit == "week" else 1)))
    if unit == "month":
        return _month(said + relativedelta(months=count))
    return _year(said.year + count)


def _named(said: date, which: str, unit: str) -> tuple[date, date]:
    """``last week``, ``this weekend``, ``next Friday``: whole calendar units, weeks from Monday."""
    step = {"last": -1, "this": 0, "next": 1}[which]
    monday = said - timedelta(days=said.weekday())
    if unit == "week":
        return monday + timedelta(weeks=step), monday + timedelta(weeks=step, days=6)
    if unit == "weekend":
        saturday = monday + timedelta(weeks=step, days=5)
        return saturday, saturday + timedelta(days=1)
    if unit == "month":
        return _month(said + relativedelta(months=step))
    if unit == "year":
        return _year(said.year + step)
    ahead = (_DAYS.index(unit) - said.weekday()) % 7
    if which == "last":
        return _one(said + timedelta(days=ahead - 7))
    if which == "next":
        return _one(said + timedelta(days=ahead or 7))
    return _one(said + timedelta(days=ahead))


def _month_number(name: str) -> int:
    return next(number for number, full in enumerate(_MONTHS, 1) if full.startswith(name[:3]))


def _nearest(said: date, month: int, day: int) -> date:
    """The day without a year: the one nearest to when it was said."""
    return min((date(said.year + y, month, day) for y in (-1, 0, 1)), key=lambda d: abs(d - said))


def _year(year: int) -> tuple[date, date]:
    return date(year, 1, 1), date(year, 12, 31)


def _month(day: date) -> tuple[date, date]:
    first = day.replace(day=1)
    return first, first + relativedelta(months=1, days=-1)
