"""Keywords as a whole: which of them stand in a query word for word, found without reading any.

A keyword is kept as a number, a hash of its folded words, so that a query looks up the runs of its own words.
Two keywords of a million share a number once in a million stores.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from localmem.index.tokens import STOP_WORDS

WORDS = 8
"""A longer keyword matches nothing."""
CHARACTERS = 24
"""The same where a keyword may stand inside a word."""


def phrase_of(keyword: str) -> str:
    """A keyword's words, folded and unstemmed; empty when it has none that tell."""
    phrase = _folded(keyword)
    if phrase in STOP_WORDS or not phrase:
        return ""
    return phrase if (len(phrase) <= CHARACTERS if _inside(phrase) else phrase.count(" ") < WORDS) else ""


def phrases_in(query: str) -> set[str]:
    """Everything in a query that :func:`phrase_of` some keyword could be."""
    folded = _folded(query)
    words = folded.split()
    found = {
        " ".join(words[start:end])
        for start in range(len(words))
        for end in range(start + 1, min(start + WORDS, len(words)) + 1)
    }
    return {phrase for phrase in found if not _inside(phrase)} | set(_parts(folded))


def numbers_of(phrases: Iterable[str]) -> NDArray[np.int64]:
    """The numbers that stand for phrases, in their order."""
    digests = (hashlib.blake2b(phrase.encode(), digest_size=8).digest() for phrase in phrases)
    return np.frombuffer(b"".join(digests), "<i8")


def _parts(folded: str) -> Iterator[str]:
    for start, character in enumerate(folded):
        if _inside(character):
            for end in range(start + 1, min(start + CHARACTERS, len(folded)) + 1):
                yield folded[start:end]


def _inside(phrase: str) -> bool:
    """Whether it may stand inside a word: scripts without spaces, or with particles written onto the word."""
    return unicodedata.category(phrase[0]) == "Lo"


def _folded(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode("utf-8")).casefold()
    return " ".join(re.findall(r"\w+", folded))
