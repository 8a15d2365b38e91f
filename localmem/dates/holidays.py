"""Holidays whose day is the same wherever they are kept, and those that are not."""

from __future__ import annotations

from datetime import date, timedelta

_THANKSGIVING = {"thanksgiving": 0, "thanksgiving day": 0, "black friday": 1, "cyber monday": 4}
"""Days after the fourth Thursday of November, the Thanksgiving of the United States."""
_FIXED = {
    "christmas eve": (12, 24),
    "christmas": (12, 25),
    "boxing day": (12, 26),
    "new year's eve": (12, 31),
    "new year": (1, 1),
    "valentine's": (2, 14),
    "halloween": (10, 31),
}
HOLIDAY = (
    r"christmas eve|christmas(?: day)?|boxing day|new year'?s?'? eve"
    r"|(?<!the.)new year(?:'?s\b'?)?(?: day)?(?! resolution)"
    r"|(?:saint |st\.? )?valentine'?s?(?: day)?|hallowe'?en|thanksgiving(?: day)?|black friday|cyber monday"
)
"""Pattern of the names, lowercased."""
UNCLEAR = (
    r"(?:palm|easter) sunday|good friday|(?:ash|easter) (?:wednesday|monday)|easter"
    r"|mother'?s'? day|father'?s'? day|labou?r day|independence day|ramadan|eid|diwali|hanukkah"
    r"|chanukah|passover|purim|(?:lunar|chinese) new year|carnival|mardi gras"
)
"""Pattern of names whose day depends on country or church, or on a calendar that is not computed here."""


def holiday(words: str, year: int) -> date:
    """The day of a holiday in a year; ``words`` as :data:`HOLIDAY` matches them."""
    name = " ".join(words.split())
    if name in _THANKSGIVING:
        first = date(year, 11, 1)
        return first + timedelta(days=(3 - first.weekday()) % 7 + 21 + _THANKSGIVING[name])
    eve = name.endswith(" eve")
    return next(
        date(year, month, day)
        for known, (month, day) in _FIXED.items()
        if known[:4] in name and known.endswith(" eve") == eve
    )


def reading(words: str) -> str:
    """What to say of how a holiday was read; empty when its day is beyond doubt."""
    return "Thanksgiving of the United States, fourth Thursday of November" if words in _THANKSGIVING else ""
