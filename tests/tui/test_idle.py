from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from localmem.layers.idle import Backlog, IdleBuilder
from localmem.memory import Memory
from localmem.models.protocols import Finished, StopReason, TextDelta
from localmem.models.scripted import ScriptedModel
from localmem.tui.text import backlog_text
from localmem.types import NewSession

OpenChat = Callable[..., Any]
Said = Callable[..., NewSession]


class StuckModel(ScriptedModel):
    """A summariser that writes until it is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()
        self.stopped = threading.Event()

    def stream(self, messages, *, max_tokens, fixed=0, grammar=None, think=0, cancel=None, deadline=None):
        self.stopped.clear()
        self.asked.set()
        yield TextDelta("{")
        while not cancel.is_set():
            time.sleep(0.005)
        self.stopped.set()
        yield Finished(StopReason.CANCELLED, 1, 0, 1, 0.0, 0.0)


@pytest.fixture
def stuck() -> StuckModel:
    return StuckModel()


@pytest.fixture
def idle(memory: Memory, said: Said, stuck: StuckModel) -> Iterator[IdleBuilder]:
    memory.add(said("I like tea.", "Good."))
    worker = IdleBuilder(memory.builder(stuck), 0.3)
    yield worker
    worker.close()


async def test_the_backlog_is_told_and_a_key_stops_the_work(
    chat: OpenChat, idle: IdleBuilder, stuck: StuckModel
) -> None:
    async with chat(ScriptedModel(), idle=idle) as c:
        await c.until(lambda: "Summing up while you pause: 2 left" in c.status())
        await c.pilot.press("a")
        pressed = time.monotonic()
        await c.until(stuck.stopped.is_set)
        assert time.monotonic() - pressed < 1
        assert c.composer().text == "a"
        await c.until(stuck.asked.is_set)


async def test_a_reply_is_not_disturbed(
    chat: OpenChat, idle: IdleBuilder, stuck: StuckModel, paced: Any
) -> None:
    model = paced("Well, ", "then.")
    async with chat(model, idle=idle) as c:
        await c.type("hello")
        await c.until(model.waiting.is_set)
        stuck.asked.clear()
        await c.pilot.pause(0.6)
        assert not stuck.asked.is_set()
        model.release.set()
        await c.until(stuck.asked.is_set)


@pytest.mark.parametrize(
    ("backlog", "text"),
    [
        (Backlog(1200, 0.0, working=True, problem=""), "Summing up while you pause: 1,200 left."),
        (Backlog(30, 10.0, working=True, problem=""), "Summing up while you pause: 30 left, about 3 min."),
        (Backlog(30, 10.0, working=False, problem=""), ""),
        (Backlog(0, 10.0, working=True, problem=""), ""),
        (Backlog(3, 0.0, working=False, problem="it\ndied"), "Summaries have stopped: it died"),
    ],
)
def test_the_work_of_idle_time_is_one_line(backlog: Backlog, text: str) -> None:
    assert backlog_text(backlog) == text
