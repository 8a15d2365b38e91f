"""A host process as its parent sees it: pipes, threads, and how it died."""

from __future__ import annotations

import contextlib
import json
import queue
import re
import signal
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from localmem.models import errors
from localmem.models.errors import LocalmemError, ModelError
from localmem.models.network import Attempt, report
from localmem.models.spawn import start

Event = dict[str, Any]

_TAIL = 40  # lines of the child's stderr that are kept
_SHOWN = 3  # of them that go into an error text
_DRAIN = 1.0  # seconds to read what a dead child had still written to stderr
# What C++, ggml, OpenBLAS, the dynamic loader and Python say when they are refused memory. The
# loader says the same, with a reason, where a file system forbids to execute.
_NO_MEMORY = re.compile(
    r"bad_alloc|MemoryError|(failed|unable) to allocate|(cannot|can't) allocate|insufficient memory"
    r"|memory allocation .*failed|out of memory|failed to map segment(?!.*not permitted)",
    re.IGNORECASE,
)


class ChildDied(Exception):
    """The process is gone; the text says how it ended."""


class ChildStarved(ChildDied):
    """The process is gone because it was refused memory; the text is what it said about it."""


class Inbox:
    """Where the events of one request arrive."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        """None: no more will come, the process has ended."""


class Child:
    """A running host process. Events are read on a thread and sorted by request.

    Requests are written on a thread too: a process that has stopped reading must not hold up
    who talks to it.
    """

    def __init__(self, command: Sequence[str], nice: int = 0) -> None:
        self._process = start(command, nice)
        self._lock = threading.RLock()  # a generator may be finalised, and end its request, anywhere
        self._inboxes: dict[int, Inbox] = {}
        self._numbers = 0
        self._ended = False
        self._closed = False
        self._ready = threading.Event()
        self._hello: Event | None = None
        self._beat = False
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stderr: deque[str] = deque(maxlen=_TAIL)
        self._threads = [
            threading.Thread(target=self._read_events, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
            threading.Thread(target=self._write_requests, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def context(self) -> int:
        """The model's window in tokens, once :meth:`ready` was true."""
        assert self._hello is not None
        context: int = self._hello["context"]
        return context

    def got_on(self) -> bool:
        """Whether loading got on since this was asked the last time."""
        beat, self._beat = self._beat, False
        return beat

    def ready(self, timeout: float) -> bool:
        """Wait for the model to be loaded; raises :class:`ChildDied` and what loading raised."""
        if not self._ready.wait(timeout):
            return False
        if self._hello is None:
            raise self._death()
        if self._hello["event"] == "failed":
            raise error_of(self._hello)
        return True

    def request(self, op: str, **arguments: Any) -> Inbox:
        """Send a request. To a dead process too: :meth:`receive` says so."""
        with self._lock:
            self._numbers += 1
            inbox = Inbox(self._numbers)
            self._inboxes[inbox.number] = inbox
            if self._ended:
                inbox.events.put(None)
        self._send(id=inbox.number, op=op, **arguments)
        return inbox

    def cancel(self, inbox: Inbox) -> None:
        """Ask the process to stop a generation; its ``done`` follows."""
        self._send(id=inbox.number, op="cancel")

    def receive(self, inbox: Inbox, timeout: float) -> Event | None:
        """Take the request's next event, None if none came in time.

        Raises :class:`ChildDied`, and what the host reports as an error.
        """
        try:
            event = inbox.events.get(timeout=timeout)
        except queue.Empty:
            return None
        if event is None:
            raise self._death()
        if event["event"] == "error":
            raise error_of(event)
        return event

    def forget(self, inbox: Inbox) -> None:
        """Drop the request's later events."""
        with self._lock:
            self._inboxes.pop(inbox.number, None)

    def close(self) -> None:
        """End the process and wait until it is gone. Closing twice is allowed."""
        self._closed = True
        self._process.kill()  # it has nothing to save
        self._process.wait()
        self._outbox.put(None)
        for thread in self._threads:
            thread.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            with contextlib.suppress(OSError):  # a request that it had not read is still in the buffer
                pipe.close()

    def _send(self, **request: Any) -> None:
        self._outbox.put(json.dumps(request).encode() + b"\n")

    def _write_requests(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it is gone: the reading thread reports that
            while (line := self._outbox.get()) is not None:
                self._process.stdin.write(line)
                self._process.stdin.flush()

    def _read_events(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if not line.endswith(b"\n"):
                break  # it died in the middle of a line
            event: Event = json.loads(line)
            if "id" not in event:
                self._take(event)
                continue
            with self._lock:
                inbox = self._inboxes.get(event["id"])
            if inbox is not None:
                inbox.events.put(event)
        self._process.wait()
        with self._lock:
            self._ended = True
            for inbox in self._inboxes.values():
                inbox.events.put(None)
        self._ready.set()

    def _take(self, event: Event) -> None:
        """Take what belongs to no request."""
        match event.pop("event"):
            case "alive":
                self._beat = True
            case "network":
                report(Attempt(**event))
            case told:
                self._hello = {"event": told, **event}
                self._ready.set()

    def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._stderr.append(line.decode("utf-8", "replace").rstrip())

    def _death(self) -> ChildDied:
        if self._closed:
            return ChildDied("was closed while it was in use.")
        self._threads[1].join(_DRAIN)
        code = self._process.wait()
        if code >= 0:
            how = f"ended with exit code {code}"
        else:
            how = f"was killed by {_signal_name(-code)}"
            if -code == signal.SIGKILL:  # sent from outside, so its last words say nothing
                return ChildDied(f"{how} (often: not enough memory).")
        words = [line for line in self._stderr if line]
        for line in reversed(words):
            if _NO_MEMORY.search(line):
                return ChildStarved(line)
        last = "\n".join(words[-_SHOWN:])
        return ChildDied(f"{how}. Its last words:\n{last}\n" if last else f"{how}.")


def error_of(event: Event) -> LocalmemError:
    """The typed error that a host's ``error`` or ``failed`` event stands for."""
    kind = getattr(errors, event["error"], ModelError)
    error: LocalmemError = kind(event["message"])
    return error


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
