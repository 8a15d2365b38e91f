"""Completion that looks at what the evidence lacks: the paper's controlled variants (BFR 5.2, Table 18).

``bfr-state`` adds a cue for a missing requirement, and keeps what covers one or leads on to it;
``bfr-adaptive`` also chooses the views and stops early. The paper says no more; how a cue is made and what
retention adds is ours. Neither is a default: the paper found estimates of sufficiency too unreliable to
stop by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from localmem.index.tokens import query_terms, terms
from localmem.reconstruction.completion import Action, State
from localmem.reconstruction.records import Records
from localmem.reconstruction.requirements import Need, NeedKind, first_person
from localmem.reconstruction.schedules import MULTI_KEEP, worth
from localmem.reconstruction.support import Support
from localmem.reconstruction.views import RARE

COVERS = 1.0
"""What a record gains that meets a missing requirement: as much as the best match has."""
BRIDGES = 0.25
"""What one gains that shares a rare term with the evidence which the question does not have."""


@dataclass(frozen=True, slots=True)
class StateConditioned:
    """BFR-State: the views of BFR-MV, the text cue led by a missing requirement."""

    question: str
    records: Records
    support: Support
    keep: int = MULTI_KEEP

    def actions(self, state: State) -> Sequence[Action]:
        """Text with the cue, entity, session."""
        missing = self.support.missing(state.evidence)
        actions = [Action("text", self._cue(state, missing))]
        if person := first_person(self.question, self.records.columns.names):
            actions.append(Action("entity", person))
        if state.evidence:
            actions.append(Action("session", state.evidence[-1]))
        return actions

    def retain(self, state: State, found: Mapping[int, Action]) -> Sequence[int]:
        """By relevance, novelty, coverage of what is missing, and bridges to it."""
        value = worth(self.records, self.question, state.evidence, list(found))
        missing = [self.support.needs.index(need) for need in self.support.missing(state.evidence)]
        links = self._links(state)
        for row in found:
            value[row] += COVERS * bool(self.support.met[row, missing].any())
            value[row] += BRIDGES * any(
                not links.isdisjoint(terms(m.text)) for m in self.records.fetch([row])
            )
        return sorted(found, key=lambda row: -value[row])

    def enough(self, state: State) -> bool:
        """Never: the budget ends it."""
        return False

    def _cue(self, state: State, missing: Sequence[Need]) -> str:
        """A requirement not met, one after the other from round to round; else the question."""
        sought = [need for need in missing if need.kind is not NeedKind.TIME]
        return sought[len(state.rounds) % len(sought)].text if sought else self.question

    def _links(self, state: State) -> set[str]:
        asked = query_terms(self.question)
        said = {term for m in self.records.fetch(state.evidence) for term in terms(m.text)}
        return {
            term for term, idf in self.records.rarity(sorted(said.difference(asked))).items() if idf > RARE
        }


@dataclass(frozen=True, slots=True)
class Adaptive(StateConditioned):
    """BFR-Adaptive: only the views that can bring what is missing; stops when nothing is."""

    def actions(self, state: State) -> Sequence[Action]:
        """Text always; the entity for a bridge or an item, the session for a time or a second fact."""
        kinds = {need.kind for need in self.support.missing(state.evidence)}
        wanted = {"text"}
        if kinds & {NeedKind.BRIDGE, NeedKind.ITEM}:
            wanted.add("entity")
        if kinds & {NeedKind.TIME, NeedKind.FACT}:
            wanted.add("session")
        return [action for action in StateConditioned.actions(self, state) if action.view in wanted]

    def enough(self, state: State) -> bool:
        """All requirements are met, and the last round met none for the first time."""
        if not state.rounds or self.support.missing(state.evidence):
            return False
        before = state.evidence[: len(state.evidence) - len(state.rounds[-1].added)]
        return not self.support.missing(before)
