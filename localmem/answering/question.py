"""What kind of answer a question wants, by rule."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from localmem.index.tokens import query_terms


class Kind(StrEnum):
    """The kinds that code can answer better than a small model, and the rest."""

    WHEN = "when"
    COUNT = "count"
    INTERVAL = "interval"
    """The time between two events."""
    OTHER = "other"


_INTERVAL = re.compile(
    r"how (?:many (?P<unit>days|weeks|months|years)|long)\b.*?\b"
    r"(?:between|from)\b(?P<a>.+?)\b(?:and|to|until)\b(?P<b>.+)",
    re.IGNORECASE | re.DOTALL,
)
_COUNT = re.compile(r"\bhow (?:many|often)\b|\bnumber of\b", re.IGNORECASE)
_WHEN = re.compile(r"\bwhen\b|\b(?:what|which) (?:day|date|month|year)\b", re.IGNORECASE)
_FRAME = {"mani", "often", "number", "day", "week", "month", "year", "date", "time", "long", "much"}
"""Stems that ask for a number or a date and so do not occur in the answer's sentence."""


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


def read_question(text: str) -> Question:
    """Classify a question by its words."""
    words = query_terms(text)
    if match := _INTERVAL.search(text):
        unit = (match["unit"] or "days").lower()
        return Question(text, Kind.INTERVAL, words, (_clean(match["a"]), _clean(match["b"])), unit)
    wanted = tuple(word for word in words if word not in _FRAME) or words
    if _COUNT.search(text):
        return Question(text, Kind.COUNT, wanted, (text,))
    if _WHEN.search(text):
        return Question(text, Kind.WHEN, wanted, (text,))
    return Question(text, Kind.OTHER, words, (text,))


def _clean(text: str) -> str:
    return text.strip(" \t\r\n?.!,")
