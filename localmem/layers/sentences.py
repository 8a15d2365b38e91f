"""Messages cut into sentences, code and markup set apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from localmem.dates import DateMention, dates_in
from localmem.types import Message, Origin

_END = re.compile(
    r"(?:(?<=[.!?…])(?<!\b[DM]r\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bvs\.)(?<!\be\.g\.)(?<!\bi\.e\.)"
    r"|(?<=[.!?…][\"')\]”’*]))\s+|(?<=[。！？؟।])\s*"
)
_MARKERS = re.compile(r"(?:(?:[-*+•>]|#{1,6}|\(?\d{1,3}[.)])\s+)+")
_EMPHASIS = re.compile(r"\*\*|`|\[(?=[^\]\n]{0,200}\]\()|\]\([^)\s]{0,500}\)")
_MARKUP = re.compile(r"[*_`\[]|[^\S\n ]|  ")
"""What there is to clean in a text; most have nothing."""
_SPACE = re.compile(r"\s+")
_SPOKEN = ("said", "asked")
_ASKS = ("?", "？", "؟")
FILLERS = frozenset(
    "absolutely agree amazing awesome btw bye cheers congrats congratulations cool course definitely "
    "exactly fantastic glad good gonna gotta great haha hear hello hey hi hope incredible kinda lol lot "
    "luck lovely maybe nice oh ok okay omg perfect please really right sounds sure take thank thanks "
    "that's thats thx totally true um wanna welcome well what's whats woah wonderful wow yay yeah yep yes "
    "you're".split()
)
"""Words of talk that say nothing on their own."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a message, without markup."""

    message: Message
    text: str
    kind: str
    """``said``, ``asked``, ``code``, or ``attached`` for what nobody said."""
    place: int
    """Its place in the message, from 0."""
    dates: tuple[DateMention, ...]
    """The dates it names, when it is known when it was said."""


def words_of(text: str) -> list[str]:
    """The words of ``text`` in lower case, repeats included."""
    return _WORD.findall(text.lower().replace("’", "'"))


def sentences_of(message: Message, limit: int | None = None) -> list[Sentence]:
    """The sentences of a message and its attachments, in order; none when it was recalled.

    Of ``text`` and ``attachments`` at most ``limit`` characters each are looked at.
    """
    if message.origin is not Origin.SAID:
        return []
    said = message.sent_at.date() if message.sent_at else None
    attached = ((text, "attached") for text in _split(message.attachments[:limit]))
    return [
        Sentence(message, text, kind, place, tuple(dates_in(text, said)) if said and kind in _SPOKEN else ())
        for place, (text, kind) in enumerate(chain(_pieces(message.text[:limit]), attached))
    ]


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Each piece with its kind; what stands between code fences is one piece."""
    for number, part in enumerate(text.split("```")):
        if number % 2 == 0:
            yield from ((piece, "asked" if piece.endswith(_ASKS) else "said") for piece in _split(part))
        elif code := _SPACE.sub(" ", part).strip():
            language, _, rest = part.partition("\n")
            named = rest.strip() and " " not in language.strip()
            shown = f"{language.strip()} code: {_SPACE.sub(' ', rest)}" if named else f"code: {code}"
            yield shown.strip(), "code"


def _split(text: str) -> list[str]:
    pieces = [piece for line in text.split("\n") for piece in _END.split(_unmarked(line))]
    if _MARKUP.search(text):
        pieces = [_EMPHASIS.sub("", _SPACE.sub(" ", piece)).strip("*_") for piece in pieces]
    return [clean for piece in pieces if (clean := piece.strip())]


def _unmarked(line: str) -> str:
    """A line without what makes it a heading, a quotation or an item of a list."""
    line = line.strip()
    return line[match.end() :] if (match := _MARKERS.match(line)) else line
