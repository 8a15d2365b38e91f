"""A host process as its parent sees it: pipes, threads, and how it died."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from localmem.models import errors
from localmem.models.errors import LocalmemError, ModelError

Event = dict[str, Any]

_TAIL = 40  # lines of the child's stderr that are kept
_SHOWN = 3  # of them that go into an error text
_DRAIN = 1.0  # seconds to read what a dead child had still written to stderr


class ChildDied(Exception):
    """The process is gone; the text says how it ended."""


class Inbox:
    """Where the events of one request arrive."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        """None: no more will come, the process has ended."""


class Child:
    """A running host process. Events are read on a thread and sorted by request."""

    def __init__(self, command: Sequence[str]) -> None:
        # libgomp's threads spin while they wait: with the other processor busy that
        # costs a factor of forty. Must be in the environment before the library is loaded.
        environment = {"GOMP_SPINCOUNT": "1000"} | os.environ
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        self._lock = threading.Lock()
        self._inboxes: dict[int, Inbox] = {}
        self._numbers = 0
        self._ended = False
        self._closed = False
        self._ready = threading.Event()
        self._hello: Event | None = None
        self._stderr: deque[str] = deque(maxlen=_TAIL)
        self._threads = [
            threading.Thread(target=self._read_events, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
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

    def ready(self, timeout: float) -> bool:
        """Wait for the model to be loaded; raises :class:`ChildDied` and what loading raised."""
        if not self._ready.wait(timeout):
            return False
        if self._hello is None:
            raise ChildDied(self._how_it_ended())
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
            raise ChildDied(self._how_it_ended())
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
        for thread in self._threads:
            thread.join()
        with self._lock, contextlib.suppress(BrokenPipeError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()

    def _send(self, **request: Any) -> None:
        line = json.dumps(request).encode() + b"\n"
        assert self._process.stdin is not None
        # A broken or closed pipe: the reading thread reports the end of the process.
        with self._lock, contextlib.suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def _read_events(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if not line.endswith(b"\n"):
                break  # it died in the middle of a line
            event: Event = json.loads(line)
            if "id" not in event:
                self._hello = event
                self._ready.set()
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

    def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._stderr.append(line.decode("utf-8", "replace").rstrip())

    def _how_it_ended(self) -> str:
        if self._closed:
            return "was closed while it was in use"
        self._threads[1].join(_DRAIN)
        code = self._process.wait()
        if code >= 0:
            how = f"ended with exit code {code}"
        else:
            how = f"was killed by {_signal_name(-code)}"
            if -code == signal.SIGKILL:  # sent from outside, so its last words say nothing
                return f"{how} (often: not enough memory)."
        last = "\n".join(line for line in list(self._stderr)[-_SHOWN:] if line)
        return f"{how}. Its last words:\n{last}\n" if last else f"{how}."


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
