"""What a question tells of the messages that answer it: who spoke, when, about what."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from localmem.dates import dates_in
from localmem.index.tokens import STOP_WORDS, query_terms

EMBEDDED = 2000
"""Characters of a question that are embedded. A page pasted in is matched by all its words, and by the
meaning of its beginning: to embed the whole of it would take minutes."""

_TIME_QUESTION = re.compile(
    r"\b(?:when|how long|what (?:date|day|month|year|time)|which (?:month|year|day))\b", re.IGNORECASE
)
_WORD = re.compile(r"\b(\w+?)((?:'|’)s)?\b(?!\w)")
_FIRST_PERSON = frozenset(["i", "my", "me", "mine", "we", "our", "us", "myself"])
_SECOND_PERSON = frozenset(("you", "your"))


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as the ranking reads it."""

    terms: tuple[str, ...]
    """Distinct stems to match, without the names of speakers."""
    similar_to: str
    """What to embed: the question with a speaker's name as "I", for that is how they would say it."""
    speakers: frozenset[int]
    """Numbers of the speakers named, indexes into ``Columns.names``."""
    first_person: bool
    """Asked by the person themselves, about themselves."""
    wants_time: bool
    days: tuple[tuple[date, date], ...]
    """Intervals of days that it names."""


def read(question: str, names: tuple[str, ...], asked_on: date | None) -> Asked:
    """Read a question against the speakers of a store (lowercased names).

    ``asked_on`` is what relative dates count from; None: they are passed over.
    """
    by_word = _by_word(names)
    lower = question == question.lower()
    speakers: set[int] = set()

    def replaced(match: re.Match[str], own: str, whose: str) -> str:
        word: str = match[1]
        if word.lower() not in by_word or not (lower or word[0].isupper()):
            return match[0]
        speakers.update(by_word[word.lower()])
        return whose if match[2] else own

    as_said = _WORD.sub(lambda match: replaced(match, "I", "my"), question)
    without = _WORD.sub(lambda match: replaced(match, " ", " "), question)
    words = set(re.findall(r"\w+", question.lower()))
    return Asked(
        terms=query_terms(without) or query_terms(question),
        similar_to=" ".join(as_said.split())[:EMBEDDED] or question[:EMBEDDED],
        speakers=frozenset(speakers),
        first_person=bool(words & _FIRST_PERSON) and not words & _SECOND_PERSON,
        wants_time=bool(_TIME_QUESTION.search(question)),
        days=tuple((mention.first, mention.last) for mention in dates_in(question, asked_on))
        if asked_on
        else (),
    )


@lru_cache(maxsize=8)
def _by_word(names: tuple[str, ...]) -> dict[str, set[int]]:
    """Word of a name -> the speakers who have it."""
    found: dict[str, set[int]] = {}
    for number, name in enumerate(names):
        for word in re.findall(r"\w+", name):
            if len(word) > 1 and word not in STOP_WORDS:
                found.setdefault(word, set()).add(number)
    return found
