"""L0 by rule: one line of at most 30 words for a turn, keywords, tags. A fraction of a millisecond."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice

from localmem.entries import Summary
from localmem.layers.keywords import EMPTY_WORDS, keywords_of
from localmem.layers.sentences import sentences_of
from localmem.layers.shorten import length, shortened
from localmem.layers.voice import addressee_of, dated, opening, speaker_words, stated
from localmem.layers.weight import Weighed, weighed
from localmem.types import Message

WORDS = 30
"""The most that a summary has (APDMem, Figure 4)."""
LOOKED_AT = 8_000
"""Characters of a message: a summary of a whole book is its beginning."""
SENTENCES = 200
"""Sentences of a message that are weighed."""
FIRST_SHARE = 20
"""Words that the weightiest sentence may have when another voice has something to say too."""
ROOM = 6
"""Words that must be left for another sentence to be added."""
TELLS = 0.5
"""Weight from which on a turn is more than small talk."""
KINDS = 3
"""The most tags that say what kind of talk it is."""
TAGS = 5
LONGEST_TAG = 20
"""Characters."""
_ENDS = tuple(".!?…。！？؟")
_OPENING = re.compile(r"[^:.!?]{1,80}? (?:said|told [^:.!?]{1,60}|recommended|shared): ")


def summarise(messages: Sequence[Message]) -> Summary:
    """The summary of a turn's messages, in order; recalled ones are left out.

    Empty when there is nothing to sum up: empty messages, or all recalled.
    """
    names = speaker_words(messages)
    found = [
        weighed(sentence, names)
        for message in messages
        for sentence in islice(sentences_of(message, LOOKED_AT), SENTENCES)
    ]
    if not found:
        return Summary("")
    return Summary(_line(found, messages), keywords_of(found, names), _tags(found))


def _line(found: Sequence[Weighed], messages: Sequence[Message]) -> str:
    """The weightiest sentence of each message first, then what still fits; in order of time."""
    order = sorted(range(len(found)), key=lambda i: -found[i].weight)
    heads = list({found[i].sentence.message.id: i for i in reversed(order)}.values())
    heads.sort(key=lambda i: -found[i].weight)
    telling = sum(found[i].weight > 0 for i in heads)
    chosen: dict[int, str] = {}
    left = WORDS
    for i in dict.fromkeys([*heads, *order]):
        if chosen and (found[i].weight <= 0 or left < ROOM):
            break
        sentence = found[i].sentence
        text = stated(dated(sentence), addressee_of(sentence.message, messages))
        text = shortened(text, left if chosen or telling < 2 else FIRST_SHARE, opening(sentence))
        chosen[i] = text
        left -= length(text)
    return _joined([chosen[i] for i in sorted(chosen)])


def _joined(texts: Sequence[str]) -> str:
    """The sentences in a row; "Ana said:" only once for those that follow each other."""
    pieces: list[str] = []
    before = ""
    for text in texts:
        head = match[0] if (match := _OPENING.match(text)) else ""
        pieces.append(_ended(text.removeprefix(head) if head == before else text))
        before = head
    return " ".join(pieces)


def _tags(found: Sequence[Weighed]) -> tuple[str, ...]:
    """What kinds of talk the turn has, by weight, then its strongest words."""
    by_kind: defaultdict[str, float] = defaultdict(float)
    by_word: defaultdict[str, float] = defaultdict(float)
    for one in found:
        for kind in one.kinds if one.weight else ():
            by_kind[kind] += one.weight
        for word in dict.fromkeys(one.words):
            if 3 < len(word) <= LONGEST_TAG and word.isalpha() and word not in EMPTY_WORDS:
                by_word[word] += one.weight
    tags = sorted(by_kind, key=by_kind.__getitem__, reverse=True)[:KINDS]
    if not tags:
        tags = ["fact" if any(one.weight >= TELLS for one in found) else "small talk"]
    words = sorted(by_word, key=by_word.__getitem__, reverse=True)[:TAGS]
    return tuple(dict.fromkeys([*tags, *words]))[:TAGS]


def _ended(text: str) -> str:
    return text if text.endswith(_ENDS) else f"{text}."
