"""Empties the queues in the background, so that storing a message never waits for a model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

POLL_S = 0.2
"""How often a waiting caller is told how far it is."""


@dataclass(frozen=True, slots=True)
class Queue:
    """Work that waits in the file. Interrupted at any point, it goes on where it was."""

    pending: Callable[[], int]
    """How much waits."""
    work: Callable[[], int]
    """Does one batch and commits it; says how much that was, 0 when there was nothing to do."""


class Worker:
    """One thread that empties the queues, earlier ones first, whenever it is woken.

    A failure stops it and is raised by the next :meth:`check` or :meth:`wait`; what is queued stays queued.
    """

    def __init__(self, queues: Sequence[Queue]) -> None:
        self._queues = queues
        self._changed = threading.Condition()
        self._work = False
        self._busy = False
        self._held = 0
        self._closed = False
        self._failure: Exception | None = None
        self._thread: threading.Thread | None = None

    def pending(self) -> int:
        """How much waits in all queues."""
        return sum(queue.pending() for queue in self._queues)

    def wake(self) -> None:
        """There is something in a queue."""
        with self._changed:
            self._work = True
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="localmem-index", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def check(self) -> None:
        """Raise what stopped the worker, once; the next :meth:`wake` tries again."""
        with self._changed:
            failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def wait(self, progress: Callable[[int], None] = lambda pending: None) -> None:
        """Return when nothing waits; ``progress`` gets how much still does."""
        self.wake()
        while True:
            with self._changed:
                if not (self._work or self._busy) or self._failure or self._closed:
                    break
                self._changed.wait(POLL_S)
            progress(self.pending())
        self.check()
        progress(self.pending())

    @contextmanager
    def held(self) -> Iterator[None]:
        """Begin no batch inside: somebody stores much, and that comes first. May be nested."""
        with self._changed:
            self._held += 1
        try:
            yield
        finally:
            with self._changed:
                self._held -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Stop after the batch under way. Closing twice is allowed."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: (self._work and not self._held) or self._closed)
                if self._closed:
                    return
                self._work, self._busy = False, True
            try:
                while not self._closed and any(queue.work() for queue in self._queues):
                    if self._held:
                        self._work = True  # there may be more
                        break
            except Exception as error:  # noqa: BLE001 - whatever it is, check() raises it to the caller
                with self._changed:
                    self._failure, self._thread, self._busy = error, None, False
                    self._changed.notify_all()
                return
