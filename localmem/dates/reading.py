"""Finding the expressions of a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, partial
from itertools import zip_longest

from localmem.dates.days import Days, Lean, Moment, Undecided
from localmem.dates.holidays import HOLIDAY
from localmem.dates.naming import DECADES
from localmem.dates.operators import extended
from localmem.dates.table import DATES, RELATIVE, SENTENCE_RULES
from localmem.dates.units import stretch_text
from localmem.dates.vocabulary import CLOCK, DAY, MONTH, SEASON, UNIT, Rule, compiled, part_of_match

BEFORE = 300
"""Characters before an expression that are searched for whether past or future is spoken of."""


@dataclass(frozen=True, slots=True)
class DateMention:
    """A date in a text: what was written, and the days it means."""

    span: tuple[int, int]
    first: date
    last: date
    """Equal to ``first`` when one day is meant."""

    def __str__(self) -> str:
        return stretch_text(self.first, self.last)


@dataclass(frozen=True, slots=True)
class Found:
    """An expression in a text and what it means."""

    span: tuple[int, int]
    days: tuple[Days, ...]
    """Two where it is ambiguous; none where it names no days."""
    why: str = ""
    """Why it names none."""
    rule: str = ""
    """Name of the rule that found it; empty when none did."""
    again: Callable[[Moment], Found] | None = None
    """Reads the same words for another moment; None where they are told from the day they are said on."""


class Grammar:
    """A set of rules, searched for together."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = {rule.name: rule for rule in rules}

    @cached_property
    def _any(self) -> re.Pattern[str]:
        """Any of the rules, each as a group of its name; it takes 50 ms to compile."""
        sources = (f"(?P<{rule.name}>{rule.source})" for rule in self._rules.values())
        return compiled(rf"\b(?:{'|'.join(sources)})\b")

    def find(self, text: str, at: Moment) -> Iterator[Found]:
        """The expressions in a text that :func:`lowered` made, in order."""
        for match in self._any.finditer(text):
            rule = self._rules[match.lastgroup or ""]
            body = rule.with_head.match(text, match.start())
            if body:
                yield read(rule, text, body, body.start("body"), at)


def read(rule: Rule, text: str, match: re.Match[str], start: int, at: Moment) -> Found:
    """What a match of a rule means, with the operators before it."""
    span = (start, match.end())
    try:
        days = rule.read(part_of_match(match), replace(at, before=text[max(0, start - BEFORE) : start]))
        begin, days = extended(text, start, days)
    except Undecided as undecided:
        return Found(span, (), str(undecided), rule.name)
    except (ValueError, OverflowError):
        return Found(span, (), "no calendar has such a day", rule.name)
    again = None if rule in RELATIVE else partial(read, rule, text, match, start)
    return Found((begin, match.end()), days, "", rule.name, again)


def lowered(text: str) -> str:
    """``text`` in lower case and plain apostrophes, every character in its place."""
    lower = text.lower()
    if len(lower) != len(text):  # İ becomes two characters
        lower = "".join(small if len(small := char.lower()) == 1 else char for char in text)
    return lower.replace("’", "'")


_SENTENCES = Grammar(SENTENCE_RULES)
_CORE = compiled(
    rf"\b(?:{DAY}|{UNIT}|weekend|yesterday|today|tonight|tomorrow|{CLOCK}|{MONTH}|{SEASON}|{HOLIDAY}"
    rf"|{'|'.join(DECADES)})(?:e?s)?\b|\d"
)
"""What every expression in a sentence has one of. Most messages have none, and this is soon seen."""
_BARE = tuple(rule for rule in DATES if rule.heads)


def dates_in(text: str, said: date, lean: Lean = Lean.NEAREST) -> list[DateMention]:
    """The dates that ``text``, said on day ``said``, names, in order; ``lean`` is for those without a year.

    Impossible dates are passed over, and so are those of which it is not clear which day they mean.
    """
    lower = lowered(text)
    if not _CORE.search(lower):
        return []
    return [
        DateMention(found.span, found.days[0].first, found.days[0].last)
        for found in _SENTENCES.find(lower, Moment(said, lean=lean))
        if len(found.days) == 1 and not found.days[0].vague
    ]


def bare_at(text: str, start: int, at: Moment) -> Found | None:
    """A month, weekday, season, holiday or year where a date is expected; None if there is none."""
    for rule in _BARE:
        if match := rule.body.match(text, start):
            return read(rule, text, match, start, at)
    return None


def with_dates(text: str, mentions: Sequence[DateMention]) -> str:
    """``text`` with each of its dates followed by what it means: ``yesterday (7 May 2023)``."""
    pieces, start = [], 0
    for mention, following in zip_longest(mentions, mentions[1:]):
        end = mention.span[1]
        repeated = following is not None and following.span[0] - end <= len(", ")  # "Monday, 18 May"
        if repeated or str(mention) in text:
            continue
        pieces += [text[start:end], f" ({mention})"]
        start = end
    return "".join([*pieces, text[start:]])
