from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from localmem.reconstruction.completion import Action, Budget, State, complete

STORE = range(60)
BUDGETS = st.builds(Budget, st.integers(0, 5), st.integers(0, 8), st.integers(0, 40))
INITIAL = st.lists(st.sampled_from(STORE), max_size=10)


@dataclass
class Wild:
    """A schedule that asks for anything and keeps anything, also what it was not given."""

    random: Random
    keep: int
    calls: int
    seen: list[tuple[int, ...]] = field(default_factory=list)

    def actions(self, state: State) -> Sequence[Action]:
        self.seen.append(tuple(state.evidence))
        return [Action("text", str(n)) for n in range(self.calls)]

    def retain(self, state: State, found: Mapping[int, Action]) -> Sequence[int]:
        return self.random.choices([*found, 1000, *state.evidence], k=self.random.randint(0, 30))

    def enough(self, state: State) -> bool:
        return False


@given(INITIAL, BUDGETS, st.integers(1, 25), st.integers(0, 4), st.integers(0, 99))
def test_nothing_is_taken_twice_no_budget_is_exceeded_and_evidence_only_grows(
    initial: list[int], budget: Budget, keep: int, calls: int, seed: int
) -> None:
    random = Random(seed)
    made: list[Action] = []

    def retrieve(action: Action, held: Sequence[int]) -> Sequence[int]:
        made.append(action)
        return random.choices(STORE, k=12)  # careless: repeats, and what is held already

    schedule = Wild(random, keep, calls)
    state = complete(initial, schedule, retrieve, budget)
    assert len(state.evidence) == len(set(state.evidence))
    assert state.evidence[: state.initial] == list(dict.fromkeys(initial))
    assert set(state.evidence) <= set(STORE)
    assert len(state.rounds) <= budget.steps
    assert state.calls == len(made) <= budget.calls
    assert state.added <= budget.records
    assert all(len(step.added) <= keep for step in state.rounds)
    grown = [*schedule.seen, tuple(state.evidence)]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(grown))
    assert state.stop_reason


def test_all_calls_of_a_round_see_the_evidence_that_it_began_with() -> None:
    held_at: list[tuple[int, ...]] = []

    def retrieve(action: Action, held: Sequence[int]) -> Sequence[int]:
        held_at.append(tuple(held))
        return [row for row in STORE if row not in held][:3]

    class Keeping(Wild):
        def retain(self, state: State, found: Mapping[int, Action]) -> Sequence[int]:
            return list(found)

    complete([7], Keeping(Random(0), keep=5, calls=2), retrieve, Budget(2, 4, 30))
    assert held_at == [(7,), (7,), (7, 0, 1, 2), (7, 0, 1, 2)]


def test_it_says_which_part_of_the_budget_was_spent() -> None:
    def reason(budget: Budget) -> str:
        class Keeping(Wild):
            def retain(self, state: State, found: Mapping[int, Action]) -> Sequence[int]:
                return list(found)

        return complete(
            [], Keeping(Random(0), 4, 1), lambda action, held: [r for r in STORE if r not in held][:4], budget
        ).stop_reason

    assert reason(Budget(2, 9, 30)) == "rounds spent"
    assert reason(Budget(9, 2, 30)) == "calls spent"
    assert reason(Budget(9, 9, 6)) == "records spent"
