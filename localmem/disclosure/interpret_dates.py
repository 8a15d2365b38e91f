"""The tool ``interpret_dates``: which days a question means, or why it cannot be said.

It reads with the same table as :func:`localmem.dates.dates_in`, and more: how days are bounded ("since",
"between"), events whose day memory knows, and written forms outside the table, which dateparser reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial

from localmem.dates.days import Days, Lean, Moment, span
from localmem.dates.reading import Found, Grammar, bare_at, lowered
from localmem.dates.table import QUESTION_RULES
from localmem.dates.units import day_text, stretch_text
from localmem.dates.vocabulary import compiled
from localmem.disclosure.known_events import blotted, known_events, unknown_events
from localmem.disclosure.written_dates import written_dates

AROUND = 3
"""Days on either side of a day that "around" takes in."""

_GRAMMAR = Grammar(QUESTION_RULES)
_AHEAD = re.compile(
    r"\b(?:will|shall|going to|plans?|planned|planning|upcoming|coming up|due|scheduled|do i have|am i)\b"
    r"|'ll\b"
)
_BEHIND = re.compile(r"\b(?:did|was|were|had|has|have (?:i|we|you|they)|(?:i|we|you|they) have)\b")

_BOUND = compiled(
    r"\b(?:ever )?(?P<way>since|until|till|up to|up until|before|prior to|by|after|from|starting|between"
    r"|around|circa)(?: about| around)?(?: the)? \Z"
)
_JOINED = compiled(r"(?:,? (?:and|to|until|till|through) |\s*[-–]\s*)(?:the )?")
_ONWARD = compiled(r" on(?:wards?)?\b")
_BESIDE = compiled(r"(?:,|\s)*(?:(?:at|on) )?")


@dataclass(frozen=True, slots=True)
class Interval:
    """Days that the words of a question mean."""

    first: date
    """``date.min`` where nothing bounds them from below."""
    last: date
    """The last day included; ``date.max`` where nothing bounds them from above."""
    words: str
    """The words of the question."""
    how: str
    """How they were read."""
    vague: bool = False
    """The words leave open which days: this is a wide guess at them."""

    def __str__(self) -> str:
        if self.first == date.min:
            days = f"up to {day_text(self.last)}"
        elif self.last == date.max:
            days = f"from {day_text(self.first)} on"
        else:
            days = stretch_text(self.first, self.last)
        return f'"{self.words}": {days} ({self.how})'


@dataclass(frozen=True, slots=True)
class Unread:
    """Words of time that give no days."""

    words: str
    why: str

    def __str__(self) -> str:
        return f'"{self.words}": cannot say; {self.why}'


@dataclass(frozen=True, slots=True)
class Interpretation:
    """What a question says of time, in the order of its words."""

    intervals: tuple[Interval, ...]
    """Two with the same words where they can be read in two ways."""
    unread: tuple[Unread, ...]
    """Without intervals there is at least one of these."""

    def __str__(self) -> str:
        return "\n".join(map(str, (*self.intervals, *self.unread)))


def interpret_dates(
    text: str, asked: date | datetime, anchors: Mapping[str, date] | None = None
) -> Interpretation:
    """Read the words of time in an expression or a question.

    ``asked`` is when it was asked, in the zone of whoever asked: relative words count from its wall date,
    hours from the moment itself (a plain date has none). ``anchors`` are events whose day is known, by the
    words they are called by ("my birthday"); a birthday or anniversary comes again each year. A date
    without a year is the latest that has begun, unless the question looks ahead.
    """
    lower = lowered(text)
    ahead = bool(_AHEAD.search(lower)) and not _BEHIND.search(lower)
    at = Moment(
        day=asked.date() if isinstance(asked, datetime) else asked,
        time=asked if isinstance(asked, datetime) else None,
        lean=Lean.COMING if ahead else Lean.PAST,
    )
    found = _bounded(lower, _found(lower, at, anchors or {}), at)
    found = found + list(unknown_events(blotted(lower, _spans(found)))) or [_whole(lower, at)]
    intervals: list[Interval] = []
    unread: list[Unread] = []
    for each in sorted(found, key=_place):
        words = " ".join(text[slice(*each.span)].split())
        intervals += [Interval(*days.stretch, words, days.how, days.vague) for days in each.days]
        if not each.days:
            unread.append(Unread(words, each.why))
    return Interpretation(tuple(intervals), tuple(unread))


def _found(text: str, at: Moment, anchors: Mapping[str, date]) -> list[Found]:
    """All expressions, in order: events first, then written forms, then what the table knows."""
    found: list[Found] = []
    for search in (partial(known_events, anchors), written_dates, _GRAMMAR.find):
        found += list(search(blotted(text, _spans(found)), at))
    return _clocks_joined(text, sorted(found, key=_place))


def _clocks_joined(text: str, found: Sequence[Found]) -> list[Found]:
    """A time of day beside a day is part of its words; it does not narrow the day."""
    joined: list[Found] = []
    for each in found:
        before = joined[-1] if joined else None
        beside = before is not None and _BESIDE.fullmatch(text, before.span[1], each.span[0])
        if before and beside and "clock" in (before.rule, each.rule) and (before.days or each.days):
            day = before if before.days else each
            joined[-1] = replace(day, span=(before.span[0], each.span[1]), again=None)
        else:
            joined.append(each)
    return joined


def _bounded(text: str, found: Sequence[Found], at: Moment) -> list[Found]:
    """Apply what bounds the days: "since", "until", "between ... and"."""
    result: list[Found] = []
    done = 0
    for each in found:
        if each.span[0] < done:  # the other end of what was read before
            continue
        bound = _BOUND.search(text, done, each.span[0])
        if bound and each.days:
            each = _bounded_one(text, bound, each, found, at)
        result.append(each)
        done = each.span[1]
    return result


def _bounded_one(text: str, bound: re.Match[str], each: Found, found: Sequence[Found], at: Moment) -> Found:
    way = " ".join(bound["way"].split())
    start, end = bound.start(), each.span[1]
    if way in ("between", "from", "starting") and (other := _other_end(text, end, found, at)):
        return _stretched(start, each, other, at)
    if way == "from" and (onward := _ONWARD.match(text, end)):
        way, end = "since", onward.end()
    if way in ("between", "from"):  # "the letter from March" is one of March
        return each
    try:
        return Found((start, end), tuple(_with_bound(way, days, at) for days in each.days))
    except OverflowError:
        return Found((start, end), (), "no calendar has such a day")


def _with_bound(way: str, days: Days, at: Moment) -> Days:
    """The days that "since", "until", "before", "after" or "around" makes of some."""
    day = timedelta(days=1)
    if way in ("around", "circa"):
        if days.first != days.last:
            return days
        near = AROUND * day
        return Days(days.first - near, days.last + near, f"vague: {AROUND} days on either side", vague=True)
    if way in ("before", "prior to"):
        return replace(days, first=date.min, last=days.first - day, how=f"before it; {days.how}")
    if way in ("until", "till", "up to", "up until", "by"):
        return replace(days, first=date.min, how=f"up to its last day; {days.how}")
    begin = days.last + day if way == "after" else days.first
    last = at.day if begin <= at.day else date.max
    return replace(
        days,
        first=begin,
        last=last,
        how=f"{'after it' if way == 'after' else 'from its first day'}; {days.how}",
    )


def _other_end(text: str, end: int, found: Sequence[Found], at: Moment) -> Found | None:
    """What follows "and" or "to" after one end of a stretch."""
    joined = _JOINED.match(text, end)
    if joined is None:
        return None
    there = next((each for each in found if joined.end() == each.span[0]), None)
    other = there or bare_at(text, joined.end(), at)
    return other if other and other.days else None


def _stretched(start: int, one: Found, other: Found, at: Moment) -> Found:
    """From the first day of one to the last of the other, which comes later.

    What lacks its year is read again from the other end: the latest such stretch that has begun to end, or
    the next to come.
    """
    if other.days[0].first < one.days[0].first:
        if at.lean is Lean.COMING and other.again:
            other = other.again(Moment(one.days[0].first, lean=Lean.COMING))
        elif one.again:
            one = one.again(Moment(other.days[0].last, lean=Lean.PAST))
    ends = [days for each in (one, other) for days in each.days]
    first, last = min(days.first for days in ends), max(days.last for days in ends)
    how = f"from {day_text(first)} to {day_text(last)}, both included"
    return Found((start, other.span[1]), span((first, last), how, vague=any(days.vague for days in ends)))


def _whole(text: str, at: Moment) -> Found:
    """A text that is one name: "March", "2019"."""
    start = len(text) - len(text.lstrip())
    found = bare_at(text, start, at)
    if found and not re.search(r"\w", text[found.span[1] :]):
        return found
    return Found((0, len(text)), (), "there are no words of time in it that I know")


def _spans(found: Sequence[Found]) -> list[tuple[int, int]]:
    return [each.span for each in found]


def _place(found: Found) -> tuple[int, int]:
    return found.span
