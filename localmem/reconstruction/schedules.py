"""The paper's fixed schedules, and the novelty that retention goes by (BFR 4.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from localmem.index.tokens import terms
from localmem.reconstruction.completion import Action, State
from localmem.reconstruction.records import Records
from localmem.reconstruction.requirements import first_person

TEXT_KEEP = 8
"""Records that BFR-Text keeps a round (BFR 4.4)."""
MULTI_KEEP = 20
"""The same for BFR-MV: the paper gives none, the set sizes of its Table 16 imply about so many."""
NOVELTY = 0.5
"""What a record all of whose terms are new gains over one that says nothing new, where the most relevant
one of a round has 1."""


@dataclass(frozen=True, slots=True)
class Text:
    """BFR-Text: the question again, to the next page of the text index, and its first unseen hits."""

    question: str
    keep: int = TEXT_KEEP

    def actions(self, state: State) -> Sequence[Action]:
        """Always the question."""
        return [Action("text", self.question)]

    def retain(self, state: State, found: Mapping[int, Action]) -> Sequence[int]:
        """In order of retrieval."""
        return list(found)

    def enough(self, state: State) -> bool:
        """Never: the budget ends it."""
        return False


@dataclass(frozen=True, slots=True)
class MultiView:
    """BFR-MV: text, entity and session in that order, merged and ranked once a round."""

    question: str
    records: Records
    keep: int = MULTI_KEEP

    def actions(self, state: State) -> Sequence[Action]:
        """The question, the first person that it names, the record kept last."""
        person = first_person(self.question, self.records.columns.names)
        return [
            Action("text", self.question),
            *([Action("entity", person)] if person else []),
            *([Action("session", state.evidence[-1])] if state.evidence else []),
        ]

    def retain(self, state: State, found: Mapping[int, Action]) -> Sequence[int]:
        """By relevance and novelty; equal ones in order of retrieval."""
        value = worth(self.records, self.question, state.evidence, list(found))
        return sorted(found, key=lambda row: -value[row])

    def enough(self, state: State) -> bool:
        """Never: the budget ends it."""
        return False


def worth(records: Records, cue: str, evidence: Sequence[int], found: Sequence[int]) -> dict[int, float]:
    """Relevance (BM25, as a share of the best one's) and :data:`NOVELTY` of each row found."""
    scores = records.words(cue)
    best = max(float(scores[list(found)].max()), 1e-9) if found else 1.0
    seen = {term for message in records.fetch(evidence) for term in terms(message.text)}
    worth: dict[int, float] = {}
    for row in found:
        said = {term for message in records.fetch([row]) for term in terms(message.text)}
        novelty = len(said - seen) / len(said) if said else 0.0
        worth[row] = float(scores[row]) / best + NOVELTY * novelty
    return worth
