"""Numbers that a text names, however they are written, as comparable values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

_ONES = dict(
    zip(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen".split(),
        range(20),
        strict=True,
    )
)
_TENS = dict(
    zip("twenty thirty forty fifty sixty seventy eighty ninety".split(), range(20, 100, 10), strict=True)
)
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_ORDINALS = dict(
    zip(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(),
        range(1, 13),
        strict=True,
    )
)
LOOSE = {"once": 1, "single": 1, "twice": 2, "both": 2, "couple": 2, "pair": 2, "thrice": 3, "dozen": 12}
"""Words that carry a number without naming it: a source may have them where a text has the number."""

_WORDS = "|".join([*_ONES, *_TENS, *_SCALES, *_ORDINALS])
_TEXT_NUMBER = re.compile(rf"\b(?:{_WORDS})\b(?:(?:-|\s+(?:and\s+)?)(?:{_WORDS})\b)*", re.IGNORECASE)
_TIME = re.compile(
    r"(?<![\d:.])(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::\d{2})?)?\s?(?:(?P<half>[ap])\.?m\b\.?|o['’]clock)"
    r"|(?<![\d:.])(?P<hour_b>\d{1,2}):(?P<minute_b>\d{2})(?![\d:])"
    r"|\b(?P<word>noon|midnight)\b",
    re.IGNORECASE,
)
_DIGITS = re.compile(
    r"(?P<currency>[$€£¥₹]\s?)?(?P<value>\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?)"
    r"(?P<scale>(?(currency)[km]|k)\b|bn\b|\s?(?:hundred|thousand|million|billion)\b)?"
    r"(?P<after>\s?%|\s?per\s?cent\b|\s?(?:dollars?|bucks|euros?|pounds|usd|eur|gbp)\b|(?:st|nd|rd|th)\b)?",
    re.IGNORECASE,
)
_UNIT_AFTER_WORDS = re.compile(r"\s(?:(per\s?cent)|(dollars?|bucks|euros?))\b", re.IGNORECASE)
_NOT_A_COUNT = re.compile(
    r"(?:(?<=\bno )|(?<=\bthe )|(?<=\bthis )|(?<=\bthat )|(?<=\bany )|(?<=\bevery )|(?<=\beach )"
    r"|(?<=\bwhich )|(?<=\banother )|(?<=\bnew ))one\b|\bone (?:another|day|of|who|that|can|should|must)\b"
    r"|\bone(?=[.,;:!?]|$)|\bat first\b|\bfirst of all\b|\bfor a second\b|\ba second\b|\bseconds\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text."""

    value: Decimal
    """For a time, minutes since midnight."""
    unit: str
    """``money``, ``percent``, ``time``, ``half time`` (before or after noon is not said), ``ordinal`` or
    empty."""
    text: str
    """As written."""

    def supports(self, other: Number) -> bool:
        """Whether a source that has this number carries ``other``. A bare number carries no unit."""
        if "time" in self.unit or "time" in other.unit:
            if other.unit == "half time" and "time" in self.unit:
                return self.value % 720 == other.value % 720
            return (self.value, self.unit) == (other.value, other.unit)
        exact = ("money", "percent")
        if self.value != other.value:
            return False
        return self.unit == other.unit or (self.unit not in exact and other.unit not in exact)


def numbers_in(text: str) -> list[Number]:
    """The numbers of ``text``, without those that are part of a name of a day ("7 May"); see callers.

    Chinese and other numerals that are neither digits nor English words are not seen.
    """
    found = []
    for match in _TIME.finditer(text):
        found.append(_time(match))
    text = _TIME.sub(_blank, text)
    for match in _DIGITS.finditer(text):
        found.append(_digits(match))
    text = _NOT_A_COUNT.sub(_blank, _DIGITS.sub(_blank, text))
    for match in _TEXT_NUMBER.finditer(text):
        after = _UNIT_AFTER_WORDS.match(text, match.end())
        unit = ("percent" if after[1] else "money") if after else ""
        found += [Number(Decimal(value), unit, match[0]) for value in _spelled(match[0])]
    return found


def loose_numbers_in(text: str) -> list[Number]:
    """What words like "both" or "a cat" carry without naming a number."""
    words = set(re.findall(r"[a-z]+", text.lower()))
    found = [Number(Decimal(value), "", word) for word, value in LOOSE.items() if word in words]
    return [*found, Number(Decimal(1), "", "a")] if words & {"a", "an", "one"} else found


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _time(match: re.Match[str]) -> Number:
    if match["word"]:
        return Number(Decimal(720 if match["word"].lower() == "noon" else 0), "time", match[0])
    hour, minute = int(match["hour"] or match["hour_b"]), int(match["minute"] or match["minute_b"] or 0)
    if match["half"]:
        hour = hour % 12 + (12 if match["half"].lower() == "p" else 0)
    open_half = not match["half"] and 1 <= hour <= 12
    return Number(Decimal(hour * 60 + minute), "half time" if open_half else "time", match[0])


def _digits(match: re.Match[str]) -> Number:
    value = Decimal(match["value"].replace(",", ""))
    scale = (match["scale"] or "").strip().lower()
    value *= {"": 1, "k": 1000, "m": 10**6, "bn": 10**9}.get(scale) or _SCALES[scale]
    after = (match["after"] or "").strip().lower()
    if match["currency"] or after.startswith(("dollar", "buck", "euro", "pounds", "usd", "eur", "gbp")):
        unit = "money"
    elif after.startswith(("%", "per")):
        unit = "percent"
    else:
        unit = "ordinal" if after else ""
    return Number(value, unit, match[0].strip())


def _spelled(words: str) -> list[int]:
    """The numbers in a run of number words: ``twenty-five`` is one, ``two three`` are two."""
    values: list[int] = []
    total, part = 0, 0
    room = 0  # a value below it still belongs to the number
    started = False
    for word in re.split(r"[\s-]+", words.lower()):
        if word == "and":
            continue
        scale = _SCALES.get(word)
        value = _ONES.get(word, _TENS.get(word, _ORDINALS.get(word, 0)))
        if started and scale is None and value >= room:
            values.append(total + part)
            total, part = 0, 0
        started = True
        if scale is None:
            part, room = part + value, 10 if word in _TENS else 0
        elif scale == 100:
            part, room = max(part, 1) * scale, scale
        else:
            total, part, room = total + max(part, 1) * scale, 0, scale
    return [*values, total + part]
