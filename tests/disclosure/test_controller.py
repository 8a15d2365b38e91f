from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localmem.disclosure.budget import EFFORTS, Budget
from localmem.disclosure.state import State
from localmem.disclosure.tools import TOOLS
from localmem.entries import Bullet, Layer, Scope
from localmem.memory import Memory
from localmem.steps import (
    Action,
    Decision,
    Decompose,
    Draft,
    InterpretDates,
    Kind,
    Level,
    ReadFacts,
    ReadRaw,
    ReadTurns,
    Reflect,
    Reflection,
    Search,
)
from localmem.store.layers import LayerStore
from localmem.types import NewSession


@pytest.fixture
def family(memory: Memory, session: Callable[..., NewSession]) -> Memory:
    """The history of Figure 3's first case: two facts in two sessions, four sessions about the family."""
    for day, (name, text) in enumerate(
        {
            "S9": "My nephew Alex is 21 years old.",
            "S20": "I turned 32 in April 2023 and had a small party.",
            "S0": "My family comes from a small village in the north.",
            "S16": "My family had a garden with plum trees.",
            "S38": "My family visits us every winter for two weeks.",
            "S33": "My family photo album has a blue cover.",
        }.items()
    ):
        memory.add(session(name, text, "I see.", day=day))
    return memory


def test_a_question_across_sessions_ends_at_facts_after_six_sessions(
    family: Memory, trial: Callable[..., Any]
) -> None:
    run = trial(
        family,
        "How old was I when Alex was born?",
        [
            (Search(("Alex birth year",)),),
            (Reflect(),),
            (Search(("my age in 2023",)),),
            Draft(),  # the evidence has grown: it is nudged to reflect
            (Reflect(),),
            (Search(("family timeline",)),),
            "facts S33",
            (Reflect(),),
            Draft(),
        ],
        {
            "Alex birth year": ["S9"],
            "my age in 2023": ["S20"],
            "family timeline": ["S0", "S16", "S38", "S33"],
        },
        [
            Reflection(False, gaps=("the user's age",), queries=("my age in 2023",)),
            Reflection(False, queries=("family timeline",)),
            Reflection(True),
        ],
    )
    steps = run.run()
    facts = Level.FACTS.value
    assert run.opened(steps) == [(name, facts) for name in ("S9", "S20", "S0", "S16", "S38", "S33")]
    assert [step.kind for step in steps if step.kind is not Kind.CALLS] == [Kind.NUDGE, Kind.DRAFT]
    assert run.state.rounds == 2
    assert run.controller.stop_reason == "the controller was ready to answer"
    texts = " ".join(piece.text for piece in run.state.evidence.pieces(Level.FACTS))
    assert "21" in texts
    assert "32" in texts


def test_a_verbatim_question_goes_down_the_layers_of_one_session(
    memory: Memory, session: Callable[..., NewSession], trial: Callable[..., Any]
) -> None:
    memory.add(session("S10", "Any dessert in Orlando?", "Sugar Factory at Icon Park has giant milkshakes."))
    (only,) = memory.sessions()
    _write_layers(memory, only.id)
    run = trial(
        memory,
        "Orlando dessert shop with giant milkshakes?",
        [(Search(("Orlando giant milkshakes",)),), "turns S10", "raw S10"],
        {"Orlando giant milkshakes": ["S10"]},
    )
    steps = run.run()
    assert run.opened(steps) == [("S10", "facts"), ("S10", "notes"), ("S10", "raw")]
    coarse = [*run.state.evidence.pieces(Level.FACTS), *run.state.evidence.pieces(Level.NOTES)]
    assert all("Sugar Factory" not in piece.text for piece in coarse)
    raw = run.state.evidence.pieces(Level.RAW)
    assert any("Sugar Factory at Icon Park" in piece.text for piece in raw)
    assert [step.kind for step in steps[3:]] == [Kind.NUDGE, Kind.NUDGE, Kind.DRAFT]


def _write_layers(memory: Memory, session_id: int) -> None:
    """Facts and notes that lack the shop's name, as a summariser leaves such things out."""
    store, messages = LayerStore(memory._database), memory.messages(session_id)
    bullet = Bullet("The assistant named a dessert shop in Orlando.", (messages[1].id,))
    store.put(Scope(Layer.FACTS, session_id, None), (bullet,), messages)
    store.put(Scope(Layer.NOTES, session_id, 0), (bullet,), messages)


def test_a_controller_that_never_stops_ends_at_its_last_step(
    shared_memory: Memory, trial: Callable[..., Any]
) -> None:
    endless: list[Decision] = [(Search((f"query {n}",)),) for n in range(100)]
    found = {f"query {n}": [f"S{n % 12}"] for n in range(100)}
    run = trial(shared_memory, "Where did I buy apples?", endless, found, budget=EFFORTS["high"])
    steps = run.run()
    assert len(steps) == 20
    assert run.controller.stop_reason == "all 20 steps are used up"
    assert run.state.concluding
    assert len(run.state.evidence) > 0


def test_a_search_reads_the_facts_of_the_three_best_sessions_not_opened_yet(
    shared_memory: Memory, trial: Callable[..., Any]
) -> None:
    found = {"a": ["S0", "S1", "S2", "S3", "S4"]}
    run = trial(shared_memory, "Apples?", [(Search(("a",)),), (Search(("a",)),)], found)
    steps = run.run()
    names = [name for name, _ in run.opened(steps)]
    assert names == ["S0", "S1", "S2", "S3", "S4"]


def test_no_more_than_ten_sessions_are_opened(shared_memory: Memory, trial: Callable[..., Any]) -> None:
    every = {"a": [f"S{n}" for n in range(12)]}
    reads = ["facts " + ", ".join(f"S{n}" for n in range(12))]
    run = trial(shared_memory, "Apples?", [(Search(("a",)),), *reads], every)
    steps = run.run()
    assert len(run.state.drilled) == 10
    assert [call.told for call in steps[1].calls[-2:]] == ["10 sessions are open, no more are"] * 2


def test_a_counting_question_reflects_before_it_drafts(
    shared_memory: Memory, trial: Callable[..., Any]
) -> None:
    run = trial(shared_memory, "How many friends did I meet?", [Draft()], {})
    steps = run.run()
    assert [type(call.action) for step in steps for call in step.calls] == [Reflect]
    assert steps[-1].kind is Kind.DRAFT


def test_reflection_that_finds_nothing_new_ends_it(shared_memory: Memory, trial: Callable[..., Any]) -> None:
    script: list[Decision] = [(Search(("a",)),), (Reflect(),), (Search(("b",)),), (Reflect(),), Draft()]
    asked = [Reflection(False, queries=("b",)), Reflection(False, queries=("c",))]
    run = trial(shared_memory, "Apples?", script, {"a": ["S1"]}, asked)
    assert len(run.run()) == 4
    assert run.controller.stop_reason == "reflection found nothing new"


def test_after_two_rounds_reflection_sends_nobody_back(
    shared_memory: Memory, trial: Callable[..., Any]
) -> None:
    script: list[Decision] = []
    for n in range(3):
        script += [(Search((f"q{n}",)),), (Reflect(),)]
    asked = [Reflection(False, queries=(f"new {n}",)) for n in range(3)]
    found = {f"q{n}": [f"S{n}"] for n in range(3)}
    run = trial(shared_memory, "Apples?", script, found, asked)
    steps = run.run()
    assert run.state.rounds == 2
    assert steps[5].calls[0].told == "no more rounds"
    assert run.state.reflection is not None
    assert run.state.reflection.sufficient


def test_a_session_that_no_search_found_is_not_opened(
    shared_memory: Memory, trial: Callable[..., Any]
) -> None:
    run = trial(shared_memory, "Apples?", [(ReadFacts(99999),), "facts S3"], {})
    steps = run.run()
    assert run.opened(steps) == []
    assert steps[0].calls[0].told == "no search found this session"


def test_a_response_without_any_call_is_a_draft(shared_memory: Memory, trial: Callable[..., Any]) -> None:
    run = trial(shared_memory, "Apples?", [()], {})
    assert [step.kind for step in run.run()] == [Kind.DRAFT]


def test_raw_messages_are_read_of_different_turns_each_time(
    shared_memory: Memory, trial: Callable[..., Any]
) -> None:
    reads = ["raw S1", "raw S1"]
    run = trial(shared_memory, "Apples?", [(Search(("a",)),), *reads], {"a": ["S1"]})
    steps = run.run()
    assert steps[1].calls[0].new == 4
    assert steps[2].calls[0].new == 0
    assert len(run.state.raw_turns) == 2


def test_every_tool_is_in_the_table() -> None:
    assert set(TOOLS) == {Search, ReadFacts, ReadTurns, ReadRaw, InterpretDates, Decompose, Reflect}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    steps=st.integers(1, 25),
    calls=st.integers(1, 20),
    records=st.integers(1, 40),
    counting=st.booleans(),
)
def test_no_decider_passes_a_limit_and_the_evidence_only_grows(
    shared_memory: Memory,
    trial: Callable[..., Any],
    seed: int,
    steps: int,
    calls: int,
    records: int,
    counting: bool,
) -> None:
    pick = random.Random(seed)
    queries = {f"q{n}": [f"S{m}" for m in pick.sample(range(12), pick.randint(0, 8))] for n in range(9)}
    question = "How many friends did I meet?" if counting else "Where did I buy apples?"
    asked = [Reflection(pick.random() < 0.4, queries=(f"q{pick.randrange(9)} again",)) for _ in range(40)]
    run = trial(shared_memory, question, [], queries, asked, budget=Budget(steps, calls, records, 1000, 60))

    def decide(state: State) -> Decision:
        run.states.append(len(state.evidence))
        return Draft() if pick.random() < 0.2 else tuple(_any(pick, run) for _ in range(pick.randint(0, 3)))

    run.controller._decide = decide
    seen: set[object] = set()
    for step in run.controller.run():
        pieces = set(run.state.evidence.pieces())
        assert seen <= pieces
        seen = pieces
        assert run.ledger.retrieval_calls <= calls
        assert run.ledger.records == len(run.state.evidence.messages()) <= records
        assert step.number <= steps
    limits = run.state.limits
    assert len(run.state.drilled) <= limits.drilled
    assert len(run.state.raw_turns) <= limits.raw_turns
    assert run.state.rounds <= limits.rounds
    assert run.state.nudges <= limits.nudges
    assert run.states == sorted(run.states)
    assert run.controller.stop_reason


def _any(pick: random.Random, run: Any) -> Action:
    one = pick.choice([*run.ids.values(), 4711])
    return pick.choice(
        [
            Search(tuple(f"q{pick.randrange(9)}" for _ in range(pick.randint(1, 7)))),
            ReadFacts(one),
            ReadTurns(one),
            ReadRaw(one, tuple(pick.sample(range(4), pick.randint(0, 3)))),
            Reflect(),
            Decompose(),
            InterpretDates("last summer"),
        ]
    )
