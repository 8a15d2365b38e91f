"""Sentences of the evidence, and how much of a question each one covers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from localmem.answering.question import ASKS
from localmem.dates import DateMention, dates_in, with_dates
from localmem.index.tokens import terms
from localmem.types import Evidence, Message

ASKED = 0.99
"""Share of the question that a question must have more of to be the same one, which tells nothing."""
_END = re.compile(r"(?<=[.!?。！？])[\"')\]]*\s+|\n+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a message."""

    message: Message
    text: str
    attached: bool
    """From an attachment: nobody said it."""
    coverage: float
    """Share of the question's terms, weighted by idf, that the sentence or its speaker has, 0 to 1."""
    around: float
    """The same for its whole message."""
    similarity: float
    """Cosine of its message with the question."""
    dates: tuple[DateMention, ...]
    weights: Mapping[str, float] = field(compare=False, repr=False)
    """The question's terms and their idf."""

    @property
    def relevance(self) -> float:
        """Coverage (half by the sentence, half by its message) and similarity, 0 to 1."""
        return ((self.coverage + self.around) / 2 + max(self.similarity, 0.0)) / 2

    @property
    def said(self) -> date | None:
        """The day it was said."""
        return self.message.sent_at.date() if self.message.sent_at else None

    @property
    def day(self) -> date | None:
        """The first day it speaks of: the date it names, else the day it was said."""
        return self.dates[0].first if self.dates else self.said

    def dated_text(self) -> str:
        """The text with each date followed by what it means: ``yesterday (7 May 2023)``."""
        return with_dates(self.text, self.dates)


def split_sentences(text: str) -> list[str]:
    """The sentences of ``text`` without surrounding white space; empty ones left out."""
    return [piece.strip() for piece in _END.split(text) if piece.strip()]


def sentences_of(evidence: Sequence[Evidence], weights: Mapping[str, float]) -> list[Sentence]:
    """Every sentence of the evidence, in order of evidence, but for the question itself, asked before.

    ``weights`` are the idf of the question's terms (:meth:`LexicalIndex.weights`).
    """
    total = sum(weights.values())

    def share(words: set[str]) -> float:
        return sum(weights[word] for word in words & weights.keys()) / total if total else 0.0

    result = []
    for item in evidence:
        message = item.message
        said = message.sent_at.date() if message.sent_at else None
        speaker = terms(message.speaker)
        spoken = split_sentences(message.text)
        texts = [*spoken, *split_sentences(message.attachments)]
        have = [{*speaker, *terms(text)} for text in texts]
        around = share(set().union(*have))
        for place, (text, words) in enumerate(zip(texts, have, strict=True)):
            if text.endswith(ASKS) and share(words) > ASKED:
                continue
            result.append(
                Sentence(
                    message=message,
                    text=text,
                    attached=place >= len(spoken),
                    coverage=share(words),
                    around=around,
                    similarity=item.similarity,
                    dates=tuple(dates_in(text, said)) if said else (),
                    weights=weights,
                )
            )
    return result
