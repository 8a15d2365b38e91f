"""What a question to the chat requires: which are asked for, and how they are kept without a word of it.

A reply is kept by the id of its own message, and must hold nothing of a question that is forgotten or
deleted. So of a requirement's words only the places in the question are kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

from localmem.store.replies import StoredNeed
from localmem.types import Requirement

Require = Callable[[str, Sequence[int], Sequence[int]], tuple[Requirement, ...]]
"""The requirements of a question, with those of some messages that meet them; and ids that were cited."""

LONGEST = 1000
"""Characters of a text that can be one question; a page pasted in is not taken apart."""
ITS_TIME = "its day or time"
"""The requirement of a question that asks when; the only one that is not in the question's words."""


def told_apart(needs: Sequence[Requirement]) -> list[Requirement]:
    """Those that a person is told of: a name that was met and stands in another requirement is not."""
    whole = [need.text.lower() for need in needs]
    return [
        need
        for need in needs
        if not need.met_by or not any(need.text.lower() in text != need.text.lower() for text in whole)
    ]


def needs_to_keep(needs: Iterable[Requirement], question: str) -> tuple[StoredNeed, ...]:
    """Requirements as a reply keeps them."""
    return tuple(StoredNeed(_places(need.text, question), need.met_by) for need in needs)


def needs_kept(needs: Iterable[StoredNeed], question: str) -> tuple[Requirement, ...]:
    """Requirements out of a reply that is kept, with their words."""

    def words(places: Sequence[int]) -> str:
        pairs = zip(places[::2], places[1::2], strict=True)
        return "".join(question[start:end] for start, end in pairs) or ITS_TIME

    return tuple(Requirement(words(need.places), need.met_by) for need in needs)


def _places(text: str, question: str) -> tuple[int, ...]:
    """The longest pieces of ``question`` that ``text`` is put together of; what is not in it is left out."""
    places: list[int] = []
    rest = "" if text == ITS_TIME else text
    while rest:
        # How much of it is a piece: a shorter beginning of a piece is one too.
        length = bisect_right(range(1, len(rest) + 1), False, key=lambda n: rest[:n] not in question)
        if length:
            start = question.find(rest[:length])
            places += (start, start + length)
        rest = rest[max(length, 1) :]
    return tuple(places)
