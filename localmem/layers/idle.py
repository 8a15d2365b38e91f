"""Layers made by a model while nobody needs the machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from localmem.entries import Layer
from localmem.errors import LocalmemError
from localmem.layers.builder import LayerBuilder

IDLE = 20.0
"""Seconds without anybody acting after which work begins."""
LIKELY = 20
"""Newest sessions whose facts are made before anybody asks for them."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """How far the work is."""

    left: int
    """Entries that are to be made."""
    per_minute: float
    """Entries made in a minute of work; 0: none yet."""
    working: bool
    """False: somebody acts, or all is done."""
    problem: str
    """Why it stopped; empty: it did not. It tries again after the next pause."""

    @property
    def minutes(self) -> float | None:
        """Time of work left; None: not known yet."""
        return self.left / self.per_minute if self.per_minute else None


class IdleBuilder:
    """One thread that builds while nobody acts, and stops within a second when somebody does.

    What was made is committed window by window: nothing is lost or made twice, whatever ends it.
    """

    def __init__(self, builder: LayerBuilder, idle: float = IDLE) -> None:
        self._builder = builder
        self._idle = idle
        self._changed = threading.Condition()
        self._acted = time.monotonic()
        self._holders = 0
        self._closed = False
        self._cancel = threading.Event()
        self._working = False
        self._made = 0
        self._seconds = 0.0
        self._problem = ""
        self._thread = threading.Thread(target=self._run, name="localmem-layers", daemon=True)
        self._thread.start()

    def touch(self) -> None:
        """Somebody acts: stop, and wait for the next pause."""
        with self._changed:
            self._acted = time.monotonic()
            self._cancel.set()
            self._changed.notify_all()

    @contextmanager
    def held(self) -> Iterator[None]:
        """While something else needs the machine, whether somebody acts or not."""
        with self._changed:
            self._holders += 1
        self.touch()
        try:
            yield
        finally:
            with self._changed:
                self._holders -= 1
            self.touch()

    def backlog(self) -> Backlog:
        """How far it is. Reads the store."""
        left = len(self._builder.missing(Layer.SUMMARY)) + len(self._facts_missing())
        with self._changed:
            rate = 60 * self._made / self._seconds if self._seconds else 0.0
            return Backlog(left, rate, self._working, self._problem)

    def close(self) -> None:
        """Stop and wait for the thread. Closing twice is allowed."""
        with self._changed:
            self._closed = True
            self._cancel.set()
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        done_at: float | None = None  # when it last ran to its end: without an act since, nothing is new
        while self._wait_for_a_pause(done_at):
            started = time.monotonic()
            try:
                self._build()
                problem = ""
            except LocalmemError as error:
                problem = str(error)
            with self._changed:
                self._working = False
                self._problem = problem
                self._seconds += time.monotonic() - started
                done_at = None if self._cancel.is_set() else self._acted

    def _wait_for_a_pause(self, done_at: float | None) -> bool:
        with self._changed:
            while not self._closed:
                left = self._acted + self._idle - time.monotonic()
                if self._holders or self._acted == done_at:
                    self._changed.wait()
                elif left > 0:
                    self._changed.wait(left)
                else:
                    self._cancel.clear()
                    self._working = True
                    return True
            return False

    def _build(self) -> None:
        for step in self._builder.build(Layer.SUMMARY, cancel=self._cancel):
            self._count(step.made + step.failed)
        for session_id in self._facts_missing():
            for step in self._builder.build(Layer.FACTS, session_id, cancel=self._cancel):
                self._count(step.made + step.failed)

    def _facts_missing(self) -> list[int]:
        """The newest sessions without facts, as far as they are likely to be read."""
        return [scope.session_id for scope in self._builder.missing(Layer.FACTS)[:LIKELY]]

    def _count(self, entries: int) -> None:
        with self._changed:
            self._made += entries
