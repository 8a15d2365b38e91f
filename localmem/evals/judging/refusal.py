"""Does an answer say that it does not know?"""

from __future__ import annotations

import re
from enum import StrEnum

_THING = (
    r"(?:information|info|mention|records?|evidence|data|details?|answer|notes?|memory|memories|knowledge|reference"
    r"|messages?)"
)
_PLACE = (
    rf"(?:{_THING}|context|conversations?|history|chats?|text|excerpts?|question|date|name|number|reason"
    r")"
)
_THERE = r"(?=\W*$|\s(?:in|by|from|anywhere|here|to me)\b)"
_WHERE = (
    r"(?:(?:the|this|my|our|your|any|provided|given|available|above|chat|past|previous|retrieved|stored)\s)*"
)
_NOT = r"(?:\s?not|n['’]t)"
_SAYS = (
    r"(?:say|tell|state|mention|contain|provide|include|specify|give|indicate|have|show|answer|cover|reveal"
    r"|allow|support)"
)
_SAID = (
    r"(?:mentioned|specified|stated|provided|available|given|known|said|recorded|told|indicated|discussed"
    r"|disclosed|included|answered|determined|enough|sufficient|clear|found|remembered)"
)
_SPEAKER = (
    rf"(?:(?:i|we)\s(?:do|did|could|can){_NOT}\s(?:actually\s|really\s)?"
    rf"(?:know\b|(?:have|find|see|recall|remember|tell|say|determine|answer)\b"
    rf"(?=\W*$|\s(?:any|enough|the|that|this|it|what|when|where|who|how|which|whether|from|about|of|\w*\s?{_THING})"
    r"\b))"
    r"|(?:i|we)\s(?:cannot|am unable to|are unable to)\s"
    r"(?:find|see|recall|remember|tell|say|determine|answer|know)\b"
    rf"|i['’]?(?:\sa)?m not (?:sure|certain|aware)\b"
    rf"|(?:i|we)\s(?:found|see|know)\s(?:nothing|not enough)\b|i have no (?:idea|clue)\b"
    rf"|(?:i|we)\s(?:have|found|see)\s(?:no|not enough)\s(?:\w+\s){{0,2}}{_THING}\b"
    r")"
)
_FORMS = (
    _SPEAKER,
    rf"(?:there\s(?:is|was|are|were)\s)?(?:no|not enough|insufficient|not any|nothing)\s"
    rf"(?:(?:relevant|such|specific|explicit|further|direct)\s)*{_THING}\b",
    r"(?:there\s(?:is|was)\s)?nothing\s(?:about|on|of|in|is|was|said|mentioned|found)\b",
    rf"{_WHERE}{_PLACE}\s(?:{_SAID}\s|in memory\s|here\s)*(?:do|does|did)(?:{_NOT})\s{_SAYS}\b",
    rf"(?:it|this|that)\s(?:is|was|has been)(?:{_NOT})\s(?:\w+ly\s)?"
    rf"(?:mentioned|specified|stated|recorded|known){_THERE}",
    rf"{_WHERE}{_PLACE}\s(?:{_SAID}\s)*(?:is|was|are|were|has been)(?:{_NOT})\s(?:\w+ly\s)?{_SAID}\b",
    rf"{_WHERE}{_PLACE}\s(?:is|was)\s(?:unknown|unclear|insufficient|missing)\b",
    rf"{_WHERE}{_PLACE}\s(?:has|have|had|contains?|provides?|says?|holds?)\s(?:no|nothing|not enough)\b",
    rf"(?:it\s)?(?:cannot|can{_NOT}|could{_NOT})\sbe\s(?:determined|answered|known|found|said|told)\b",
    rf"not\s(?:\w+ly\s)?{_SAID}{_THERE}",
    r"(?:(?:it|that)\s(?:is|was)\s)?(?:unknown|unanswerable|unclear|undisclosed|n/a"
    r"|none (?:is |was )?(?:mentioned|given|stated))(?=\W*$)",
)
_TOLD = (
    rf"you\s(?:(?:did|have|had|has)(?:{_NOT})|never)\s(?:\w+ly\s)?(?:mention|sa(?:y|id)|t(?:ell|old)|specif|shared?\b"
    r"|provid|stated?\b|give|indicat|discuss)",
    r"you\s(?:have\s)?only\s(?:mention|sa(?:y|id)|t(?:ell|old)|specif|stated?\b|discuss)",
    r"you\s(?:have\s)?(?:mentioned|said|told me about|talked about)\s[^.;]{1,120}"
    r"\bbut\s(?:did )?(?:not|never)\b",
)
_POLITE = (
    r"(?:(?:i['’]?(?:\sa)?m\s)?sorry\W+|unfortunately\W+|apologies\W+|but\s|as\s|based on [^,.;]{1,60},\s"
    r"|from [^,.;]{1,60},\s|well\W+|no\W+|hm+\W+)*"
)
_REFUSES = re.compile(rf"\W*{_POLITE}(?:{'|'.join(_FORMS)})", re.IGNORECASE)
_REFUSES_BY_TOLD = re.compile(rf"\W*{_POLITE}(?:{'|'.join(_TOLD)})", re.IGNORECASE)
_TURNS = re.compile(
    r"\b(?:but|however|although|though|yet|probably|likely|perhaps|maybe|might|suggests?|seems?|appears?|guess"
    r"|think|believe|except)\b",
    re.IGNORECASE,
)
_HINT = re.compile(
    r"\b(?:no|not|nor|none|nothing|never|cannot|only|unknown|unclear|unable|unsure|unspecified|unavailable|unanswerable"
    r"|insufficient|missing|lacks?|lacking|without|n/a|sorry|fails?|incorrect|false|wrong|mistaken|confus\w+|different"
    r"|instead|rather|actually|but|however|although|premise|if|neither|hardly|uncertain|undisclosed|absent)\b|n['’]t\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+|;\s+")


class Stance(StrEnum):
    """What an answer does with its question."""

    REFUSES = "refuses"
    """It says that memory does not tell, and nothing else."""
    ANSWERS = "answers"
    """Nothing in it hints at a refusal."""
    UNCLEAR = "unclear"
    """Between the two: "you mentioned the guitar, not the violin", "I do not know, but probably Paris"."""


def stance(answer: str) -> Stance:
    """What an answer does with its question; an empty one does nothing, which is unclear."""
    sentences = [part for part in _SENTENCE.split(answer.strip()) if re.search(r"\w", part)]
    if sentences and all(map(_refuses, sentences)):
        return Stance.REFUSES
    return Stance.UNCLEAR if not sentences or _HINT.search(answer) else Stance.ANSWERS


def refuses(answer: str) -> bool:
    """Whether an answer says that memory does not tell, and nothing else."""
    return stance(answer) is Stance.REFUSES


def is_about_telling(reference: str) -> bool:
    """Whether a reference itself says that something was not said: an answer that does may be right."""
    return bool(_REFUSES.search(reference) or _REFUSES_BY_TOLD.search(reference))


def _refuses(sentence: str) -> bool:
    """A sentence that begins as a refusal and takes no turn; of what was told instead it may say "but"."""
    if _REFUSES_BY_TOLD.match(sentence):
        return True
    begins = _REFUSES.match(sentence)
    return begins is not None and not _TURNS.search(sentence, begins.end())
