"""Blocking work from an event loop: memory and models are synchronous, the servers are not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

THREADS = 4
"""Pieces of work at once. Models take one caller at a time anyway, and each thread has its own connection to
the memory file, which stays open."""


class _End:
    """The generator has ended."""


class _Failed:
    """The generator raised."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class Runner:
    """Runs blocking work in a few threads. :meth:`close` stops what can be stopped and waits for the rest."""

    def __init__(self, threads: int = THREADS) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="localmem-server")
        self._cancels: set[threading.Event] = set()

    async def call(self, work: Callable[[threading.Event], T]) -> T:
        """What ``work`` returns or raises. It gets an event that is set when nobody waits for it any more."""
        cancel = threading.Event()
        self._cancels.add(cancel)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work, cancel)
        finally:
            cancel.set()
            self._cancels.discard(cancel)

    async def stream(self, start: Callable[[threading.Event], Iterator[T]]) -> AsyncGenerator[T]:
        """Yield what a generator yields, and raise what it raises.

        It gets an event that is set when the reader stops early (cancelled, closed): a model stops writing
        then, and what it wrote is stored. The generator never waits for the reader.
        """
        loop = asyncio.get_running_loop()
        items: asyncio.Queue[T | _Failed | _End] = asyncio.Queue()
        cancel = threading.Event()

        def hand(item: T | _Failed | _End) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody reads, the work is done all the same
                loop.call_soon_threadsafe(items.put_nowait, item)

        def work() -> None:
            try:
                for item in start(cancel):
                    hand(item)
            except Exception as error:  # noqa: BLE001 - whatever it is, the reader gets it
                hand(_Failed(error))
            else:
                hand(_End())
            finally:
                self._cancels.discard(cancel)

        self._cancels.add(cancel)
        self._pool.submit(work)
        try:
            while not isinstance(item := await items.get(), _End):
                if isinstance(item, _Failed):
                    raise item.error
                yield item
        finally:
            cancel.set()

    def close(self) -> None:
        """Cancel what runs and wait until it has ended. Closing twice is allowed."""
        for cancel in list(self._cancels):
            cancel.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
