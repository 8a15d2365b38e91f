"""What kind of answer a question wants, by rule."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from localmem.dates import Lean, dates_in
from localmem.index.tokens import query_terms, terms


class Kind(StrEnum):
    """The kinds that code can answer better than a small model, and the rest."""

    WHEN = "when"
    COUNT = "count"
    """How many things happened. How many there are is told in one sentence, and so is ``OTHER``."""
    INTERVAL = "interval"
    """The time between two events."""
    OTHER = "other"
    """Among them what holds now, of which the newest statement is true."""


_INTERVAL = re.compile(
    r"how (?:many (?P<unit>days|weeks|months|years)|long)\b.*?\b"
    r"(?:between|from)\b(?P<a>.+?)\b(?:and|to|until)\b(?P<b>.+)",
    re.IGNORECASE | re.DOTALL,
)
_LASTED = re.compile(
    r"how (?:many (?P<unit>days|weeks|months|years)|long)\b"
    r"(?: did it take| had it been| passed| went by| elapsed)?(?: for)?\b(?P<a>.{5,}?)\b"
    r"(?:after|since|before|until)\b(?P<b>.+\b(?:i|we|he|she|they)\b.+)",
    re.IGNORECASE | re.DOTALL,
)
_APART = re.compile(
    r"how (?:many (?P<unit>days|weeks|months|years)|long) (?:before|after)\b(?P<a>.+?)\bdid\b(?P<b>.+)",
    re.IGNORECASE | re.DOTALL,
)
_THING = re.compile(r".*\b(?:the|an?|my|our|his|her|their)\s+(?P<thing>[^,?]+)", re.IGNORECASE | re.DOTALL)
_PRONOUN = re.compile(r"\b(?:it|them|one)\b", re.IGNORECASE)
_COUNT = re.compile(
    r"\bhow (?:many|often)\b.*\b(?:did|have (?:i|you|we|they)|has|had|times)\b", re.IGNORECASE | re.DOTALL
)
_WHEN = re.compile(
    r"\b(?:when|(?:what|which) (?:day|date|month|year))\b.{0,9}?\b(?:did|was|were|had|has|have)\b",
    re.IGNORECASE,
)
_PERIOD = re.compile(
    r"\b(?:since|in|during|until|before|after)\s+(?:january|february|march|april|may|june|july|august|september"
    r"|october|november|december)\b(?:\s+\d{4})?",
    re.IGNORECASE,
)
_BOUND = re.compile(r"\b(since|from|after|before|until|till|by|and|to) (?:the )?$", re.IGNORECASE)
ASKS = ("?", "？", "؟")
"""What a question ends with."""
_ASKING = re.compile(
    r"\s*(?:who|whose|what|when|where|which|why|how|do you (?:remember|know)|did|does|was|were|is|are"
    r"|have|has)\b",
    re.IGNORECASE,
)
_FRAME = frozenset(
    terms("many often number day days week weeks month months year years date time long much pass")
)
"""Stems that ask for a number or a date and so do not occur in the sentence that answers."""

Days = tuple[date, date]
"""First and last, both included."""
EVER: Days = (date.min, date.max)
_DAY = timedelta(1)


@dataclass(frozen=True, slots=True)
class Question:
    """A question and what rules can tell of it."""

    text: str
    kind: Kind
    terms: tuple[str, ...]
    """Distinct stems that an answering sentence should have."""
    parts: tuple[str, ...]
    """The two events of an interval; else the question itself."""
    unit: str = "days"
    asked: date | None = None
    """The day that its relative dates count from; None: the newest day found."""


def read_question(text: str) -> Question:
    """Classify a question by its words."""
    if match := _INTERVAL.search(text) or _LASTED.search(text) or _APART.search(text):
        unit = (match["unit"] or "days").lower()
        first, second = _clean(match["a"]), _clean(match["b"])
        if thing := _THING.match(first):  # "it" in the second event is what the first one is about
            second = _PRONOUN.sub(lambda _: thing["thing"], second)
        return Question(text, Kind.INTERVAL, wanted_terms(text), (first, second), unit)
    kind = Kind.OTHER
    if _COUNT.search(text):
        kind = Kind.COUNT
    elif _WHEN.search(text):
        kind = Kind.WHEN
    return Question(text, kind, wanted_terms(text), (text,))


def is_question(text: str) -> bool:
    """Whether a text asks: by its mark or its first word."""
    return text.rstrip().endswith(ASKS) or bool(_ASKING.match(text))


def period_of(text: str, asked: date) -> tuple[Days, str]:
    """The days within which a question about the past, asked on a day, wants its answer; and the dates in it.

    :data:`EVER` and no words for a question that names none.
    """
    first, last = EVER
    mentions = dates_in(text, asked, Lean.PAST)
    for mention in mentions:
        bound = _BOUND.search(text, 0, mention.span[0])
        match bound[1].lower() if bound else "in":
            case "since" | "from":
                first = mention.first
            case "after":
                first = min(mention.last, date.max - _DAY) + _DAY
            case "before":
                last = max(mention.first, date.min + _DAY) - _DAY
            case "in":
                first, last = mention.first, mention.last
            case _:
                last = mention.last
    return (first, last), " ".join(text[slice(*mention.span)] for mention in mentions)


def wanted_terms(text: str) -> tuple[str, ...]:
    """Stems that a sentence answering ``text`` should have: not those that only ask or bound the time."""
    words = query_terms(_PERIOD.sub(" ", text))
    return tuple(word for word in words if word not in _FRAME) or words


def _clean(text: str) -> str:
    return text.strip(" \t\r\n?.!,")
