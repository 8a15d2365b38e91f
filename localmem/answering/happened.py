"""Whether a sentence tells of something that happened, by the words of one of its clauses.

No grammar is parsed: a clause ends at a comma or a conjunction, and cue words before what is asked about say
that it was planned, wished for or denied. Verb forms are known as far as this needs them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from localmem.index.tokens import terms
from localmem.layers.verbs import PAST

_IRREGULAR = (
    "become became, begin began begun, bite bit bitten, blow blew blown, break broke broken, "
    "bring brought, build built, buy bought, catch caught, choose chose chosen, come came, dig dug, "
    "do did done, draw drew drawn, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, "
    "feed fed, feel felt, fight fought, find found, fly flew flown, forget forgot forgotten, get got gotten, "
    "give gave given, go went gone, grow grew grown, hear heard, hide hid hidden, hold held, keep kept, "
    "know knew known, lead led, leave left, lend lent, lose lost, make made, meet met, pay paid, "
    "ride rode ridden, ring rang rung, run ran, say said, see saw seen, sell sold, send sent, "
    "sing sang sung, sit sat, sleep slept, speak spoke spoken, spend spent, steal stole stolen, "
    "swim swam swum, take took taken, teach taught, tell told, think thought, throw threw thrown, "
    "wake woke woken, wear wore worn, win won, write wrote written"
)
_BASE = {form: verb[0] for verb in map(str.split, _IRREGULAR.split(",")) for form in verb[1:]}
_FIRST = frozenset(_BASE.values()) - _BASE.keys()
_UNMARKED = frozenset("cut hit hurt put quit read set shut was were been had just".split())
"""Past forms that no list of :data:`_IRREGULAR` and no ending tells; of some the present is the same."""
_REGULAR = re.compile(r"(?!(?:need|feed|seed|weed|speed|breed|bleed|\w+ceed|indeed)\b)\w{2,}ed")
_WORD = re.compile(r"[A-Za-z]+")

LIGHT = frozenset("go do make take get give have be".split())
"""They say little beside their object: who went to the beach may have "had a day" there."""

_CLAUSE = re.compile(
    r"[,;:()–—]|\b(?:and|but|so|because|although|though|when|while|before|after|since|which|who)\b",
    re.IGNORECASE,
)
_DISBELIEF = re.compile(r"\b(?:can(?:no|['’])t|couldn['’]t) believe\b", re.IGNORECASE)
_UNREAL = re.compile(
    r"\b(?:will|would|could|should|might|must|can|cannot|gonna|wanna|want(?:s|ed)? to|need(?:s|ed)? to"
    r"|(?:have|has|had) to|plan(?:s|ned|ning)?|hop(?:e|es|ed|ing)|wish(?:es|ed|ing)?|dream(?:s|ed|ing)?"
    r"|consider(?:ing)?|think(?:ing)? (?:of|about)|look(?:ing)? forward|try(?:ing)? to|tried to|about to|if"
    r"|unless|not|never|without|almost|nearly|how to|going to(?! (?:the|an?|my|our|his|her)\b)|(?-i:may))\b"
    r"|['’]ll\b|['’]d (?:like|love|rather|prefer)\b|\blet['’]s\b|\w+n['’]t\b",
    re.IGNORECASE,
)
_USUAL = re.compile(
    r"\b(?:usually|often|always|sometimes|normally|generally|typically|regularly|rarely|whenever|used to"
    r"|(?:every|each) (?:other )?(?:time|day|week|weekend|month|year|morning|evening|night|summer|winter"
    r"|\w+day)"
    r"|(?:once|twice|times) (?:a|an|per|each|every) \w+|(?:love|like|enjoy|hate|prefer)s? (?:to|\w+ing))\b",
    re.IGNORECASE,
)
_OTHERS = re.compile(r"\byou(?:r|rs)?\b", re.IGNORECASE)
_OWN = re.compile(r"\b(?:I|my|me|we|our|us)\b", re.IGNORECASE)


def happened(text: str, about: Set[str], *, in_the_past: bool) -> bool:
    """Whether the clause of ``text`` that speaks of ``about`` tells of what its speaker did or met with once.

    ``about`` are terms as :func:`bases` makes them; ``in_the_past``: the text names a day that is over.
    """
    clause, before = _clause_about(_DISBELIEF.sub("", text), about)
    theirs = _OTHERS.search(clause) and not _OWN.search(clause)
    if theirs or _UNREAL.search(before) or _USUAL.search(clause):
        return False
    words = _WORD.findall(clause.lower())
    return not about & _FIRST & set(words) and (in_the_past or any(map(_is_past, words)))


def bases(text: str) -> list[str]:
    """The terms of ``text``, with each irregular form as its verb: ``went`` and ``gone`` as ``go``."""
    return terms(_WORD.sub(lambda match: _BASE.get(match[0].lower(), match[0]), text))


def irregular_verbs(text: str) -> set[str]:
    """The verbs of the irregular forms in a text, without light ones."""
    return {_BASE[word] for word in _WORD.findall(text.lower()) if word in _BASE} - LIGHT


def _clause_about(text: str, about: Set[str]) -> tuple[str, str]:
    """The clause with the most of some terms, and what stands in it before the first of them."""
    clause = max(_clauses(text), key=lambda clause: len(about & set(bases(clause))))
    found = (match.start() for match in _WORD.finditer(clause) if about & set(bases(match[0])))
    return clause, clause[: next(found, len(clause))]


def _clauses(text: str) -> Iterator[str]:
    start = 0
    for match in _CLAUSE.finditer(text):
        yield text[start : match.start()]
        start = match.end()
    yield text[start:]


def _is_past(word: str) -> bool:
    return word in _BASE or word in PAST or word in _UNMARKED or _REGULAR.fullmatch(word) is not None
