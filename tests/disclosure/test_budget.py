from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from localmem.disclosure.advice import step_distribution
from localmem.disclosure.budget import EFFORTS, Budget, Cost, Meter
from localmem.disclosure.metered import Metered
from localmem.disclosure.state import State
from localmem.errors import ModelTimeout, ModelUnaffordable
from localmem.memory import Memory
from localmem.models.calibration import Calibration, Record
from localmem.models.costlaw import Law
from localmem.models.protocols import ChatMessage, Finished
from localmem.models.scripted import ScriptedModel
from localmem.steps import Decision, Draft, Search
from localmem.types import Ledger

PROMPT = [ChatMessage("system", "be brief"), ChatMessage("user", "one two three four five six seven")]
LAW = Law(read_call=0, read_token=0.5, read_position=0, written_token=1, written_position=0)


def meter(budget: Budget, clock: Callable[[], float] = time.monotonic) -> Meter:
    return Meter(budget, Ledger(), clock)


def calibration() -> Calibration:
    return Calibration(Record(measured=True, law=LAW), lambda record: None)


def drained(stream: Iterator[object]) -> list[object]:
    return list(stream)


def test_what_is_spent_is_no_longer_left(clock: Any) -> None:
    held = meter(Budget(5, 4, 10, 100, 60), clock)
    held.ledger.retrieval_calls, held.ledger.records = 3, 10
    held.ledger.tokens_read, held.ledger.tokens_written, held.ledger.tokens_reused = 60, 20, 500
    clock.now = 45
    assert held.left() == Cost(calls=1, records=0, model_tokens=20, seconds=15)
    assert held.lacks(Cost(calls=1)) is None
    assert held.lacks(Cost(calls=2)) == "retrieval calls"
    assert held.lacks(Cost(records=1)) == "records"
    assert held.lacks(Cost(model_tokens=21)) == "model tokens"
    assert held.lacks(Cost(seconds=15)) == "time"
    clock.now = 61
    assert held.lacks(Cost()) == "time"


def test_what_wording_needs_is_set_aside_up_to_half_until_it_is_released(clock: Any) -> None:
    held = meter(Budget(5, 4, 10, 100, 60), clock)
    held.keep(Cost(model_tokens=80, seconds=10))
    assert (held.left().model_tokens, held.left().seconds) == (50, 50)
    held.release()
    assert (held.left().model_tokens, held.left().seconds) == (100, 60)


def test_a_call_that_would_pass_the_token_limit_is_not_started() -> None:
    model = ScriptedModel(["yes"])
    with pytest.raises(ModelUnaffordable, match="model tokens"):
        drained(Metered(model, meter(Budget(5, 4, 10, 15, 60)), None).stream(PROMPT, max_tokens=10))
    assert model.history == []


def test_a_call_whose_predicted_time_is_not_left_is_not_started(clock: Any) -> None:
    model = ScriptedModel(["yes"])
    held = Metered(model, meter(Budget(5, 4, 10, 1000, 12), clock), calibration())
    assert held.predict(11, 20).seconds == pytest.approx(15.5)
    with pytest.raises(ModelUnaffordable, match="time"):
        drained(held.stream(PROMPT, max_tokens=20))
    assert model.history == []
    drained(held.stream(PROMPT, max_tokens=4))
    assert len(model.history) == 1


def test_a_fixed_prefix_is_expected_to_be_reused_but_its_tokens_may_be_spent(clock: Any) -> None:
    model = ScriptedModel(["yes"])
    held = Metered(model, meter(Budget(5, 4, 10, 21, 7.1), clock), calibration())
    with pytest.raises(ModelUnaffordable, match="time"):  # 11 tokens at half a second each, 2 to write
        drained(held.stream(PROMPT, max_tokens=4))
    drained(held.stream(PROMPT, max_tokens=4, fixed=1))
    with pytest.raises(ModelUnaffordable, match="model tokens"):
        drained(held.stream(PROMPT, max_tokens=11, fixed=1))


def test_a_call_gets_what_time_is_left_as_its_deadline(clock: Any) -> None:
    @dataclass
    class Noting(ScriptedModel):
        deadline: float | None = None

        def stream(self, messages: Any, *, deadline: float | None = None, **rest: Any) -> Any:
            self.deadline = deadline
            return super().stream(messages, deadline=deadline, **rest)

    model = Noting()
    ScriptedModel.__init__(model, ["yes", "yes"])
    held = Metered(model, meter(Budget(5, 4, 10, 1000, 30), clock), None)
    clock.now = 10
    drained(held.stream(PROMPT, max_tokens=2))
    assert model.deadline == 20
    drained(held.stream(PROMPT, max_tokens=2, deadline=3))
    assert model.deadline == 3


def test_a_call_is_counted_once_and_the_calibration_learns_from_it() -> None:
    counted = meter(EFFORTS["high"])
    learning = calibration()
    drained(Metered(ScriptedModel(["one two"]), counted, learning).stream(PROMPT, max_tokens=5))
    assert (counted.ledger.model_calls, counted.ledger.tokens_written) == (1, 2)
    others = meter(EFFORTS["high"])
    last = drained(
        Metered(ScriptedModel(["one two"]), others, None, counts=False).stream(PROMPT, max_tokens=5)
    )
    assert isinstance(last[-1], Finished)
    assert others.ledger.model_calls == 0


def test_a_timeout_is_what_an_unaffordable_call_looks_like_to_others() -> None:
    assert issubclass(ModelUnaffordable, ModelTimeout)


def test_the_clock_ends_the_controller_with_what_it_has(
    shared_memory: Memory, trial: Callable[..., Any], clock: Any
) -> None:
    queries = {f"q{n}": [f"S{n}"] for n in range(12)}
    run = trial(shared_memory, "Apples?", [], queries, budget=Budget(20, 60, 800, 0, 30), clock=clock)

    def decide(state: State) -> Decision:
        clock.now += 8
        return (Search((f"q{len(state.steps)}",)),)

    run.controller._decide = decide
    steps = run.run()
    assert [len(step.calls) for step in steps] == [1, 1, 1, 0]
    assert run.controller.stop_reason == "not enough time left in the budget"
    assert len(run.state.drilled) == 3
    assert sum(run.ledger.seconds.values()) == pytest.approx(32)


def test_an_action_that_usually_takes_longer_than_is_left_is_not_started(
    shared_memory: Memory, trial: Callable[..., Any], clock: Any
) -> None:
    budget = Budget(20, 60, 800, 0, 30)
    run = trial(shared_memory, "Apples?", [(Search(("a",)),)], {"a": ["S1"]}, budget=budget, clock=clock)
    run.controller._averages = {"search": 40.0}
    run.run()
    assert run.opened(run.state.steps) == []
    assert run.controller.stop_reason == "not enough time left in the budget"


def test_a_search_poses_no_more_queries_than_calls_are_left(
    shared_memory: Memory, trial: Callable[..., Any]
) -> None:
    run = trial(
        shared_memory,
        "Apples?",
        [(Search(("a", "b", "c")),), (Search(("d",)),), Draft()],
        {"a": ["S1"], "c": ["S3"]},
        budget=Budget(20, 2, 800, 0, 60),
    )
    steps = run.run()
    assert steps[0].calls[0].action == Search(("a", "b"))
    assert run.ledger.retrieval_calls == 2
    assert run.controller.stop_reason == "not enough retrieval calls left in the budget"


def test_records_are_kept_by_relevance_up_to_the_limit(
    shared_memory: Memory, trial: Callable[..., Any]
) -> None:
    run = trial(
        shared_memory,
        "How many kilometres did we drive to the sea near Harbour 3?",
        [(Search(("a",)),), "raw S3"],
        {"a": ["S3"]},
        budget=Budget(20, 2, 1, 0, 60),
    )
    run.run()
    (kept,) = run.state.evidence.messages()
    assert "Harbour 3" in shared_memory.messages(run.ids["S3"])[kept % 4 - 1].text
    assert run.controller.stop_reason == "not enough records left in the budget"


def test_other_limits_stay_when_one_is_given() -> None:
    assert EFFORTS["low"].but(steps=9, seconds=None) == Budget(
        9, *(getattr(EFFORTS["low"], name) for name in ("calls", "records", "model_tokens", "seconds"))
    )


def test_the_tightest_bound_is_the_smallest_that_cuts_one_answer_in_a_hundred_short() -> None:
    steps = [3] * 60 + [5] * 35 + [12] * 4 + [17]
    found = step_distribution(steps, [20] * 100)
    assert (found.median, found.p95, found.p99, found.most) == (3, 5, 12, 17)
    assert (found.truncated, found.advice) == (0, 12)


def test_no_bound_is_advised_when_many_answers_were_cut_short() -> None:
    found = step_distribution([4, 4, 4, 2], [4, 4, 4, 4])
    assert (found.truncated, found.advice) == (3, None)
    assert step_distribution([7], [20]).advice == 7
