"""What a question requires, by rule: facts, bridges, list items and time constraints (BFR 4.2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from localmem.answering.question import Kind, read_question
from localmem.answering.required import ITS_TIME
from localmem.dates import dates_in
from localmem.index.tokens import STOP_WORDS, query_terms
from localmem.retrieval.asked import read

MOST = 12
"""Requirements at most: they have at most 2^12 concepts."""


class NeedKind(StrEnum):
    """The kinds of requirement (BFR 4.2)."""

    FACT = "fact"
    BRIDGE = "bridge"
    """Something that leads to the fact: a thing or person named on the way."""
    ITEM = "item"
    """Items of a list, each told elsewhere."""
    TIME = "time"
    """When it was, or the time within which it must have been."""


@dataclass(frozen=True, slots=True)
class Need:
    """One requirement of a question."""

    kind: NeedKind
    text: str
    """In the question's words; what is searched for."""
    days: tuple[date, date] | None = None
    """First and last day that a time names; None: it names none. Its text alone may not tell them."""


_LIST = re.compile(
    r"\b(?:what|which)\s+(?:\w+\s+){0,3}?\w{2,}(?<!s)s\s+(?:are|were|do|does|did|have|has|had|can|could|will|would)\b"
    r"|\b(?:what|which) (?:are|were)\b|\bhow often\b|\bin (?:what|which) ways\b|\ball (?:the|of)\b",
    re.IGNORECASE,
)
_MEASURE = re.compile(r"\bhow many (?:minutes|hours|days|weeks|months|years|points)\b", re.IGNORECASE)
_CHOICE = re.compile(
    r"\b(?:first|last|earlier|later|sooner|before|more|less|most|older|younger|better|rather|longer|which|who)\b"
    r".*?[,:]?\s(?P<a>(?:(?:the|my|a|an|buying|going|visiting)\s)?[^,?:]{2,60}?),?\s+or\s+(?P<b>[^,?:]{2,60}?)\s*\?*\s*$",
    re.IGNORECASE,
)
_THAN = re.compile(r"\b(?:more|less|fewer|\w+er)\b(?P<a>.+?)\bthan\b(?P<b>[^?]+)", re.IGNORECASE)
_NAMES = re.compile(r"\b([A-Z][\w'’]+)((?:,\s+[A-Z][\w'’]+)*),?\s+(?:and|or)\s+([A-Z][\w'’]+)\b")
_WORDS = re.compile(r"\b(\w{3,}) (?:and|or|and/or) (\w{3,})\b")
_NAMED = re.compile(r"(?<!^)(?<![.?!]\s)\b[A-Z][\w'’.]*(?:\s+(?:of\s+|the\s+)?[A-Z][\w'’.]*)*")
_CLAUSE = re.compile(
    r"\b(?:the|a|an|his|her|their|my)\s+((?:\w+\s+){1,2}?(?:who|whom|that|which)\s+[^,?]{4,80})",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“]([^\"”]{2,80})[\"”]")


def needs_of(question: str, speakers: tuple[str, ...] = (), asked_on: date | None = None) -> tuple[Need, ...]:
    """The requirements of a question, its facts first; at least one, at most :data:`MOST`.

    ``speakers``: lowercased names of those who spoke. They are no bridge: most of what is stored has to do
    with them. ``asked_on``: the day relative dates count from; None: dates are passed over.
    """
    found: dict[tuple[str, ...], Need] = {}
    for need in _needs(question, speakers, asked_on):
        key = (need.kind, need.text) if need.kind is NeedKind.TIME else query_terms(need.text)
        if key:
            found.setdefault(key, need)
    return tuple(found.values())[:MOST] or (Need(NeedKind.FACT, question),)


def first_person(question: str, speakers: tuple[str, ...] = ()) -> str | None:
    """The first person that a question names: a speaker, or a capitalised word that begins no sentence."""
    names = {word for name in speakers for word in name.split()}
    for match in re.finditer(r"\b[A-Z]\w+", question):
        word = match[0].lower()
        opens = (
            not question[: match.start()].strip(" \"'“") or question[: match.start()].rstrip()[-1] in ".?!"
        )
        if word in names or not (opens or word in _CALENDAR or word in STOP_WORDS):
            return match[0]
    return None


def _needs(question: str, speakers: tuple[str, ...], asked_on: date | None) -> Iterator[Need]:
    by_kind = read_question(question)
    listed = (by_kind.kind is Kind.COUNT and not _MEASURE.search(question)) or bool(_LIST.search(question))
    parts = by_kind.parts if by_kind.kind is Kind.INTERVAL else _alternatives(question)
    for part in parts or (question,):
        yield Need(NeedKind.ITEM if listed else NeedKind.FACT, part)
    common = STOP_WORDS | _CALENDAR | {word for name in speakers for word in name.split()}
    for bridge in (*_QUOTED.findall(question), *_CLAUSE.findall(question), *_NAMED.findall(question)):
        named = re.sub(r"['’]s\b", "", bridge)
        if set(re.findall(r"\w+", named.lower())) - common:
            yield Need(NeedKind.BRIDGE, named.strip(" ."))
    dated = dates_in(question, asked_on) if asked_on else []
    for mention in dated:
        yield Need(NeedKind.TIME, question[slice(*mention.span)], (mention.first, mention.last))
    if not dated and (by_kind.kind is Kind.WHEN or read(question, speakers, None).wants_time):
        yield Need(NeedKind.TIME, ITS_TIME)


def _alternatives(question: str) -> tuple[str, ...]:
    """The question once for each of the things it joins or compares; empty when it does neither."""
    if match := _CHOICE.search(question) or _THAN.search(question):
        return match["a"].strip(), match["b"].strip()
    if match := _NAMES.search(question):
        names = [match[1], *re.findall(r"[A-Z][\w'’]+", match[2]), match[3]]
    elif (match := _WORDS.search(question)) and not STOP_WORDS & {match[1].lower(), match[2].lower()}:
        names = [match[1], match[2]]
    else:
        return ()
    return tuple(question[: match.start()] + name + question[match.end() :] for name in names)


_CALENDAR = frozenset(
    "january february march april may june july august september october november december monday tuesday"
    " wednesday thursday friday saturday sunday i".split()
)
"""Capitalised, but no names."""
