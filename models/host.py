"""The child process that holds a model: ``python -P -m localmem.models.host MODEL CONTEXT``.

JSON lines on stdin and stdout. The parent sends::

    {"id": 1, "op": "generate", "messages": [["user", "Hello"]], "max_tokens": 100}
    {"id": 2, "op": "count", "messages": [["user", "Hello"]]}
    {"id": 1, "op": "cancel"}

and gets ``{"event": "ready", "context": 8192}`` or ``{"event": "failed", ...}`` once, then, each
with the request's id, events ``text``, ``done``, ``counted`` or ``error``. Generations run one after
another; counts are answered at once. The process ends when its stdin does, so it cannot
outlive its parent.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol

from localmem.models.errors import LocalmemError
from localmem.models.protocols import ChatMessage, Finished, TextDelta


class Engine(Protocol):
    """What the host serves; see :class:`localmem.models.engine.LlamaEngine`."""

    @property
    def context(self) -> int: ...  # noqa: D102

    def count(self, messages: list[ChatMessage]) -> int: ...  # noqa: D102

    def stop(self) -> None: ...  # noqa: D102

    def generate(  # noqa: D102
        self, messages: list[ChatMessage], max_tokens: int, stopped: Callable[[], bool]
    ) -> Iterator[TextDelta | Finished]: ...


class _Host:
    """Generates on a thread of its own, so that a cancel is read during a generation."""

    def __init__(self, engine: Engine, requests: IO[bytes], events: IO[bytes]) -> None:
        self._engine = engine
        self._requests = requests
        self._events = events
        self._write_lock = threading.Lock()
        self._waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._state = threading.Lock()
        self._cancelled: set[int] = set()
        self._running: int | None = None

    def run(self) -> None:
        self.send(event="ready", context=self._engine.context)
        threading.Thread(target=self._generate_all, daemon=True).start()
        self._read()

    def send(self, **event: Any) -> None:
        with self._write_lock:
            self._events.write(json.dumps(event).encode() + b"\n")
            self._events.flush()

    def _read(self) -> None:
        for line in self._requests:
            request = json.loads(line)
            if request["op"] == "generate":
                self._waiting.put(request)
            elif request["op"] == "cancel":
                self._cancel(request["id"])
            else:
                self._answer(request["id"], partial(self._count, request))
        os._exit(0)  # the parent is gone; the other thread may be deep in native code

    def _generate_all(self) -> None:
        while True:
            self._generate(self._waiting.get())

    def _cancel(self, request: int) -> None:
        with self._state:
            self._cancelled.add(request)
            if request == self._running:
                self._engine.stop()

    def _count(self, request: dict[str, Any]) -> None:
        tokens = self._engine.count(_messages(request))
        self.send(id=request["id"], event="counted", tokens=tokens)

    def _generate(self, request: dict[str, Any]) -> None:
        number: int = request["id"]
        with self._state:
            self._running = number

        def stopped() -> bool:
            return number in self._cancelled

        def work() -> None:
            for event in self._engine.generate(_messages(request), request["max_tokens"], stopped):
                if isinstance(event, TextDelta):
                    self.send(id=number, event="text", text=event.text)
                else:
                    self.send(id=number, event="done", **asdict(event))

        self._answer(number, work)
        with self._state:
            self._running = None
            self._cancelled = {n for n in self._cancelled if n > number}

    def _answer(self, request: int, work: Callable[[], None]) -> None:
        """Do ``work``; an error on purpose goes to the parent, any other ends the process."""
        try:
            work()
        except LocalmemError as error:
            self.send(id=request, event="error", error=type(error).__name__, message=str(error))


def _messages(request: dict[str, Any]) -> list[ChatMessage]:
    return [ChatMessage(role, text) for role, text in request["messages"]]


def take_stdout() -> IO[bytes]:
    """The protocol's end of stdout; from now on what native code prints goes to stderr."""
    protocol = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(protocol, "wb")


def serve(open_engine: Callable[[], Engine]) -> None:
    """Serve an engine on this process's stdin and stdout until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.excepthook = _die
    events = take_stdout()
    try:
        engine = open_engine()
    except LocalmemError as error:
        failure = {"event": "failed", "error": type(error).__name__, "message": str(error)}
        events.write(json.dumps(failure).encode() + b"\n")
        events.flush()
        return
    _Host(engine, sys.stdin.buffer, events).run()


def _die(failure: threading.ExceptHookArgs) -> None:
    """End the process when generating fails: a host that no longer works is worse than none."""
    threading.__excepthook__(failure)
    os._exit(1)


def main() -> None:
    """Serve the GGUF file and context named on the command line."""
    path, context = Path(sys.argv[1]), int(sys.argv[2])

    def open_engine() -> Engine:
        from localmem.models.engine import LlamaEngine  # native code: after stdout is out of its way

        return LlamaEngine(path, context)

    serve(open_engine)


if __name__ == "__main__":
    main()
