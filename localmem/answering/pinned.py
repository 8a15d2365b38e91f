"""Pinned facts as notes: the model has them beside what was recalled, whatever it was asked."""

from __future__ import annotations

from collections.abc import Sequence

from localmem.answering.notes import Note
from localmem.answering.sentences import Sentence
from localmem.dates import dates_in
from localmem.index.tokens import terms
from localmem.store import SessionStore
from localmem.store.pins import Pin
from localmem.types import Evidence

MOST = 8
"""Pins that a prompt has at most: 300 tokens at their usual length."""
LAYER = "pinned"
"""What their evidence says of where it came from."""


def pinned_notes(
    pins: Sequence[Pin], sessions: SessionStore, asked: str, without: frozenset[int]
) -> list[Note]:
    """The pins that go with a message: first those that share most words with it, then the last pinned.

    ``pins`` are the last pinned first. ``without`` are ids of messages that must not be used.
    """
    words = set(terms(asked))
    usable = [pin for pin in pins if not without.intersection(pin.messages)]
    chosen = sorted(usable, key=lambda pin: -len(words.intersection(terms(pin.text))))[:MOST]
    found = sessions.messages_by_id([i for pin in chosen for i in pin.messages])
    notes = []
    for pin in chosen:
        message = found.get(max(pin.messages))
        if message is None:  # it was deleted in this very moment
            continue
        said = message.sent_at.date() if message.sent_at else None
        sentence = Sentence(
            message=message,
            text=pin.text,
            attached=False,
            coverage=0.0,
            around=0.0,
            similarity=0.0,
            dates=tuple(dates_in(pin.text, said)) if said else (),
            weights={},
        )
        notes.append(Note(sentence, newest=False, pinned=True))
    return notes


def with_pinned(
    notes: Sequence[Note], evidence: Sequence[Evidence], pinned: Sequence[Note]
) -> tuple[list[Note], tuple[Evidence, ...]]:
    """Notes and evidence with the pinned ones that are not among them, which come first."""
    said = {note.sentence.text for note in notes}
    more = [note for note in pinned if note.sentence.text not in said]
    messages = {note.sentence.message.id: note.sentence.message for note in more}
    have = {item.message.id for item in evidence}
    added = tuple(Evidence(message, LAYER, 0.0) for i, message in messages.items() if i not in have)
    return [*more, *notes], (*added, *evidence)
