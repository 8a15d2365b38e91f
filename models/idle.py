"""A model that nobody uses gives its memory back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class IdleTimer:
    """Runs ``action`` when nothing has been :meth:`busy` for ``seconds``, if it is ``needed`` then.

    One timer thread at the most, none while the action is not needed. The end of a call only notes
    the time; a timer that fires too early for it is set again for the rest.
    """

    def __init__(self, seconds: float, action: Callable[[], object], needed: Callable[[], bool]) -> None:
        self._seconds = seconds
        self._action = action
        self._needed = needed
        self._lock = threading.RLock()  # a generator may be finalised, and end its call, anywhere
        self._calls = 0
        self._used = 0.0
        self._timer: threading.Timer | None = None

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Hold the action off. Waits for one that is under way."""
        with self._lock:
            self._calls += 1
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1
                self._used = time.monotonic()
                if self._timer is None and self._needed():
                    self._set(self._seconds)

    def close(self) -> None:
        """Stop the timer and wait for its thread."""
        with self._lock:
            timer, self._timer = self._timer, None
        if timer is not None and timer is not threading.current_thread():
            timer.cancel()
            timer.join()

    def _set(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._fire)
        self._timer.daemon = True  # or the interpreter would wait for it at its end
        self._timer.start()

    def _fire(self) -> None:
        with self._lock:
            if self._timer is not threading.current_thread():
                return  # it was stopped while it fired
            self._timer = None
            if self._calls:
                return  # the end of the call sets the next one
            left = self._used + self._seconds - time.monotonic()
            if left > 0:
                self._set(left)
            else:
                self._action()
