from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from localmem.models.idle import IdleTimer


class Model:
    """Something to unload."""

    def __init__(self, seconds: float) -> None:
        self.loaded = False
        self.unloaded = threading.Event()
        self.idle = IdleTimer(seconds, self.unload, lambda: self.loaded)

    def unload(self) -> None:
        self.loaded = False
        self.unloaded.set()

    def call(self) -> None:
        with self.idle.busy():
            self.loaded = True


@pytest.fixture
def no_thread_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
    assert set(threading.enumerate()) == before


@pytest.mark.usefixtures("no_thread_left")
def test_the_action_runs_once_after_the_last_call() -> None:
    model = Model(0.05)
    for _ in range(3):
        model.call()
    assert model.unloaded.wait(5)
    assert not model.loaded


@pytest.mark.usefixtures("no_thread_left")
def test_many_calls_share_one_timer() -> None:
    model = Model(60)
    before = threading.active_count()
    for _ in range(100):
        model.call()
    assert threading.active_count() == before + 1
    model.idle.close()
    assert threading.active_count() == before
    assert not model.unloaded.is_set()


@pytest.mark.usefixtures("no_thread_left")
def test_a_call_that_lasts_longer_than_the_limit_holds_the_action_off() -> None:
    model = Model(0.05)
    model.call()
    with model.idle.busy():
        assert not model.unloaded.wait(0.3)
    assert model.unloaded.wait(5)


@pytest.mark.usefixtures("no_thread_left")
def test_no_timer_runs_for_what_is_not_loaded() -> None:
    model = Model(60)
    before = threading.active_count()
    with model.idle.busy():
        pass
    assert threading.active_count() == before
    model.idle.close()
