from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from localmem.entries import Grade, Layer
from localmem.errors import ModelCrashed
from localmem.layers.idle import IdleBuilder
from localmem.memory import Memory
from localmem.models.protocols import Finished, StopReason, TextDelta
from localmem.models.scripted import ScriptedModel
from localmem.types import NewSession

Said = Callable[..., NewSession]
SUMMARY = '{"summaries": ["The user likes tea."]}'
FACTS = '{"facts": [{"message": 1, "fact": "The user likes tea."}]}'


def reply(prompt: object) -> str:
    return SUMMARY if "summaries" in prompt[0].text else FACTS


@contextmanager
def building(memory: Memory, model: object, idle: float = 0.0) -> Iterator[IdleBuilder]:
    worker = IdleBuilder(memory.builder(model), idle)
    try:
        yield worker
    finally:
        worker.close()


def wait_for(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.01)


def by_model(memory: Memory) -> int:
    return sum(
        entry.grade is Grade.MODEL
        for session in memory.sessions()
        for layer in (Layer.SUMMARY, Layer.FACTS)
        for entry in memory._layers.entries(layer, session.id)
    )


class StuckModel(ScriptedModel):
    """Writes nothing until it is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()

    def stream(self, messages, *, max_tokens, fixed=0, grammar=None, think=0, cancel=None, deadline=None):
        self.asked.set()
        yield TextDelta("{")
        while not cancel.is_set():
            time.sleep(0.005)
        yield Finished(StopReason.CANCELLED, 1, 0, 1, 0.0, 0.0)


def test_what_is_missing_is_made_while_nobody_acts(memory: Memory, said: Said) -> None:
    for number in range(3):
        memory.add(said("I like tea.", "Good.", session=f"s{number}"))
    with building(memory, ScriptedModel(reply)) as worker:
        wait_for(lambda: not worker.backlog().left)
        assert by_model(memory) == 6
        wait_for(lambda: not worker.backlog().working)
        assert worker.backlog().per_minute > 0
        assert worker.backlog().problem == ""


def test_nothing_begins_before_the_pause_is_long_enough(memory: Memory, said: Said) -> None:
    memory.add(said("I like tea.", "Good."))
    with building(memory, ScriptedModel(reply), idle=0.5) as worker:
        for _ in range(10):
            worker.touch()
            time.sleep(0.1)
            assert by_model(memory) == 0
        wait_for(lambda: by_model(memory) == 2)


def test_it_stops_within_a_second_when_somebody_acts_and_goes_on_later(memory: Memory, said: Said) -> None:
    memory.add(said("I like tea.", "Good."))
    model = StuckModel()
    with building(memory, model, idle=0.2) as worker:
        assert model.asked.wait(10)
        started = time.monotonic()
        worker.touch()
        wait_for(lambda: not worker.backlog().working)
        assert time.monotonic() - started < 1
        assert by_model(memory) == 0
        assert memory.layer_failures(1) == []
        model.asked.clear()
        assert model.asked.wait(10)


def test_while_a_reply_is_written_it_stays_away(memory: Memory, said: Said) -> None:
    memory.add(said("I like tea.", "Good."))
    with building(memory, ScriptedModel(reply)) as worker:
        wait_for(lambda: not worker.backlog().left)
        with worker.held():
            memory.add(said("I like tea.", "Good.", session="new"))
            time.sleep(0.3)
            assert worker.backlog().left == 2
        wait_for(lambda: not worker.backlog().left)


def test_a_model_that_dies_is_said_and_tried_again_after_the_next_act(memory: Memory, said: Said) -> None:
    memory.add(said("I like tea.", "Good."))
    model = ScriptedModel([ModelCrashed("it died"), SUMMARY, FACTS])
    with building(memory, model) as worker:
        wait_for(lambda: worker.backlog().problem == "it died")
        assert not worker.backlog().working
        worker.touch()
        wait_for(lambda: not worker.backlog().left)
        wait_for(lambda: worker.backlog().problem == "")
