"""``mragent-flat``: MRAgent (Ji et al., ICML 2026) with tools over flat turns.

Adapted (BFR, Appendix E: "restricts its tools to flat turns"): cues of the question choose the next tool, and
what was found gives new cues. Left out: the Cue-Tag-Content graph, derived facts, and the model that
chooses: a rule takes the question first, then names in it, then the sessions of what was found.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from localmem.reconstruction.records import Records
from localmem.reconstruction.requirements import NeedKind, first_person, needs_of
from localmem.reconstruction.views import VIEWS

CALLS = 6
"""Tool calls at most, the main budget."""
PAGE = 6
"""Records a call adds at most."""


def follow_cues(question: str, records: Records, kept: int) -> tuple[list[int], int]:
    """(rows in order, calls made)."""
    found: list[int] = []
    calls = 0
    for view, cue in _choices(question, records, found):
        rows = VIEWS[view](records, question, cue, found)
        found += rows[~np.isin(rows, found)][: min(PAGE, kept - len(found))].tolist()
        calls += 1
        if len(found) >= kept or calls == CALLS:
            break
    return found, calls


def _choices(question: str, records: Records, found: list[int]) -> Iterator[tuple[str, str | int]]:
    """Tools with their cues: the question, things it names, its person, then the best record's session."""
    needs = needs_of(question, records.columns.names, records.asked_on)
    person = first_person(question, records.columns.names)
    yield "text", question
    for need in needs:
        if need.kind is NeedKind.BRIDGE:
            yield "text", need.text
    if person:
        yield "text", f"{person} {question}"
    for place in range(CALLS):
        if place < len(found):
            yield "session", found[place]
        yield "text", question
