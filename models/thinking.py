"""A reply's bytes, token by token, as the text to deliver: whole characters, without its thinking."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from enum import Enum, auto

TagPair = tuple[str, str]

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
    """

    def __init__(self, tags: Sequence[TagPair]) -> None:
        self._tags = tags
        self._close = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # holds unfinished characters back
        self._held = ""
        self._place = _Place.START if tags else _Place.ANSWER

    @property
    def closing_tag(self) -> str | None:
        """What would end the thinking; None when the model does not think."""
        return self._close if self._place is _Place.THINKING else None

    def stop_thinking(self) -> None:
        """Take the closing tag as written."""
        self._place = _Place.GAP
        self._held = ""

    def feed(self, piece: bytes) -> str:
        """The text to deliver after one more token."""
        return self._deliver(self._decoder.decode(piece))

    def end(self, *, whole: bool) -> str:
        """The text left at the end; ``whole`` when the model ended it itself.

        A character that was cut off in its middle is dropped; one that the model never meant to finish
        becomes U+FFFD, like any other bytes that are no UTF-8.
        """
        text = self._deliver(self._decoder.decode(b"", final=True)) if whole else ""
        held, self._held = self._held, ""
        return text + held if self._place is _Place.START else text

    def _deliver(self, text: str) -> str:
        self._held += text
        if self._place is _Place.START:
            self._look_for_opening()
        if self._place is _Place.THINKING:
            self._look_for_closing()
        if self._place is _Place.GAP:
            self._held = self._held.lstrip()
            if self._held:
                self._place = _Place.ANSWER
        if self._place is not _Place.ANSWER:
            return ""
        text, self._held = self._held, ""
        return text

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

    def _look_for_closing(self) -> None:
        _, closing, rest = self._held.partition(self._close)
        if closing:
            self._held = rest
            self._place = _Place.GAP
        else:
            self._held = self._held[1 - len(self._close) :]  # may be the beginning of the closing tag
