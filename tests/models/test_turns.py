from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from localmem.models.turns import Turns


def nothing() -> None:
    pass


def until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def test_a_turn_is_given_up_when_its_holder_fails() -> None:
    turns = Turns()
    with pytest.raises(KeyError), turns.turn(nothing, 0.01):
        raise KeyError
    with turns.turn(nothing, 0.01):
        pass


def test_a_thread_that_asks_again_inside_its_turn_is_refused_and_keeps_it() -> None:
    turns = Turns()
    with turns.turn(nothing, 0.01):
        with pytest.raises(RuntimeError, match="finish or close"), turns.turn(nothing, 0.01):
            pass
        got: list[str] = []

        def wait() -> None:
            with turns.turn(nothing, 0.01):
                got.append("a turn")

        other = threading.Thread(target=wait)
        other.start()
        other.join(0.05)
        assert got == []
    other.join(10)
    assert got == ["a turn"]


def test_one_in_the_middle_may_leave_and_the_order_stays() -> None:
    turns = Turns()
    order: list[str] = []
    gone = threading.Event()
    threads: list[threading.Thread] = []

    def leave() -> None:
        if gone.is_set():
            raise TimeoutError

    def wait(name: str) -> None:
        try:
            with turns.turn(leave if name == "b" else nothing, 0.01):
                order.append(name)
        except TimeoutError:
            order.append(f"{name} left")

    with turns.turn(nothing, 0.01):
        for name in "abc":
            threads.append(threading.Thread(target=wait, args=(name,)))
            threads[-1].start()
            assert until(lambda: len(turns._tickets) == len(threads) + 1)
        gone.set()
        threads[1].join(10)
    for thread in threads:
        thread.join(10)
    assert order == ["b left", "a", "c"]
