"""Organised notes (APDMem 3.3): the relevant facts with speaker and day, in order of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localmem.answering.draft import Draft, rank
from localmem.answering.sentences import Sentence
from localmem.dates import day_text
from localmem.events import NotesMade
from localmem.types import Role

NOTES = 8
"""Sentences at most: about 300 tokens, two seconds of reading for a small model."""
RELEVANT = 0.5
"""Share of the best sentence's relevance below which a sentence is no note."""


@dataclass(frozen=True, slots=True)
class Note:
    """One fact out of memory."""

    sentence: Sentence
    newest: bool
    """True for the last one told, which wins over what contradicts it."""
    earlier: bool = False
    """True for what was so before the newest statement of the same thing."""
    pinned: bool = False
    """True for what the person pinned."""

    def __str__(self) -> str:
        said = self.sentence.said
        message = self.sentence.message
        who = message.speaker or ("user" if message.role is Role.USER else "assistant")
        when = day_text(said) if said else "undated"
        mark = " (newest)" if self.newest else " (earlier)" if self.earlier else ""
        mark = " (pinned)" if self.pinned else mark
        return f"{when}, {who}{mark}: {self.sentence.dated_text()}"


def notes_made(notes: Sequence[Note], *, checked: bool = False) -> NotesMade:
    """The event that tells of notes."""
    earlier = dict.fromkeys(note.sentence.message.id for note in notes if note.earlier)
    return NotesMade(tuple(str(note) for note in notes), checked, tuple(earlier))


def make_notes(sentences: Sequence[Sentence], rule: Draft) -> list[Note]:
    """The best sentences with those that the rule's draft rests on, in order of time."""
    ranked = rank(sentences)
    best = ranked[0][0] if ranked else 0.0
    chosen = list(dict.fromkeys(rule.sentences))
    for score, sentence in ranked:
        if len(chosen) >= NOTES or score < RELEVANT * best:
            break
        if sentence not in chosen:
            chosen.append(sentence)
    chosen.sort(key=lambda s: (s.message.sent_at.timestamp() if s.message.sent_at else 0.0, s.message.id))
    return [
        Note(sentence, newest=place == len(chosen) - 1 > 0, earlier=sentence in rule.earlier)
        for place, sentence in enumerate(chosen)
    ]
