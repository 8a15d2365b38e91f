"""The child process that holds a model: ``python -P -m localmem.models.host MODEL CONTEXT STATES``.

STATES is a folder for the states of fixed prefixes, or empty for none. JSON lines on stdin and
stdout. The parent sends::

    {"id": 1, "op": "generate", "messages": [["user", "Hello"]], "max_tokens": 100, "fixed": 0,
     "grammar": null, "sampling": null, "think": 0}
    {"id": 2, "op": "count", "messages": [["user", "Hello"]]}
    {"id": 1, "op": "cancel"}

and gets ``{"event": "ready", "context": 8192}`` or ``{"event": "failed", ...}`` once, then, each
with the request's id, events ``thought``, ``text``, ``done``, ``counted`` or ``error``. Once a
second, while it loads (without an id) and generates, ``alive`` tells that native code got on since
the last one: a process that is stuck sends none. ``network`` (without an id) tells what the offline
guard refused. Generations run one after another; counts are answered at once. The process ends when its
stdin does, so it cannot outlive its parent.
"""

from __future__ import annotations

import errno
import json
import os
import queue
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol

from localmem.models.errors import LocalmemError, ModelOutOfMemory
from localmem.models.network import Attempt, offline
from localmem.models.protocols import ChatMessage, Finished, Generated, Sampling, TextDelta, ThoughtDelta

_ALIVE_EVERY = 1.0  # seconds
_REST = 0.1  # seconds without a request after which the engine may tidy up
# What the loader of shared libraries and Python say when they get no memory, in exceptions of any
# type. The loader says the same, with a reason, where a file system forbids to execute.
_NO_MEMORY = re.compile(
    "failed to map segment(?!.*not permitted)|cannot allocate|can't start new thread", re.IGNORECASE
)

_NAMES = {ThoughtDelta: "thought", TextDelta: "text", Finished: "done"}


class Engine(Protocol):
    """What the host serves; see :class:`localmem.models.engine.LlamaEngine`."""

    @property
    def context(self) -> int: ...  # noqa: D102

    def count(self, messages: list[ChatMessage]) -> int: ...  # noqa: D102

    def stop(self) -> None: ...  # noqa: D102

    def rest(self) -> None: ...  # noqa: D102

    def generate(  # noqa: D102
        self,
        messages: list[ChatMessage],
        max_tokens: int,
        fixed: int,
        grammar: str | None,
        sampling: Sampling | None,
        think: int,
        stopped: Callable[[], bool],
    ) -> Iterator[Generated]: ...


OpenEngine = Callable[[Callable[[], None]], Engine]
"""Loads a model. It is given a function that the engine calls whenever its work got on: often."""


class _Events:
    """The events' way to the parent; from any thread."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, **event: Any) -> None:
        with self._lock:
            self._stream.write(json.dumps(event).encode() + b"\n")
            self._stream.flush()


class _Pulse:
    """Turns the engine's beats into ``alive`` events, at most one a second."""

    def __init__(self, events: _Events) -> None:
        self._events = events
        self._beats = 0
        self.request: dict[str, int] | None = {}
        """``id`` of the request that is worked on; none while loading; None while there is nothing to do."""
        threading.Thread(target=self._run, daemon=True).start()

    def beat(self) -> None:
        self._beats += 1

    def _run(self) -> None:
        seen = 0
        while True:
            time.sleep(_ALIVE_EVERY)
            request = self.request
            if request is not None and self._beats != seen:
                self._events.send(event="alive", **request)
            seen = self._beats


class _Host:
    """Generates on a thread of its own, so that a cancel is read during a generation."""

    def __init__(self, engine: Engine, requests: IO[bytes], events: _Events, pulse: _Pulse) -> None:
        self._engine = engine
        self._requests = requests
        self._send = events.send
        self._pulse = pulse
        self._waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._state = threading.Lock()
        self._cancelled: set[int] = set()
        self._running: int | None = None

    def run(self) -> None:
        self._pulse.request = None
        self._send(event="ready", context=self._engine.context)
        threading.Thread(target=self._generate_all, daemon=True).start()
        self._read()

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
        request = self._waiting.get()
        while True:
            self._generate(request)
            try:
                request = self._waiting.get(timeout=_REST)
            except queue.Empty:
                self._engine.rest()
                request = self._waiting.get()

    def _cancel(self, request: int) -> None:
        with self._state:
            self._cancelled.add(request)
            if request == self._running:
                self._engine.stop()

    def _count(self, request: dict[str, Any]) -> None:
        tokens = self._engine.count(_messages(request))
        self._send(id=request["id"], event="counted", tokens=tokens)

    def _generate(self, request: dict[str, Any]) -> None:
        number: int = request["id"]
        with self._state:
            self._running = number
        self._pulse.request = {"id": number}

        def stopped() -> bool:
            return number in self._cancelled

        def work() -> None:
            for event in self._engine.generate(
                _messages(request),
                request["max_tokens"],
                request["fixed"],
                request["grammar"],
                request["sampling"] and Sampling(*request["sampling"]),
                request["think"],
                stopped,
            ):
                self._send(id=number, event=_NAMES[type(event)], **asdict(event))

        self._answer(number, work)
        self._pulse.request = None
        with self._state:
            self._running = None
            self._cancelled = {n for n in self._cancelled if n > number}

    def _answer(self, request: int, work: Callable[[], None]) -> None:
        """Do ``work``; what went wrong as it may goes to the parent, a bug ends the process."""
        try:
            work()
        except (LocalmemError, MemoryError) as error:
            self._send(id=request, event="error", **_described(error))


def _messages(request: dict[str, Any]) -> list[ChatMessage]:
    return [ChatMessage(role, text) for role, text in request["messages"]]


def _described(error: Exception) -> dict[str, str]:
    """The fields of a ``failed`` or ``error`` event."""
    if isinstance(error, LocalmemError):
        return {"error": type(error).__name__, "message": str(error)}
    message = f"There is not enough free memory for the model ({error or type(error).__name__})."
    return {"error": ModelOutOfMemory.__name__, "message": message}


def _is_lack_of_memory(error: Exception) -> bool:
    """Whether loading failed for want of memory: libraries that cannot be mapped say so in words only."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    return _NO_MEMORY.search(str(error)) is not None


def take_stdout() -> IO[bytes]:
    """The protocol's end of stdout; from now on what native code prints goes to stderr."""
    protocol = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(protocol, "wb")


def serve(open_engine: OpenEngine) -> None:
    """Serve an engine on this process's stdin and stdout until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.excepthook = _die
    events = _Events(take_stdout())

    def refused(attempt: Attempt) -> None:
        events.send(event="network", **asdict(attempt))

    with offline(refused):
        try:
            pulse = _Pulse(events)
            engine = open_engine(pulse.beat)
        except (LocalmemError, MemoryError, ImportError, OSError, RuntimeError) as error:
            if not isinstance(error, LocalmemError) and not _is_lack_of_memory(error):
                raise
            events.send(event="failed", **_described(error))
            return
        _Host(engine, sys.stdin.buffer, events, pulse).run()


def _die(failure: threading.ExceptHookArgs) -> None:
    """End the process when generating fails: a host that no longer works is worse than none."""
    threading.__excepthook__(failure)
    os._exit(1)


def main() -> None:
    """Serve the GGUF file, context and folder of states named on the command line."""
    path, context, states = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    # At a failed assertion ggml would start a debugger on this process, for seconds and pages of text.
    os.environ["GGML_NO_BACKTRACE"] = "1"

    def open_engine(beat: Callable[[], None]) -> Engine:
        from localmem.models.engine import LlamaEngine  # native code: after stdout is out of its way

        return LlamaEngine(path, context, states=Path(states) if states else None, beat=beat)

    serve(open_engine)


if __name__ == "__main__":
    main()
