"""Enumeration: the statements among some sentences that each tell of one item of a count.

An item is something that happened to the person who tells it. Its sentence has all particular terms of the
question, lies in the time that the question names, and tells of what no other item tells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from statistics import fmean

from localmem.answering.happened import LIGHT, bases, happened, irregular_verbs
from localmem.answering.question import EVER, Days, Question, period_of
from localmem.answering.sentences import Sentence
from localmem.index.tokens import terms
from localmem.types import Role

COUNTED = 0.6
"""Share of the question, weighted by idf, that a sentence must cover to be an item of a count."""
SAME = 0.6
"""Share of the shorter one's own words, from which on two sentences tell of the same item."""

_COUNTED = re.compile(
    r"\bhow many (.+?) (?:did|do|does|have|has|had|was|were|are|is|can|could)\b", re.IGNORECASE
)
_OCCASIONS = re.compile(r"\bhow (?:many times|often)\b", re.IGNORECASE)
_MEASURE = re.compile(
    r"\bhow many (?:\w+ )?(?:seconds|minutes|hours|days|weeks|months|years|miles|kilomet\w+|dollars|euros)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[\w,] )(?!I\b)[A-Z][\w-]+")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a question asks its items for."""

    weights: dict[str, float]
    """Its terms but who, when and light verbs, with their idf."""
    particular: frozenset[str]
    """The rarest: no less rare than the mean of those besides the things counted. And irregular verbs, of
    which the index passes over some ("won")."""
    subjects: frozenset[str]
    """Speakers that it names; none: whoever."""
    occasions: bool
    """It counts times, not things."""
    period: Days


def counted_things(text: str) -> set[str]:
    """Terms of what a question counts: of "books" in how many books I finished."""
    counted = _COUNTED.search(text)
    return set(bases(counted[1])) if counted else set()


def items(question: Question, sentences: Sequence[Sentence]) -> list[Sentence]:
    """One sentence for each item; the first of ``sentences`` that tells of it.

    None for a question that counts a measure, such as days: what was told of is no unit of it. Nor for one
    that says nothing particular, for then everything would be one.
    """
    if _MEASURE.search(question.text) or not sentences:
        return []
    wanted = _wanted(question, sentences)
    if not wanted.particular:
        return []
    found: list[Sentence] = []
    for sentence in sentences:
        if _is_item(sentence, wanted) and not any(_same(sentence, other, wanted) for other in found):
            found.append(sentence)
    return found


def _wanted(question: Question, sentences: Sequence[Sentence]) -> _Wanted:
    asked = question.asked or max((s.said for s in sentences if s.said), default=None)
    period, when = period_of(question.text, asked) if asked else (EVER, "")
    speakers = {word for sentence in sentences for word in terms(sentence.message.speaker)}
    left_out = speakers | set(terms(when))
    weights = {
        base: weight
        for word, weight in sentences[0].weights.items()
        for base in bases(word)
        if word not in left_out and base not in LIGHT
    }
    things = counted_things(question.text)
    rest = {word: weight for word, weight in weights.items() if word not in things} or weights
    least = fmean(rest.values()) * (1 - 1e-9) if rest else 0.0
    return _Wanted(
        weights=weights,
        particular=frozenset(word for word in rest if rest[word] >= least) | irregular_verbs(question.text),
        subjects=frozenset(speakers & set(question.terms)),
        occasions=bool(_OCCASIONS.search(question.text)),
        period=period,
    )


def _is_item(sentence: Sentence, wanted: _Wanted) -> bool:
    message = sentence.message
    if message.role is not Role.USER or sentence.attached or sentence.text.endswith(("?", "？")):
        return False
    if wanted.subjects and not wanted.subjects & set(terms(message.speaker)):
        return False
    have = set(bases(sentence.text))
    covered = sum(weight for word, weight in wanted.weights.items() if word in have)
    if not wanted.particular <= have or covered < COUNTED * sum(wanted.weights.values()):
        return False
    over = any(sentence.said and mention.last <= sentence.said for mention in sentence.dates)
    return _overlap(_days(sentence), wanted.period) and happened(
        sentence.text, wanted.particular, in_the_past=over
    )


def _same(one: Sentence, other: Sentence, wanted: _Wanted) -> bool:
    """Whether two sentences tell of one item.

    Not if they give two days, or two names for things. Else those of one session do, for there somebody goes
    on about one; those of two sessions when the occasion was on one day, or what is said of the thing beside
    the question's words is alike.
    """
    overlapping = _overlap(_days(one), _days(other))
    if one.dates and other.dates and not overlapping:
        return False
    names = [set(_NAME.findall(sentence.text)) for sentence in (one, other)]
    if not wanted.occasions and all(names) and not names[0] & names[1]:
        return False
    if one.message.session_id == other.message.session_id:
        return True
    if wanted.occasions:
        return overlapping
    own = [set(bases(sentence.text)) - wanted.weights.keys() for sentence in (one, other)]
    fewer = min(map(len, own))
    return fewer > 0 and len(own[0] & own[1]) >= SAME * fewer


def _days(sentence: Sentence) -> Days:
    """The days that a sentence tells of: the first it names, else the one it was said on."""
    if sentence.dates:
        return sentence.dates[0].first, sentence.dates[0].last
    return (sentence.said, sentence.said) if sentence.said else (date.min, date.max)


def _overlap(one: Days, other: Days) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
