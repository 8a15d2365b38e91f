"""Our own schedule: deepen the ranking, and give the last round to what the evidence leads to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from localmem.reconstruction.completion import Action, State
from localmem.reconstruction.records import Records

KEEP = 12
"""Records kept a round."""
LINKED = 4
"""Records of the last round that keyword links bring; the rest goes on down the ranking."""


@dataclass(frozen=True, slots=True)
class Complementary:
    """Two pages of the search's own ranking, then keyword links across sessions and a third page.

    The ranking already looks at words, meaning, window, session, speaker and days at once, so that views
    of their own for these only repeat it. What it cannot reach is a record that shares no word with the
    question but rare ones with the evidence.
    """

    question: str
    records: Records
    keep: int = KEEP

    def actions(self, state: State) -> Sequence[Action]:
        """The ranking; in the last round the links first."""
        deepen = Action("ranking", self.question)
        return [deepen] if len(state.rounds) < 2 else [Action("links", self.question), deepen]

    def retain(self, state: State, found: Mapping[int, Action]) -> Sequence[int]:
        """The first links, then the ranking."""
        linked = [row for row, action in found.items() if action.view == "links"]
        scores = self.records.relevance(self.question)
        rest = sorted(
            (row for row in found if row not in linked[:LINKED]), key=lambda row: -float(scores[row])
        )
        return [*linked[:LINKED], *rest]

    def enough(self, state: State) -> bool:
        """Never: the budget ends it."""
        return False
