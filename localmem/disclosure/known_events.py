"""Events that a question counts from: "my birthday". Memory may know their day, or must be asked for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime

from localmem.dates.days import Days, Moment, one
from localmem.dates.naming import given_year
from localmem.dates.operators import extended
from localmem.dates.reading import Found, lowered
from localmem.dates.units import chosen, day_text, moved
from localmem.dates.vocabulary import CLOCK, DAY, UNIT, YEAR, compiled, part_of_match

_YEARLY = re.compile(r"\b(?:birthday|anniversary)\b")
_COUNTED_FROM = compiled(
    rf"\b(?:(?P<unit>(?:the |an? |\w+ )?(?:{UNIT}|weekend|{DAY}|{CLOCK})s?) )?"
    r"(?:since|until|till|before|prior to|after|following)"
    r"(?: (?P<event>(?:my|our|your|his|her|their|the|that|i|we|you|he|she|they|it)\b"
    r"(?:(?! (?:did|do|does|when|how|what|why|who|where|which)\b)[^\0,.;:?!])*+)(?!\0)|(?=\W*\Z))"
)


def known_events(anchors: Mapping[str, date], text: str, at: Moment) -> Iterator[Found]:
    """Where a lowercased text names one of the events, and its day."""
    for name, day in sorted(anchors.items(), key=lambda item: -len(item[0])):
        first, *others = map(re.escape, lowered(name).split() or [""])
        if not first:
            continue
        # "my last birthday" is one of "my birthday"
        rest = f" (?:(?P<which>last|next) )?{' '.join(others)}" if others else ""
        yearly = bool(_YEARLY.search(lowered(name)))
        pattern = compiled(rf"(?<!\w){first}{rest}(?!\w){f'(?:(?: in)?{YEAR})?' if yearly else ''}")
        plain = day.date() if isinstance(day, datetime) else day
        spans = []
        for match in pattern.finditer(text):
            part = part_of_match(match)
            days = _again_each_year(plain, part, at) if yearly else one(plain, "as memory has it")
            start, days = extended(text, match.start(), days)
            spans.append((start, match.end()))
            yield Found(spans[-1], days)
        text = blotted(text, spans)


def blotted(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text without what stands at some places, every other character in its own place."""
    for first, last in spans:
        text = text[:first] + "\0" * (last - first) + text[last:]
    return text


def unknown_events(text: str) -> Iterator[Found]:
    """What a text counts from although nobody has said when it was: the question to ask memory next.

    What was read is blotted out of the text.
    """
    for match in _COUNTED_FROM.finditer(text):
        event = (match["event"] or "").strip()
        if event:
            yield Found(
                match.span(), (), f'no day is known for "{event}": look for it, and give it as an anchor'
            )
        elif match["unit"]:
            yield Found(match.span(), (), "it does not say from what to count")


def _again_each_year(day: date, part: dict[str, str], at: Moment) -> tuple[Days, ...]:
    """A birthday: in the year that is given, or the one that the question leans to."""
    how = f"each year, from {day_text(day)}"
    if year := given_year(part, at):
        return one(moved(day, year - day.year, "year"), how)
    days = [moved(day, at.day.year + step - day.year, "year") for step in (-2, -1, 0, 1, 2)]
    which = part.get("which")
    if which == "last":
        return one(max(each for each in days if each < at.day), how)
    if which == "next":
        return one(min(each for each in days if each > at.day), how)
    return one(chosen([(each, each) for each in days], at)[0], how)
