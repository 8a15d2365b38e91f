"""Sentences made to stand alone: who speaks is named, and relative dates are absolute.

Person and verb are changed by rule, with no tagger: ``I`` and the verb behind it, ``my``, ``me``. What the
rules cannot resolve (we, you, he) is left, behind "Ana said:" so that it stays clear whose word it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from localmem.dates import DateMention
from localmem.layers.sentences import Sentence
from localmem.layers.verbs import ADVERBS, PAST, third_person
from localmem.types import Message, Role

_FIRST_PERSON = re.compile(
    r"(?<!\bWar )(?<!\bPart )(?<!\bChapter )(?<!\bPhase )(?<!\bType )"  # a Roman numeral
    r"\b(?:(?:I|i(?=['’ ]\w))(?:['’](?:m|ve|d|ll))?|[Mm]y|[Mm]e|[Mm]ine|[Mm]yself)\b(?!['’/-]\w)"
)
_GREETING = re.compile(
    r"(?:(?:by the way|btw|also|anyway|well|oh|ah|yeah|yes|yep|wow|hey|hi|hello|so|thanks|cool|actually"
    r"|honestly|haha|ok|okay)(?: [A-Z][\w-]+)?[,!] +)+(?=\w)",
    re.IGNORECASE,
)
_VERB = re.compile(
    rf"(?:(?:{'|'.join(sorted(ADVERBS))}|(?!(?:app|f|imp|comp|multip|re|rep|supp)ly\b)[a-z]+ly)\s+)*"
    r"([a-z]+(?:n['’]t)?)\b(?!['’])"
)
_INVERTED = re.compile(
    r"(?:\b(?:am|are|was|were|do|did|have|had|can|could|should|would|will|may|might|must|nor|so)\s+)$",
    re.IGNORECASE,
)
_OTHERS = re.compile(r"\b(?:we|us|ours?|you|yours?|let['’]s|ourselves)\b|\b(?:we|you)['’]", re.IGNORECASE)
_YOU = re.compile(r"\byou|\byour", re.IGNORECASE)
_WAS_ABLE = re.compile(r"(?:been|better|gone|seen|done|never been|already|\w{3,}ed)\b")
_FIRST_WORD = re.compile(r"[A-Za-z]+(?= )")
_CONTRACTED = {"m": "is", "ve": "has", "ll": "will"}
_RECOMMENDS = re.compile(
    r"\b(?:recommend|suggest|consider|try|check out|should|could|might want|worth"
    r"|would be (?:a )?(?:great|good|ideal)|go for|opt for|make sure|be sure|i['’]d advise)\b",
    re.IGNORECASE,
)
_PREPOSITION = re.compile(
    r"\b(on|in|since|by|until|till|from|before|after|of|for|around|during|over|the|past|about|through|this|that)\s$",
    re.IGNORECASE,
)
_LEADING = re.compile(r"(?:in|during|since|until|by|of|on)\b", re.IGNORECASE)
_PART_OF_DAY = {
    "last night": "on the night of",
    "tonight": "on the evening of",
    "this morning": "on the morning of",
    "this afternoon": "on the afternoon of",
    "this evening": "on the evening of",
}


def name_of(message: Message) -> str:
    """Who speaks, as a sentence names them inside: ``Ana``, ``the user``, ``the assistant``."""
    if message.role is Role.ASSISTANT:
        return "the assistant"
    return " ".join(message.speaker.split()) or "the user"


def speaker_words(messages: Sequence[Message]) -> frozenset[str]:
    """The names of those who talk, in lower case, and the short forms that begin them (Kat of Katrin)."""
    full = {word for message in messages for word in message.speaker.lower().split()[:4]}
    return frozenset(name[:end] for name in full for end in range(min(3, len(name)), min(len(name), 20) + 1))


def dated(sentence: Sentence) -> Sentence:
    """``sentence`` with each relative date as what it means: ``yesterday`` -> ``on 7 May 2023``."""
    if not sentence.dates:
        return sentence
    text, pieces, at = sentence.text, [], 0
    for mention in sentence.dates:
        start, end = mention.span
        pieces += [text[at:start], _absolute(text, mention)]
        at = end
    return replace(sentence, text="".join([*pieces, text[at:]]), dates=())


def stated(sentence: Sentence, addressee: str | None) -> str:
    """A :func:`dated` sentence as a statement that stands alone; ``addressee``: who heard it, if known."""
    name = name_of(sentence.message)
    text = sentence.text
    if sentence.kind in ("code", "attached"):
        return _capital(f"{name} shared: {text}")
    text = text[match.end() :] if (match := _GREETING.match(text)) else text
    if sentence.kind == "said" and sentence.message.role is Role.USER:
        text = _with_subject(text, name)
    text, named = _in_third_person(text, name)
    if (named or text.startswith(name)) and sentence.kind == "said" and not _OTHERS.search(text):
        return _capital(text)
    return _capital(f"{name} {_verb(sentence, addressee)}: {text}")


def opening(sentence: Sentence) -> str:
    """What says whose words a piece of ``sentence`` are: ``Ana said:``."""
    return _capital(f"{name_of(sentence.message)} {_verb(sentence, None)}:")


def _verb(sentence: Sentence, addressee: str | None) -> str:
    to_them = addressee is not None and _YOU.search(sentence.text)
    if sentence.kind == "asked":
        return f"asked {addressee}" if to_them else "asked"
    if sentence.message.role is Role.ASSISTANT and recommends(sentence.text):
        return "recommended"
    return f"told {addressee}" if to_them else "said"


def recommends(text: str) -> bool:
    """Whether a sentence of an assistant gives advice."""
    return _RECOMMENDS.search(text) is not None


def addressee_of(message: Message, messages: Sequence[Message]) -> str | None:
    """Who a message was said to: the only other voice in ``messages``; the assistant's user; else None."""
    name = name_of(message)
    others = {name_of(other) for other in messages} - {name}
    if len(others) == 1:
        return others.pop()
    return "the user" if message.role is Role.ASSISTANT and not others else None


def _absolute(text: str, mention: DateMention) -> str:
    start, end = mention.span
    written = text[start:end]
    meaning = str(mention)
    if str(mention.first.year) in written:
        return written
    before = _PREPOSITION.search(text, max(start - 12, 0), start)
    days = mention.first != mention.last
    if " to " in meaning:
        free = before is None and not _LEADING.match(written) and text[end : end + 2] not in ("'s", "’s")
        return f"from {meaning}" if free else f"{written} ({meaning})"
    if text[end : end + 2] in ("'s", "’s"):
        return meaning
    if leading := _LEADING.match(written):
        kept = leading[0].lower() not in ("in", "on")
        return f"{leading[0] if kept else 'in' if days else 'on'} {meaning}"
    if before is None:
        part = _PART_OF_DAY.get(written.lower())
        return f"{part or ('in' if days else 'on')} {meaning}"
    if before[1].lower() in ("the", "past", "this", "that", "over", "about"):
        return f"{written} ({meaning})"
    return meaning


def _with_subject(text: str, name: str) -> str:
    """``text`` with its subject where that is left out: ``Lost my job``."""
    first = _FIRST_WORD.match(text)
    if first is None or first[0].lower() not in PAST:
        return text
    return f"{name} {first[0].lower()}{text[first.end() :]}"


def _in_third_person(text: str, name: str) -> tuple[str, bool]:
    """``text`` with the first person replaced, and whether its speaker is named now."""
    pieces: list[str] = []
    at, named = 0, False
    for match in _FIRST_PERSON.finditer(text):
        pieces.append(text[at : match.start()])
        word, at = match[0], match.end()
        if word[0] not in "Ii":
            pieces.append(f"{name}'s" if word.lower() in ("my", "mine") else name)
            named = True
            continue
        replaced, at = _subject(text, match, name)
        pieces.append(replaced)
        named = True
    return "".join([*pieces, text[at:]]), named


def _subject(text: str, match: re.Match[str], name: str) -> tuple[str, int]:
    """``I`` with its verb in the third person, and where the text goes on."""
    contracted = match[0][2:]
    if contracted == "d":
        return f"{name} {'had' if _WAS_ABLE.match(text, match.end() + 1) else 'would'}", match.end()
    if contracted:
        return f"{name} {_CONTRACTED[contracted]}", match.end()
    if _INVERTED.search(text, max(match.start() - 8, 0), match.start()):
        return name, match.end()
    if text[match.end() : match.end() + 1] != " ":
        return name, match.end()
    verb = _VERB.match(text, match.end() + 1)
    if verb is None:
        return name, match.end()
    return f"{name}{text[match.end() : verb.start(1)]}{third_person(verb[1])}", verb.end(1)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
