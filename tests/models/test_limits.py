from __future__ import annotations

import threading
import time

import pytest

from localmem.models.errors import ModelTimeout
from localmem.models.limits import Cancelled, Limits, Silence, Stop


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)

    def listen(self, silence: Silence, seconds: float, every: float = 0.05) -> bool:
        """Whether the silence was too long at any look."""
        looks = []
        for _ in range(round(seconds / every)):
            self.now += every
            looks.append(silence.lasted(False))
        return any(looks)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_silence_is_too_long_past_its_limit_and_not_before(clock: Clock) -> None:
    silence = Silence(20)
    assert not clock.listen(silence, 19)
    assert clock.listen(silence, 2)


def test_a_sign_of_life_ends_a_silence(clock: Clock) -> None:
    silence = Silence(20)
    for _ in range(5):
        assert not clock.listen(silence, 19)
        assert not silence.lasted(True)


def test_the_sleep_of_the_whole_machine_is_no_silence(clock: Clock) -> None:
    silence = Silence(20)
    clock.now += 8 * 3600  # the lid was closed
    assert not silence.lasted(False)
    assert not clock.listen(silence, 18)


def test_a_deadline_counts_from_the_call(clock: Clock) -> None:
    limits = Limits("small", None, 30.0)
    clock.now += 29
    limits.check()
    clock.now += 2
    with pytest.raises(ModelTimeout, match="small did not finish within 30 seconds"):
        limits.check()


def test_a_cancel_comes_before_a_deadline(clock: Clock) -> None:
    cancel = threading.Event()
    limits = Limits("small", cancel, 1.0)
    cancel.set()
    clock.now += 2
    with pytest.raises(Cancelled):
        limits.check()


def test_a_stop_is_set_with_the_callers_event_and_wakes_who_waits() -> None:
    caller = threading.Event()
    stop = Stop(caller)
    assert not stop.wait(0.01)
    threading.Timer(0.02, caller.set).start()
    assert stop.wait(10)
    assert stop.is_set()


def test_a_stop_of_ones_own_is_not_the_callers() -> None:
    caller = threading.Event()
    stop = Stop(caller)
    stop.set()
    assert stop.wait()
    assert not caller.is_set()
    assert not Stop(None).is_set()
