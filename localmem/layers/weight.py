"""How much a sentence tells, judged at a glance: numbers, names, times, and words that say something."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from localmem.index.tokens import STOP_WORDS, UNSPACED
from localmem.layers.sentences import FILLERS, Sentence, words_of
from localmem.layers.verbs import PAST
from localmem.layers.voice import recommends
from localmem.types import Role

_LOOKED_AT = 1_000
"""Characters of a sentence."""
_SAYS_NOTHING = STOP_WORDS | FILLERS
_NUMBER = re.compile(r"\d+")
_NUMBER_WORDS = frozenset(
    "two three four five six seven eight nine ten eleven twelve first second third twice dozen".split()
)
_NAME = re.compile(r"(?<=[^.!?:\n]\s)[A-Z][\w’'-]+")
_KINDS = {
    "plan": frozenset(
        "plan plans planning gonna going wanna want will i'll we'll hope hoping considering tomorrow soon "
        "thinking".split()
    ),
    "preference": frozenset(
        "like love loved prefer enjoy enjoyed hate dislike favorite favourite fave fan passionate keen "
        "interested".split()
    ),
    "constraint": frozenset(
        "can't cannot allergic allergy must need budget limit vegan vegetarian avoid deadline".split()
    ),
    "event": PAST | frozenset("was were been had just did".split()),
}
_SELF = frozenset("i my me i'm i've i'd i'll".split())
_FACTORS = {"said": 1.0, "asked": 0.5, "attached": 0.6, "code": 0.8}


@dataclass(frozen=True, slots=True)
class Weighed:
    """A sentence and what a glance at it tells."""

    sentence: Sentence
    words: tuple[str, ...]
    """Those that say something, in lower case."""
    kinds: tuple[str, ...]
    """What kind of talk it is: plan, preference, constraint, event, question, recommendation, explanation,
    code, attachment."""
    weight: float
    """From 0 (it tells nothing); about 1 for a plain statement."""


def weighed(sentence: Sentence, names: Collection[str] = ()) -> Weighed:
    """``sentence`` weighed; ``names`` of those who talk, in lower case, say nothing."""
    text = sentence.text[:_LOOKED_AT]
    all_words = words_of(text)
    words = tuple(word for word in all_words if word not in _SAYS_NOTHING and word not in names)
    have = frozenset(all_words)
    kinds = _kinds(sentence, have)
    if not words:
        return Weighed(sentence, words, kinds, 0.0)
    said = len(words) if text.isascii() else len(words) + len(UNSPACED.findall(text)) // 2
    numbers = len(_NUMBER.findall(text)) + len(have & _NUMBER_WORDS)
    called = len([1 for name in _NAME.findall(text) if name.lower() not in names])
    told = min(said, 12) / 12 + 0.5 * min(numbers, 3) ** 0.5 + 0.3 * min(called, 3) ** 0.5
    if sentence.dates:
        told += 0.5
    if sentence.kind == "said" and sentence.message.role is Role.USER:
        told += 0.3 * bool(have & _SELF) + 0.2 * bool(kinds)
    elif "recommendation" in kinds:
        told += 0.3
    return Weighed(sentence, words, kinds, told * _FACTORS[sentence.kind])


def _kinds(sentence: Sentence, words: frozenset[str]) -> tuple[str, ...]:
    if sentence.kind != "said":
        return ({"code": "code", "attached": "attachment", "asked": "question"}[sentence.kind],)
    if sentence.message.role is Role.ASSISTANT:
        return ("recommendation" if recommends(sentence.text[:_LOOKED_AT]) else "explanation",)
    found = tuple(kind for kind, cues in _KINDS.items() if words & cues)
    return found[:-1] if len(found) > 1 and found[-1] == "event" else found
