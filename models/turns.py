"""Callers of one model take turns, in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(eq=False, slots=True)
class _Ticket:
    thread: int


class Turns:
    """A queue in front of something that serves one caller at a time; ``threading.Lock`` keeps no order."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tickets: deque[_Ticket] = deque()  # the first one is served

    @contextmanager
    def turn(self, check: Callable[[], None], poll: float) -> Iterator[None]:
        """Wait until it is the caller's turn, and hold it.

        ``check`` is asked every ``poll`` seconds; when it raises, the caller has left the queue.
        A thread that asks for a turn inside its own would wait for ever: ``RuntimeError``.
        """
        ticket = _Ticket(threading.get_ident())
        with self._changed:
            if self._tickets and self._tickets[0].thread == ticket.thread:
                raise RuntimeError("finish or close the earlier stream of this model first")
            self._tickets.append(ticket)
        try:
            with self._changed:
                while self._tickets[0] is not ticket:
                    self._changed.wait(poll)
                    check()
            yield
        finally:
            with self._changed:
                self._tickets.remove(ticket)
                self._changed.notify_all()
