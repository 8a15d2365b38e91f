"""A reply's bytes, token by token, as what to deliver: whole characters, its thinking apart from its text."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from enum import Enum, auto

from localmem.models.protocols import TextDelta, ThoughtDelta

TagPair = tuple[str, str]
Delta = TextDelta | ThoughtDelta

TAGS: Sequence[TagPair] = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
)
"""How models mark the beginning and the end of their thinking."""


def spoken_tags(template: str) -> list[TagPair]:
    """The tags that a chat template spells, and the commonest ones, which some models write unasked."""
    return [pair for pair in TAGS if pair == TAGS[0] or pair[1] in template]


class _Place(Enum):
    START = auto()
    THINKING = auto()
    GAP = auto()  # white space between the thinking and the answer
    ANSWER = auto()


class Reply:
    """Takes a reply in pieces and gives what is to be delivered of them.

    A block of thinking is recognised at the very beginning only: later a tag is what the user asked for.
    ``begun`` are the tags of a block that the prompt has begun already.
    """

    def __init__(self, tags: Sequence[TagPair], begun: TagPair | None = None) -> None:
        self._tags = tags
        self._close = begun[1] if begun else ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # holds unfinished characters back
        self._held = ""
        self._place = _Place.THINKING if begun else _Place.START if tags else _Place.ANSWER

    @property
    def closing_tag(self) -> str | None:
        """What would end the thinking; None when the model does not think."""
        return self._close if self._place is _Place.THINKING else None

    def stop_thinking(self) -> list[Delta]:
        """Take the closing tag as written."""
        self._place = _Place.GAP
        return self._thought(len(self._held))

    def feed(self, piece: bytes) -> list[Delta]:
        """What to deliver after one more token."""
        return self._deliver(self._decoder.decode(piece))

    def end(self, *, whole: bool) -> list[Delta]:
        """What is left at the end; ``whole`` when the model ended it itself.

        A character that was cut off in its middle is dropped; one that the model never meant to finish
        becomes U+FFFD, like any other bytes that are no UTF-8.
        """
        deltas = self._deliver(self._decoder.decode(b"", final=True)) if whole else []
        if self._place is _Place.THINKING:
            return deltas + self._thought(len(self._held))
        return deltas + (self._text() if self._place is _Place.START else [])

    def _deliver(self, text: str) -> list[Delta]:
        self._held += text
        deltas: list[Delta] = []
        if self._place is _Place.START:
            self._look_for_opening()
        if self._place is _Place.THINKING:
            deltas = self._look_for_closing()
        if self._place is _Place.GAP:
            self._held = self._held.lstrip()
            if self._held:
                self._place = _Place.ANSWER
        return deltas + (self._text() if self._place is _Place.ANSWER else [])

    def _look_for_opening(self) -> None:
        begun = self._held.lstrip()
        for opening, closing in self._tags:
            if begun.startswith(opening):
                self._held = begun.removeprefix(opening)
                self._close = closing
                self._place = _Place.THINKING
                return
        if not any(opening.startswith(begun) for opening, _ in self._tags):
            self._place = _Place.ANSWER

    def _look_for_closing(self) -> list[Delta]:
        end = self._held.find(self._close)
        if end < 0:  # its last characters may be the beginning of the closing tag
            return self._thought(max(len(self._held) - len(self._close) + 1, 0))
        deltas = self._thought(end)
        self._held = self._held[len(self._close) :]
        self._place = _Place.GAP
        return deltas

    def _thought(self, characters: int) -> list[Delta]:
        thought, self._held = self._held[:characters], self._held[characters:]
        return [ThoughtDelta(thought)] if thought else []

    def _text(self) -> list[Delta]:
        text, self._held = self._held, ""
        return [TextDelta(text)] if text else []
