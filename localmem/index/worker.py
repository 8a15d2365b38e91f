"""Embeds in the background, so that storing a message never waits for a model."""

from __future__ import annotations

import threading
from collections.abc import Callable

from localmem.index.embedding import EmbeddingQueue

POLL_S = 0.2
"""How often a waiting caller is told how far it is."""


class EmbeddingWorker:
    """One thread that empties the queue whenever it is woken.

    A failure stops it and is raised by the next :meth:`check` or :meth:`wait`; the messages stay queued.
    """

    def __init__(self, queue: EmbeddingQueue) -> None:
        self._queue = queue
        self._changed = threading.Condition()
        self._work = False
        self._busy = False
        self._closed = False
        self._failure: Exception | None = None
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """There is something in the queue."""
        with self._changed:
            self._work = True
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="localmem-embedding", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def check(self) -> None:
        """Raise what stopped the worker, once; the next :meth:`wake` tries again."""
        with self._changed:
            failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def wait(self, progress: Callable[[int], None] = lambda pending: None) -> None:
        """Return when every message has its vector; ``progress`` gets how many still wait."""
        self.wake()
        while True:
            with self._changed:
                if not (self._work or self._busy) or self._failure or self._closed:
                    break
                self._changed.wait(POLL_S)
            progress(self._queue.pending())
        self.check()
        progress(self._queue.pending())

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
                self._changed.wait_for(lambda: self._work or self._closed)
                if self._closed:
                    return
                self._work, self._busy = False, True
            try:
                while not self._closed and self._queue.embed_next():
                    pass
            except Exception as error:  # noqa: BLE001 - whatever it is, check() raises it to the caller
                with self._changed:
                    self._failure, self._thread, self._busy = error, None, False
                    self._changed.notify_all()
                return
