"""The guard: what in a derived text its source messages do not carry, and how much of theirs it keeps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import TypeVar

from localmem.dates.units import DAYS, MONTHS
from localmem.entries import Bullet, Summary
from localmem.index.tokens import terms
from localmem.layers.numbers import Number, loose_numbers_in
from localmem.layers.particulars import Particulars, Span, plain
from localmem.layers.sentences import sentences_of
from localmem.types import Message, Origin, Role

SAME_SCRIPT = 0.6
"""Share of the terms in a script without capitals, whose names cannot be told, that sources must have."""

_Item = TypeVar("_Item")
_KNOWN = frozenset({"user", "assistant", "ai"})
_REPORTED = re.compile(
    r"\b(?:said|says|told|tells|mention|asked|asks|shared|discuss|conversation|talked|stated|reported|recommend"
    r"|suggest|wrote|explained|described|announced|spoke|chat)",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(
    r"\s*(?:was|is|has been|got|were)\s+(?:\w+ly\s+)?(?:told|advised|recommended|suggested|given|offered"
    r"|asked|shown|informed|reminded|encouraged|warned|promised)\b|\s*(?:received|heard|learned|learnt)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?;…])\s+|\n+")
_REPORTING = frozenset(terms("ask say tell want need plan like discuss mention state share look"))


class Kind(StrEnum):
    """What was invented."""

    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    WORDS = "words"
    """Text in a script without capitals that has little in common with the sources."""
    SPEAKER = "speaker"
    """What the assistant said, told as a fact about the user."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Something that a derived text says and its sources do not."""

    kind: Kind
    text: str
    """As the derived text has it."""

    def __str__(self) -> str:
        if self.kind is Kind.SPEAKER:
            return f"only the assistant said: {self.text}"
        return f"the {self.kind} {self.text} is not in the messages"


@dataclass(frozen=True)
class Grounding:
    """The messages that derived texts must rest on; recalled ones carry nothing.

    A number counts by its value and unit, however it is written; a date by the days it means, which may be
    given as the month or year around them; a name by its words. The day on which a message was said is
    carried only by a sentence that tells of the saying ("said", "asked").
    """

    messages: Sequence[Message]

    @cached_property
    def _said(self) -> list[Message]:
        return [message for message in self.messages if message.origin is Origin.SAID]

    @cached_property
    def _sources(self) -> list[Particulars]:
        return [_particulars(message) for message in self._said]

    @cached_property
    def _days(self) -> list[Span]:
        return [span for source in self._sources for span in source.days]

    @cached_property
    def _said_on(self) -> list[Span]:
        days = dict.fromkeys(source.said for source in self._sources if source.said)
        return [Span(day, day, str(day)) for day in days]

    @cached_property
    def _numbers(self) -> list[Number]:
        return [n for source in self._sources for n in (*source.numbers, *loose_numbers_in(source.text))]

    @cached_property
    def _words(self) -> set[str]:
        speakers = (form for m in self._said for word in m.speaker.split() for form in plain(word))
        return set().union(_KNOWN, speakers, *(source.words for source in self._sources))

    @cached_property
    def _terms(self) -> dict[Role, set[str]]:
        """What people said, and what the assistant said."""
        return {
            role: set().union(*(terms(f"{m.text} {m.attachments}") for m in self._said if m.role is role))
            for role in Role
        }

    def unsupported(self, text: str) -> list[Unsupported]:
        """What in ``text`` the messages do not carry; empty: it may stand."""
        days: list[date | None] = [span.first for span in self._said_on]
        readings = [Particulars(text, day) for day in days or [None]]
        undated = readings[0]
        found = [Unsupported(Kind.DATE, named) for named in self._unsupported_dates(readings)]
        found += [Unsupported(Kind.NUMBER, n.text) for n in undated.numbers if not self._has_number(n)]
        found += [Unsupported(Kind.NAME, name) for name in undated.names if not self._has_name(name)]
        found += self._foreign_words(text)
        found += [Unsupported(Kind.SPEAKER, sentence) for sentence in self._misattributed(text)]
        return list(dict.fromkeys(found))

    def _unsupported_dates(self, readings: Sequence[Particulars]) -> Iterable[str]:
        """Dates that are carried in none of the readings (a relative date reads by when it was said)."""
        reported = _REPORTED.search(readings[0].text)
        offered = [*self._days, *(self._said_on if reported else [])]
        for same in zip(*(reading.dates for reading in readings), strict=False):
            spans = [span for readings_of_one in same for span in readings_of_one]
            if not any(source.supports(span) for span in spans for source in offered):
                yield spans[0].text

    def _has_number(self, number: Number) -> bool:
        if any(source.supports(number) for source in self._numbers):
            return True
        year = number.value if number.unit == "" and 1900 <= number.value < 2100 else None
        day = number.value if number.unit == "ordinal" else None
        return any(year == span.first.year == span.last.year for span in self._days) or any(
            day == span.first.day and span.first == span.last for span in self._days
        )

    def _has_name(self, name: str) -> bool:
        if plain(name) & self._words:
            return True
        lower = name.lower()
        one_day = [span.first for span in self._days if span.first == span.last]
        if lower in DAYS:
            return any(DAYS[day.weekday()] == lower for day in one_day)
        if lower in MONTHS:
            return any(MONTHS[span.first.month - 1] == lower for span in self._days)
        return False

    def _foreign_words(self, text: str) -> list[Unsupported]:
        uncased = [term for term in terms(text) if _uncased(term)]
        known = self._terms[Role.USER] | self._terms[Role.ASSISTANT]
        missing = [term for term in uncased if term not in known]
        if len(missing) <= (1 - SAME_SCRIPT) * len(uncased):
            return []
        return [Unsupported(Kind.WORDS, " ".join(missing[:5]))]

    def _misattributed(self, text: str) -> Iterable[str]:
        """Sentences about a user most of whose words only the assistant used."""
        theirs = self._terms[Role.ASSISTANT] - self._terms[Role.USER]
        if not theirs:
            return
        speakers = {m.speaker for m in self._said if m.role is Role.USER and m.speaker}
        subject = re.compile(
            r"\s*[-*]?\s*(?:(?:on|in)\s[^,]{1,40},\s)?(?:"
            + "|".join(["(?:the )?user", *map(re.escape, sorted(speakers))])
            + r")\b(?:['’]s)?",
            re.IGNORECASE,
        )
        for sentence in _SENTENCE.split(text):
            match = subject.match(sentence)
            if match is None or _ADDRESSED.match(sentence, match.end()):
                continue
            words = set(terms(sentence[match.end() :])) - _REPORTING
            only_theirs = words & theirs
            own = words & self._terms[Role.USER]
            particular = any(plain(name) & only_theirs for name in Particulars(sentence, None).names)
            if only_theirs and (particular or len(only_theirs) >= len(own)):
                yield sentence.strip()


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many of a turn's particulars reach its summary: (reached, in all) of each kind."""

    numbers: tuple[int, int]
    dates: tuple[int, int]
    names: tuple[int, int]

    @property
    def share(self) -> float | None:
        """Of all kinds together, 0 to 1; None for a turn without any."""
        reached, total = (sum(pair) for pair in zip(self.numbers, self.dates, self.names, strict=True))
        return reached / total if total else None

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(
            *(
                (mine[0] + theirs[0], mine[1] + theirs[1])
                for mine, theirs in zip(
                    (self.numbers, self.dates, self.names),
                    (other.numbers, other.dates, other.names),
                    strict=True,
                )
            )
        )


NOTHING_TO_COVER = Coverage((0, 0), (0, 0), (0, 0))
"""Start of a sum."""


def coverage(content: Summary | Sequence[Bullet], messages: Sequence[Message]) -> Coverage:
    """How many numbers, dates and names of ``messages`` are in a derived entry, each counted once."""
    said = [message for message in messages if message.origin is Origin.SAID]
    if isinstance(content, Summary):
        derived = "\n".join([content.text, *content.keywords, *content.tags])
    else:
        derived = "\n".join(bullet.text for bullet in content)
    day = next((m.sent_at.date() for m in said if m.sent_at), None)
    kept = Particulars(derived, day)
    sources = [  # of the sentences: the numbering of a list is no particular
        Particulars("\n".join(sentence.text for sentence in sentences_of(m)), m.sent_at and m.sent_at.date())
        for m in said
    ]
    numbers = {(n.value, n.unit): n for source in sources for n in source.numbers}
    dates = {(s.first, s.last): s for source in sources for readings in source.dates for s in readings[:1]}
    names = {min(plain(name)) for source in sources for name in source.names}
    return Coverage(
        _reached(numbers.values(), lambda n: any(have.supports(n) for have in kept.numbers)),
        _reached(dates.values(), lambda s: any((h.first, h.last) == (s.first, s.last) for h in kept.days)),
        _reached(names, lambda name: name in kept.words),
    )


def _reached(items: Iterable[_Item], kept: Callable[[_Item], bool]) -> tuple[int, int]:
    flags = [kept(item) for item in items]
    return sum(flags), len(flags)


def _particulars(message: Message) -> Particulars:
    said = message.sent_at.date() if message.sent_at else None
    return Particulars(f"{message.text}\n{message.attachments}", said)


def _uncased(term: str) -> bool:
    """Whether a term is in a script that has no capitals."""
    return any(c.isalpha() and c.lower() == c.upper() for c in term)
