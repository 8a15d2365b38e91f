"""The values that a short text gives: quantities with their units, and written dates."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from localmem.dates import dates_in
from localmem.layers.numbers import Number, numbers_in

SAID = date(2000, 1, 1)
"""Dates without a year are read from this day: two readings may be compared, each alone means nothing."""

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "night": 86400, "week": 604800}
_MONTHS = {"month": 1, "year": 12, "decade": 120}
_UNIT = re.compile(
    r"\s?-?\s?(second|minute|hour|day|night|week|month|year|decade)s?\b|\s?(hr|min|sec)s?\b", re.IGNORECASE
)
_NOUN = re.compile(r"[\s-]*([^\W\d_]+)")
_SHORT = {"hr": "hour", "min": "minute", "sec": "second"}
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b"
)
_WRITTEN = re.compile(rf"{_MONTH}|\d{{4}}", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_COUNTED_FROM = re.compile(
    r"\b(?:ago|last|next|this|before|after|since|until|till|by|around|about|yesterday|today|tomorrow|week|weekend|day"
    r"|early|mid|late|end|begin\w*|between|past|coming|following|previous|(?:sun|mon|tues|wednes|thurs|fri|satur)day)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and what it counts."""

    value: Decimal
    """Seconds, months, minutes since midnight, or the number itself; see ``unit``."""
    unit: str
    """``seconds``, ``months``, what :class:`~localmem.layers.numbers.Number` knows, or empty."""
    step: Decimal = Decimal(1)
    """One of the unit it was told in: a week is 604,800 seconds."""
    named: str = ""
    """Name of a unit of time as it was told: ``week``."""
    text: str = ""
    """As written."""
    noun: str = ""
    """The word right after it."""

    @property
    def counted(self) -> Decimal:
        """The number as it was told: 2 for two weeks."""
        return self.value / self.step


def quantities(text: str) -> list[Quantity]:
    """The numbers of ``text`` with the unit of time after each; those of dates are not left out."""
    last: dict[str, int] = defaultdict(int)
    found = []
    for number in numbers_in(text):
        start = text.find(number.text, last[number.text])
        last[number.text] = end = start + len(number.text)
        found.append(_quantity(number, text[end:] if start >= 0 else ""))
    return found


def _quantity(number: Number, after: str) -> Quantity:
    unit = _UNIT.match(after)
    if unit is None or number.unit:
        noun = _NOUN.match(after)
        return Quantity(number.value, number.unit, text=number.text, noun=noun[1] if noun else "")
    named = (unit[1] or _SHORT[unit[2].lower()]).lower()
    step = Decimal(_SECONDS.get(named) or _MONTHS[named])
    scale = "seconds" if named in _SECONDS else "months"
    return Quantity(number.value * step, scale, step, named, number.text)


@dataclass(frozen=True, slots=True)
class Written:
    """A date that is written out: a day, a month, a year."""

    first: date
    last: date
    has_year: bool
    span: tuple[int, int]

    def same(self, other: Written) -> bool:
        """Whether both name the same days, in any year where one tells none."""
        mine, others = (self.first, self.last), (other.first, other.last)
        if self.has_year and other.has_year:
            return mine == others
        return [(day.month, day.day) for day in mine] == [(day.month, day.day) for day in others]

    def apart(self, other: Written) -> bool:
        """Whether the two have no day in common; of one that tells no year this is not known."""
        if self.has_year is not other.has_year:
            return False
        return self.last < other.first or other.last < self.first


def written_dates(text: str) -> list[Written]:
    """The dates of ``text`` that are written out; those counted from another day are left in it as words."""
    found = []
    for mention in dates_in(text, SAID):
        words = text[slice(*mention.span)]
        if _WRITTEN.search(words) and not is_counted(words):
            found.append(Written(mention.first, mention.last, bool(_YEAR.search(words)), mention.span))
    return found


def is_counted(words: str) -> bool:
    """Whether words of time count from another day or leave the day open: "the week before", "early May"."""
    return bool(_COUNTED_FROM.search(words))


def without(text: str, dates: list[Written]) -> str:
    """``text`` with dots where the dates stood."""
    for found in reversed(dates):
        text = text[: found.span[0]] + " . " + text[found.span[1] :]
    return text
