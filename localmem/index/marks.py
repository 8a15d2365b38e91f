"""What one look at a message's text tells the ranking, packed into an integer."""

from __future__ import annotations

import re
from enum import IntFlag

_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|since|days|weeks|months|years|(?:19|20)\d\d"
    r"|(?:last|next|this) (?:night|morning|weekend|week|month|year|spring|summer|fall|autumn|winter)"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|january|february|march|april|may|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)
_ASKS = ("?", "？", "؟")


class Mark(IntFlag):
    """Marks of a message."""

    ASKS = 1
    """It ends in a question: it tells little itself."""
    TIME = 2
    """It names a time."""


def marks_of(text: str) -> Mark:
    """The marks of a message's text."""
    marks = Mark(0)
    if text.rstrip().endswith(_ASKS):
        marks |= Mark.ASKS
    if _TIME.search(text):
        marks |= Mark.TIME
    return marks
