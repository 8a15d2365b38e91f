"""The answer that rules can give: dates subtracted and items counted in code, else the best sentences.

A small model phrases this; it never computes it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from localmem.answering.counting import COUNTED, counted_things, items
from localmem.answering.question import Kind, Question
from localmem.answering.sentences import Sentence
from localmem.dates import day_text
from localmem.index.tokens import terms
from localmem.types import Role

ASSISTANT_DISCOUNT = 0.8
"""What the assistant said counts less than what a person said about themselves."""
QUESTION_DISCOUNT = 0.5
"""A sentence that asks seldom answers."""
CLOSE = 0.85
"""Share of the best sentence's relevance from which on a sentence speaks of the same thing."""
_QUANTITY = re.compile(r"(?<![\w.,$€£])(\d[\d,]*)((?: [^\W\d][\w'’-]*){1,3})")
CORRECTS = 0.75
"""Share of the longer one's terms, dates left out, that two sentences must share to tell of one event."""
UPDATES = 0.6
"""Share of the question that two sentences must cover for the later one to be an update of the other."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer by rule."""

    text: str
    sentences: tuple[Sentence, ...]
    """What it rests on."""
    value: str = ""
    """What code computed and any other wording must keep; empty when nothing was computed."""
    earlier: tuple[Sentence, ...] = ()
    """Those of ``sentences`` that tell what was so before the first of them: the latest wins."""

    @property
    def sources(self) -> tuple[int, ...]:
        """Ids of the messages it rests on."""
        return tuple(dict.fromkeys(sentence.message.id for sentence in self.sentences))


def rank(sentences: Sequence[Sentence]) -> list[tuple[float, Sentence]]:
    """Sentences by how likely they answer, best first; equal ones in the order given."""
    scored = []
    for sentence in sentences:
        score = sentence.relevance
        if sentence.message.role is Role.ASSISTANT:
            score *= ASSISTANT_DISCOUNT
        if sentence.text.endswith(("?", "？")):
            score *= QUESTION_DISCOUNT
        scored.append((score, sentence))
    return sorted(scored, key=lambda pair: -pair[0])


def draft(question: Question, parts: Sequence[Sequence[Sentence]]) -> Draft:
    """The rule's answer from the sentences found for each part of the question.

    There is one part, but two for an interval; each must have at least one sentence.
    """
    if question.kind is Kind.INTERVAL:
        return _interval(question, parts)
    if question.kind is Kind.COUNT:
        return _told_number(question, parts[0]) or _count(question, parts[0])
    if question.kind is Kind.WHEN:
        return _when(parts[0])
    return _latest(parts[0])


def _interval(question: Question, parts: Sequence[Sequence[Sentence]]) -> Draft:
    events = _events(*parts)
    days = [event.day for event in events]
    first, last = days
    if first is None or last is None:
        return _quoted(events)
    between = abs((last - first).days)
    number, unit = _in_unit(between, question.unit)
    value = f"{number} {unit}"
    return Draft(
        f"{value}: from {day_text(min(first, last))} to {day_text(max(first, last))}.", tuple(events), value
    )


def _events(first: Sequence[Sentence], second: Sequence[Sentence]) -> list[Sentence]:
    """The best sentence for each event, out of two messages where there are two: one tells of both seldom."""
    ranked = [_best_of_messages(sentences) for sentences in (first, second)]
    pairs = [
        (a[0] + b[0], a[1], b[1]) for a in ranked[0] for b in ranked[1] if a[1].message.id != b[1].message.id
    ]
    if not pairs:
        return [ranked[0][0][1], ranked[1][0][1]]
    _, event, other = max(pairs, key=lambda pair: pair[0])
    return [event, other]


def _best_of_messages(sentences: Sequence[Sentence]) -> list[tuple[float, Sentence]]:
    """The best sentence of each of the two best messages: no other can be in the best pair."""
    best: dict[int, tuple[float, Sentence]] = {}
    for score, sentence in rank(sentences):
        best.setdefault(sentence.message.id, (score, sentence))
    return list(best.values())[:2]


def _in_unit(days: int, unit: str) -> tuple[str, str]:
    length = {"days": 1, "weeks": 7, "months": 30.44, "years": 365.25}[unit]
    number = round(days / length, 1)
    text = f"{number:g}"
    return text, unit.removesuffix("s") if number == 1 else unit


def _told_number(question: Question, sentences: Sequence[Sentence]) -> Draft | None:
    """The number that somebody told: "we planted 40 tulips" answers how many tulips were planted.

    The latest wins, among sentences that cover the question. None: nobody told one.
    """
    things = counted_things(question.text)
    told = [
        (sentence, found[1])
        for _, sentence in rank(sentences)
        if sentence.coverage >= COUNTED and not sentence.text.endswith("?")
        for found in _QUANTITY.finditer(sentence.text)
        if things and things <= set(terms(found[2]))
    ]
    if not told:
        return None
    sentence, value = max(told, key=lambda pair: _time(pair[0]))
    return Draft(f"{value}. {_quote(sentence)}", (sentence,), value)


def _count(question: Question, sentences: Sequence[Sentence]) -> Draft:
    counted = sorted(items(question, [sentence for _, sentence in rank(sentences)]), key=_time)
    if not counted:
        return _latest(sentences)
    listing = "; ".join(f"({n}) {sentence.dated_text()}" for n, sentence in enumerate(counted, 1))
    value = str(len(counted))
    return Draft(f"{value}, as far as I was told: {listing}", tuple(counted), value)


def _when(sentences: Sequence[Sentence]) -> Draft:
    ranked = rank(sentences)
    best = ranked[0][0]
    dated = [sentence for score, sentence in ranked if score >= CLOSE * best and sentence.dates]
    first = dated[0] if dated else ranked[0][1]
    versions = sorted((s for s in dated if _same_but_for_dates(s, first)), key=_time, reverse=True) or [first]
    sentence = versions[0]
    if not sentence.dates:
        return _quoted([sentence])
    value = str(sentence.dates[0])
    text = f"{value}. {_quote(sentence)}"
    earlier = tuple(s for s in versions if str(s.dates[0]) != value)[:2]
    if not earlier:
        return Draft(text, (sentence,), value)
    before = " ".join(_quote(one) for one in earlier)
    return Draft(f"{text} Earlier: {before}", (sentence, *earlier), value, earlier)


def _same_but_for_dates(sentence: Sentence, other: Sentence) -> bool:
    """Whether one may be a correction of the other: the same words, on another day."""
    words, others = _dateless(sentence), _dateless(other)
    return len(words & others) >= CORRECTS * max(len(words), len(others), 1)


def _dateless(sentence: Sentence) -> set[str]:
    text = sentence.text
    for mention in reversed(sentence.dates):
        text = text[: mention.span[0]] + text[mention.span[1] :]
    return set(terms(text)) - set(terms(sentence.message.speaker))


def _latest(sentences: Sequence[Sentence]) -> Draft:
    """The newest of the sentences that speak of the same thing, earlier ones behind it: latest wins."""
    ranked = rank(sentences)
    best = ranked[0][0]
    close = [sentence for score, sentence in ranked if score >= CLOSE * best]
    newest, *earlier = sorted(close, key=_time, reverse=True)[:3]
    told = _quoted([newest, *earlier])
    if not earlier:
        return told
    before = " ".join(_quote(sentence) for sentence in earlier)
    outdated = tuple(s for s in earlier if min(newest.coverage, s.coverage) >= UPDATES)
    return replace(told, text=f"{_quote(newest)} Earlier: {before}", earlier=outdated)


def _quoted(sentences: Sequence[Sentence]) -> Draft:
    return Draft(" ".join(_quote(sentence) for sentence in sentences), tuple(sentences))


def _quote(sentence: Sentence) -> str:
    who = sentence.message.speaker or ("You" if sentence.message.role is Role.USER else "The assistant")
    when = f" ({day_text(sentence.said)})" if sentence.said else ""
    return f"{who}{when}: {_ended(sentence.dated_text())}"


def _ended(text: str) -> str:
    return text if re.search(r"[.!?…]$", text) else f"{text}."


def _time(sentence: Sentence) -> tuple[float, int]:
    message = sentence.message
    return (message.sent_at.timestamp() if message.sent_at else 0.0, message.id)
