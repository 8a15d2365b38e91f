"""The notes that stage I selects from: one for each turn, and the pool of the best of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from localmem.index.lexical import Scores
from localmem.index.tokens import terms
from localmem.reconstruction.records import Records

POOL = 50
"""Notes in the pool, N (BFR, Appendix E)."""


@dataclass(frozen=True, slots=True)
class Note:
    """A turn as stage I sees it."""

    rows: tuple[int, ...]
    """Its messages, in order: the exact grounding."""
    text: str
    """Who says what."""
    session_id: int
    turn: int
    """Number of the turn in its session; with it the layers have what was derived of it."""

    def terms(self) -> tuple[str, ...]:
        """Distinct terms of its text."""
        return tuple(dict.fromkeys(terms(self.text)))


def pool(records: Records, scores: Scores, size: int = POOL, least: float = 0.0) -> list[Note]:
    """The turns with the best messages, best first, each once; messages score more than ``least``."""
    seen: set[int] = set()
    notes: list[Note] = []
    best = records.ordered(scores, least).tolist()
    records.fetch(islice(best, 2 * size))  # at once, in place of one by one
    for row in best:
        if len(notes) == size:
            break
        if row in seen or not records.fetch([row]):
            continue
        rows = records.turn(row)
        seen.update(rows)
        said = records.fetch(rows)
        text = " ".join(f"{message.speaker}: {message.text} {message.attachments}" for message in said)
        notes.append(Note(rows, text, said[0].session_id, said[0].turn))
    return notes
