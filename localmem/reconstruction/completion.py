"""Stage II: complete the evidence under a budget (BFR, Algorithm 2). The loop that all schedules share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Budget:
    """What completion may spend (BFR 4.3)."""

    steps: int = 3
    """Rounds."""
    calls: int = 6
    """Retrieval calls."""
    records: int = 30
    """New records."""


@dataclass(frozen=True, slots=True)
class Action:
    """One retrieval call: a view and its cue."""

    view: str
    cue: str | int
    """A text, or the row of a record that serves as anchor."""


Retrieve = Callable[[Action, Sequence[int]], Sequence[int]]
"""Rows that an action finds beside those held (in order of acquisition), best first: one page."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round of completion."""

    actions: tuple[Action, ...]
    """Those carried out, in order."""
    added: tuple[int, ...]
    """Rows kept, in order."""
    by: tuple[int, ...]
    """For each of them the place of the action that found it first."""


@dataclass(slots=True)
class State:
    """The evidence and what it cost. Evidence only grows."""

    evidence: list[int]
    """Rows, in order of acquisition."""
    initial: int
    """How many of them stage I composed."""
    calls: int = 0
    rounds: list[Round] = field(default_factory=list)
    stop_reason: str = ""

    @property
    def added(self) -> int:
        """New records so far."""
        return len(self.evidence) - self.initial


class Schedule(Protocol):
    """What to retrieve in a round, and what to keep of it."""

    @property
    def keep(self) -> int:
        """Records kept a round at most."""
        ...

    def actions(self, state: State) -> Sequence[Action]:
        """The actions of the next round in order; a view whose cue is missing is left out."""
        ...

    def retain(self, state: State, found: Mapping[int, Action]) -> Sequence[int]:
        """The rows to keep, best first. ``found``: rows in order, with the action that found each first."""
        ...

    def enough(self, state: State) -> bool:
        """Whether to stop although the budget is not spent."""
        ...


def complete(initial: Sequence[int], schedule: Schedule, retrieve: Retrieve, budget: Budget) -> State:
    """Run rounds until a part of the budget is spent. ``initial`` stays in front of what is added."""
    evidence = list(dict.fromkeys(initial))
    state = State(evidence, len(evidence))
    while not (reason := _spent(state, budget)):
        if schedule.enough(state):
            reason = "the requirements are met"
            break
        held = tuple(state.evidence)  # fixed for the round: its calls see the same evidence
        found: dict[int, Action] = {}
        done: list[Action] = []
        for action in schedule.actions(state)[: budget.calls - state.calls]:
            for row in retrieve(action, held):
                if row not in held:
                    found.setdefault(row, action)
            state.calls += 1
            done.append(action)
        kept = [row for row in dict.fromkeys(schedule.retain(state, found)) if row in found]
        kept = kept[: min(schedule.keep, budget.records - state.added)]
        state.evidence += kept
        state.rounds.append(Round(tuple(done), tuple(kept), tuple(done.index(found[row]) for row in kept)))
    state.stop_reason = reason
    return state


def _spent(state: State, budget: Budget) -> str:
    """Which part of the budget is spent; empty: none."""
    if len(state.rounds) >= budget.steps:
        return "rounds spent"
    if state.calls >= budget.calls:
        return "calls spent"
    return "records spent" if state.added >= budget.records else ""
