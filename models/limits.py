"""How long a call waits: the caller's cancel event and deadline, and the silence of the process."""

from __future__ import annotations

import threading
import time

from localmem.models.errors import ModelTimeout

_LOOK = 0.05  # seconds
_LONGEST_STEP = 1.0  # seconds between two looks that are believed


class Cancelled(Exception):
    """The caller's cancel event is set."""


class Stop(threading.Event):
    """A cancel event of one's own, which is set too when the caller's is."""

    def __init__(self, other: threading.Event | None) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        """Whether either is set."""
        return super().is_set() or (self._other is not None and self._other.is_set())

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until either is set; False when ``timeout`` seconds passed before."""
        end = None if timeout is None else time.monotonic() + timeout
        while not self.is_set():  # nobody is told when the other one is set: it is looked at
            left = _LOOK if end is None else min(end - time.monotonic(), _LOOK)
            if left <= 0:
                return False
            super().wait(left)
        return True


class Limits:
    """A call's cancel event and deadline."""

    def __init__(
        self, name: str, cancel: threading.Event | None = None, deadline: float | None = None
    ) -> None:
        self._name = name
        self._cancel = cancel
        self._deadline = deadline
        self._started = time.monotonic()

    def check(self) -> None:
        """Raise :class:`Cancelled` or :class:`ModelTimeout` when it is time to stop."""
        if self._cancel is not None and self._cancel.is_set():
            raise Cancelled
        if self._deadline is not None and time.monotonic() - self._started > self._deadline:
            raise ModelTimeout(f"{self._name} did not finish within {self._deadline:g} seconds.")


class Silence:
    """How long a process has given no sign of life to someone who listened.

    The time is summed from one look to the next, in steps of a second at most: a laptop that
    slept, or a terminal's Ctrl-Z, stops both processes, and is nobody's stall.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        """Seconds."""
        self._silent = 0.0
        self._looked = time.monotonic()

    def lasted(self, sign: bool) -> bool:
        """Note whether there was a sign of life since the last look; return whether it is too long ago."""
        now = time.monotonic()
        self._silent = 0.0 if sign else self._silent + min(now - self._looked, _LONGEST_STEP)
        self._looked = now
        return self._silent > self.limit
