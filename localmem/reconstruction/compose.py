"""Stage I, FCA-MS: a pool of notes, the smallest set that covers the question, and its messages.

(BFR, Algorithm 1.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from localmem.reconstruction.notes import Note
from localmem.reconstruction.records import Records
from localmem.reconstruction.selection import Select, cover, prefilter, sanitize
from localmem.reconstruction.support import Support

GROUNDED = 10
"""Messages that the paper's grounding makes of the selected notes at most, b."""

Ground = Callable[[Records, Support, Sequence[Note]], list[int]]
"""From selected notes to rows."""


def compose(
    question: str,
    records: Records,
    support: Support,
    notes: Sequence[Note],
    ground: Ground,
    select: Select | None,
) -> list[int]:
    """The rows of the initial evidence, in order, each once. ``select`` None: the greedy cover."""
    kept = prefilter([support.of_note(note) for note in notes], len(support.needs))
    offered = [notes[place] for place in kept]
    selection = select(question, offered, support.needs) if select else None
    if selection is None:
        selection = cover(support, offered)
    return ground(records, support, [offered[place] for place in sanitize(selection, len(offered))])


def by_overlap(records: Records, support: Support, notes: Sequence[Note]) -> list[int]:
    """The messages that share the most terms with the notes, at most :data:`GROUNDED`; equal ones by row.

    The alignment that the paper's arms use: its notes keep no pointer to what they were made from.
    """
    counts = records.overlap(term for note in notes for term in note.terms())
    rows: list[int] = records.ordered(counts.astype(np.float32))[:GROUNDED].tolist()
    return rows


def by_links(records: Records, support: Support, notes: Sequence[Note]) -> list[int]:
    """Of each note's own messages those that meet a requirement; when none does, the nearest to one.

    The exact grounding that Appendix E allows.
    """
    rows: list[int] = []
    for note in notes:
        meeting = [row for row in note.rows if support.met[row].any()]
        rows += meeting or [max(note.rows, key=lambda row: float(support.strength[row].max()))]
    return rows
