"""The words that expressions of time are made of, as fragments of patterns, and what a rule is.

Patterns are matched against lowercased text; a space stands for any white space.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from localmem.dates.counting import COUNTS
from localmem.dates.days import Part, Reader
from localmem.dates.holidays import HOLIDAY
from localmem.dates.units import DAYS, MONTHS, SEASONS

COUNT = r"\d{1,5}|(?:a )?couple(?: of)?|" + "|".join(sorted(COUNTS, key=len, reverse=True))
FEW = "(?:a )?few|several"
UNIT = "day|week|fortnight|month|quarter|year|decade"
CLOCK = "morning|afternoon|evening|night"
DAY = "|".join(DAYS)
SHORT_DAY = "|".join(day[:3] for day in DAYS) + "|tues|thurs"
MONTH_NAME = "|".join(MONTHS)
_NO_VERB = r"(?! (?:be|have|not|also|need|want|take|or|seem|get|i|you|we|they)\b)"
MONTH = "|".join(f"{name}|{name[:3]}" for name in MONTHS if name != "may") + f"|sept|may\\b{_NO_VERB}"
SEASON = "|".join(SEASONS)
NAMED = f"{DAY}|weekend|{MONTH_NAME}|{SEASON}|{HOLIDAY}"
YEAR_NUMBER = r"(?:19|20)\d\d"
YEAR = rf"(?P<year>(?:,\s*| )(?:of )?(?:{YEAR_NUMBER}|(?:last|this|next) year)\b|,? '\d\d\b)"
"""The year given behind a date."""
TH = "(?:st|nd|rd|th)?"
TO = r"\s?(?:-|–|to|until|till|and|through)\s?(?:the )?"


@dataclass(frozen=True)
class Rule:
    """One kind of expression."""

    name: str
    pattern: str
    """What it looks like; its named groups become the reader's ``Part``, a number at their end dropped."""
    read: Reader
    heads: str = ""
    """Words of which one must stand before it, because it means other things too ("may", "spring")."""
    in_sentences: bool = True
    """Whether a sentence names a date with it; a question may also ask with vaguer words."""

    @cached_property
    def body(self) -> re.Pattern[str]:
        """The expression without its head."""
        return compiled(rf"(?:{self.pattern})\b")

    @cached_property
    def with_head(self) -> re.Pattern[str]:
        """The expression as group ``body``, behind its head."""
        head = f"(?:{self.heads})[ -]" if self.heads else ""
        return compiled(rf"{head}(?P<body>{self.pattern})\b")

    @property
    def source(self) -> str:
        """The expression with its head, without groups of its own."""
        head = f"(?:{self.heads})[ -]" if self.heads else ""
        return re.sub(r"\?P<\w+>", "?:", f"{head}(?:{self.pattern})")


def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern in which a space stands for white space of any kind and length."""
    return re.compile(re.sub(r"\[ -\]| ", lambda m: r"\s+" if m[0] == " " else r"(?:\s+|-)", pattern))


def part_of_match(match: re.Match[str]) -> Part:
    """The named groups that took part."""
    return {
        name.rstrip("0123456789"): " ".join(words.split())
        for name, words in match.groupdict().items()
        if words is not None
    }
