"""Stage I's choice: the prefilter by formal concepts and the smallest subset that covers a question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from localmem.reconstruction.concepts import Context, members
from localmem.reconstruction.notes import Note
from localmem.reconstruction.requirements import Need, NeedKind
from localmem.reconstruction.support import Support

KEPT = 20
"""Notes that the prefilter leaves at most, P (BFR, Appendix E)."""
HEAD = 3
"""Notes taken from the prefilter's head when a selection is empty, f; the paper gives no number."""
WEIGHTS = {NeedKind.FACT: 1.0, NeedKind.ITEM: 1.0, NeedKind.BRIDGE: 0.5, NeedKind.TIME: 0.5}
"""What meeting a requirement is worth: a bridge or a time answers nothing by itself."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What a selector chose from the notes it was offered, unchecked."""

    chosen: Sequence[int]
    """Places in the list of notes, from 0."""
    coverage: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """Number of a requirement -> places of the notes that meet it."""


Select = Callable[[str, Sequence[Note], Sequence[Need]], Selection | None]
"""Chooses the smallest jointly sufficient subset for a question; None: it cannot, :func:`cover` shall."""


def prefilter(rows: Sequence[int], needs: int, most: int = KEPT) -> list[int]:
    """Places of the candidates to keep, so that every requirement is covered before any is covered twice.

    ``rows``: the requirements that each candidate meets, best candidate first. Concepts say which
    candidates meet several together: the next one is taken from the concept whose intent has the most
    requirements still open, the best candidate of its extent. When all that can be met are, the next layer
    begins; candidates that meet nothing come last.
    """
    extents = {concept.intent: concept.extent for concept in Context(rows, needs).concepts()}
    left = (1 << len(rows)) - 1
    kept: list[int] = []
    uncovered = 0
    while len(kept) < most and left:
        if not uncovered:
            uncovered = _union(rows, left)
            if not uncovered:
                kept += members(left)[: most - len(kept)]
                break
        best = max(
            (intent for intent, extent in extents.items() if extent & left and intent & uncovered),
            key=lambda intent: (
                (intent & uncovered).bit_count(),
                -members(extents[intent] & left)[0],
            ),
        )
        place = members(extents[best] & left)[0]
        kept.append(place)
        left &= ~(1 << place)
        uncovered &= ~rows[place] & _union(rows, left)
    return kept


def _union(rows: Sequence[int], of: int) -> int:
    met = 0
    for place in members(of):
        met |= rows[place]
    return met


def cover(support: Support, offered: Sequence[Note]) -> Selection:
    """The greedy weighted cover: the note that adds most support to what is still open, until all is met.

    Support weighs as the kind of its requirement does (:data:`WEIGHTS`). Equal notes in the order offered; a
    note that the others make unnecessary is dropped.
    """
    strengths = [support.strength_of(note) for note in offered]
    meets = [frozenset(np.flatnonzero(strength).tolist()) for strength in strengths]
    weights = [WEIGHTS[need.kind] for need in support.needs]
    still_open = set(range(len(support.needs)))
    chosen: list[int] = []

    def gain(place: int) -> float:
        return sum(weights[n] * float(strengths[place][n]) for n in sorted(meets[place] & still_open))

    while offered and gain(best := max(range(len(offered)), key=lambda place: (gain(place), -place))):
        chosen.append(best)
        still_open -= meets[best]
    for place in tuple(chosen):
        if meets[place] <= set().union(*(meets[other] for other in chosen if other != place)):
            chosen.remove(place)
    coverage = {n: [place for place, met in enumerate(meets) if n in met] for n in range(len(support.needs))}
    return Selection(chosen, coverage)


def sanitize(selection: Selection, offered: int, head: int = HEAD) -> list[int]:
    """The places chosen that exist, each once; else one for each requirement covered; else the head.

    (BFR, Algorithm 1, lines 7 to 10.)
    """
    valid = _valid(selection.chosen, offered)
    if not valid:
        firsts = [
            places[0]
            for need in sorted(selection.coverage)
            if (places := _valid(selection.coverage[need], offered))
        ]
        valid = _valid(firsts, offered)
    return valid or list(range(min(head, offered)))


def _valid(places: Sequence[int], offered: int) -> list[int]:
    return [place for place in dict.fromkeys(places) if 0 <= place < offered]
