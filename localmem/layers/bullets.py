"""L1 and L2 by rule: statements that stand alone, for when no model is trusted with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from localmem.entries import Bullet
from localmem.index.tokens import terms
from localmem.layers.sentences import Sentence, sentences_of
from localmem.layers.shorten import shortened
from localmem.layers.voice import addressee_of, dated, opening, speaker_words, stated
from localmem.layers.weight import weighed
from localmem.types import Message

FACTS = 25
"""The most bullets of a session (APDMem, Appendix I: 5 to 25)."""
FEWEST = 5
"""Bullets of a session below which weaker sentences are taken too."""
TELLS = 0.8
"""Weight from which on a sentence is a fact of its session."""
SAYS_SOMETHING = 0.15
"""Weight from which on a sentence is a note of its turn."""
NOTES = 60
"""The most bullets of a turn: a pasted book stays in its message."""
LONGEST = 60
"""Words of a bullet."""
SAME = 0.6
"""Jaccard overlap of terms from which on two sentences tell the same."""

_JOINED = re.compile(r";\s+|(?<=\w),?\s+(?:and|but)\s+(?=(?:I|my|we)\b(?!\s+(?:and|or)\b))")


def notes(messages: Sequence[Message]) -> tuple[Bullet, ...]:
    """Notes of a turn's messages: what each sentence tells, in order; recalled messages are left out.

    Of a turn with more than :data:`NOTES` statements, the weightiest.
    """
    found = [part for message in messages for s in sentences_of(message) for part in _atomic(s)]
    names = speaker_words(messages)
    told = [(weighed(sentence, names).weight, sentence) for sentence in found]
    kept = _heaviest([(value, s) for value, s in told if value >= SAYS_SOMETHING], NOTES)
    return tuple(_bullet(sentence, messages) for sentence in kept)


def facts(messages: Sequence[Message]) -> tuple[Bullet, ...]:
    """Facts of a session's messages: its weightiest statements, in order; recalled messages are left out.

    No two tell the same; fewer than :data:`FEWEST` only where no more was said.
    """
    names = speaker_words(messages)
    told: list[tuple[float, Sentence, Sequence[Message]]] = []
    for _, group in groupby(messages, key=lambda message: message.turn):
        turn = list(group)
        told += [(weighed(s, names).weight, s, turn) for message in turn for s in sentences_of(message)]
    told.sort(key=lambda item: -item[0])
    chosen: list[tuple[Sentence, Sequence[Message]]] = []
    have: list[set[str]] = []
    for value, sentence, around in told:
        if len(chosen) == FACTS or value < (SAYS_SOMETHING if len(chosen) < FEWEST else TELLS):
            break
        words = set(terms(sentence.text[:1000]))
        if any(same(words, other) for other in have):
            continue
        have.append(words)
        chosen.append((sentence, around))
    chosen.sort(key=lambda pair: (pair[0].message.position, pair[0].place))
    return tuple(_bullet(dated(sentence), turn) for sentence, turn in chosen)


def same(words: set[str], other: set[str]) -> bool:
    """Whether two sentences tell the same; never when their numbers differ."""
    differ = any(word.isdigit() for word in words ^ other)
    return not differ and len(words & other) >= SAME * len(words | other)


def _bullet(sentence: Sentence, turn: Sequence[Message]) -> Bullet:
    text = stated(sentence, addressee_of(sentence.message, turn))
    return Bullet(shortened(text, LONGEST, opening(sentence)), (sentence.message.id,))


def _atomic(sentence: Sentence) -> list[Sentence]:
    """One sentence for each statement: "I moved and I found a job" are two."""
    sentence = dated(sentence)
    if sentence.kind != "said":
        return [sentence]
    return [replace(sentence, text=part) for part in _JOINED.split(sentence.text) if part.strip()]


def _heaviest(told: Sequence[tuple[float, Sentence]], most: int) -> list[Sentence]:
    """At most ``most`` sentences, in order."""
    best = sorted(range(len(told)), key=lambda i: -told[i][0])[:most]
    return [told[i][1] for i in sorted(best)]
