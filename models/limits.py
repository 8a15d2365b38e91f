"""How long a call waits: the caller's cancel event and deadline, and the silence of the process."""

from __future__ import annotations

import threading
import time

from localmem.models.errors import ModelTimeout

_LONGEST_STEP = 1.0  # seconds between two looks that are believed


class Cancelled(Exception):
    """The caller's cancel event is set."""


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
