"""The parent's side of a hosted model: llama.cpp in a child process that may crash or hang.

Native inference is killed for memory, dies on unfit builds and cannot be interrupted from within.
In a child (:mod:`localmem.models.host`) that costs the caller one typed error, not the program.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from localmem.models.child import Child, ChildDied, Event, Inbox
from localmem.models.errors import BadInput, LocalmemError, ModelCrashed, ModelTimeout
from localmem.models.protocols import ChatMessage, Finished, StopReason, TextDelta

_POLL = 0.05  # seconds between two looks at a caller's cancel event and deadline
_GRACE = 0.7  # seconds a cancelled child has to answer before it is killed: all within one second
_NOTHING = Finished(StopReason.CANCELLED, 0, 0, 0, 0.0, 0.0)
HOST = (sys.executable, "-P", "-m", "localmem.models.host")


class _Cancelled(Exception):
    """The caller's cancel event is set."""


class _Limits:
    """A call's cancel event and deadline."""

    def __init__(self, name: str, cancel: threading.Event | None, deadline: float | None) -> None:
        self._name = name
        self._cancel = cancel
        self._deadline = deadline
        self._started = time.monotonic()

    def check(self) -> None:
        """Raise :class:`_Cancelled` or :class:`ModelTimeout` when it is time to stop."""
        if self._cancel is not None and self._cancel.is_set():
            raise _Cancelled
        if self._deadline is not None and time.monotonic() - self._started > self._deadline:
            raise ModelTimeout(f"{self._name} did not finish within {self._deadline:g} seconds.")


class HostedModel:
    """A :class:`~localmem.models.protocols.ChatModel` in a child process, started at the first use.

    Calls from several threads take turns; ``count`` does not wait for them. A child that died is
    started again by the next call, once: if that one dies too before it finished a call, further
    calls are refused until :meth:`close`.
    """

    def __init__(
        self, path: Path, *, name: str, sha256: str, context: int, command: Sequence[str] = HOST
    ) -> None:
        self._command = [*command, str(path), str(context)]
        self._name = name
        self._sha256 = sha256
        self._turn = threading.Lock()
        self._turn_of: int | None = None  # thread that holds it
        self._starting = threading.Lock()
        self._child: Child | None = None
        self._crashes = 0  # in a row, without a finished call between them
        atexit.register(self.close)

    @property
    def name(self) -> str:
        """Catalogue name, or the stem of a local file."""
        return self._name

    @property
    def fingerprint(self) -> str:
        """``sha256:...`` of the GGUF file."""
        return f"sha256:{self._sha256}"

    @property
    def context(self) -> int:
        """Window in tokens. Starts the child: a model may have less than was asked for."""
        return self._running(_Limits(self._name, None, None)).context

    @property
    def pid(self) -> int | None:
        """Process id of the child; None when there is none."""
        child = self._child
        return None if child is None else child.pid

    def count(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens of ``messages`` rendered with the model's chat template."""
        child = self._running(_Limits(self._name, None, None))
        inbox = child.request("count", messages=_wire(messages))
        try:
            event = None
            while event is None:
                event = self._receive(child, inbox)
        finally:
            child.forget(inbox)
        tokens: int = event["tokens"]
        return tokens

    def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        max_tokens: int,
        cancel: threading.Event | None = None,
        deadline: float | None = None,
    ) -> Iterator[TextDelta | Finished]:
        """Generate; see :meth:`localmem.models.protocols.ChatModel.stream`.

        A stream that is closed early stops the model. The first use raises also what loading
        raises: :class:`~localmem.models.errors.ModelFileBad`.
        """
        if max_tokens < 1:
            raise BadInput(f"max_tokens must be at least 1, not {max_tokens}.")
        limits = _Limits(self._name, cancel, deadline)
        try:
            self._take_turn(limits)
            try:
                child = self._running(limits)
                inbox = child.request("generate", messages=_wire(messages), max_tokens=max_tokens)
                try:
                    yield from self._events(child, inbox, limits)
                finally:
                    child.forget(inbox)
            finally:
                self._turn_of = None
                self._turn.release()
        except _Cancelled:
            yield _NOTHING

    def close(self) -> None:
        """End the child and wait until it is gone. Closing twice is allowed."""
        atexit.unregister(self.close)
        self._crashes = 0
        self._drop()

    def _events(self, child: Child, inbox: Inbox, limits: _Limits) -> Iterator[TextDelta | Finished]:
        over = False
        try:
            while not over:
                limits.check()
                try:
                    event = self._receive(child, inbox)
                except LocalmemError:
                    over = True  # the host is done with the request, or dead
                    raise
                if event is None:
                    continue
                if event["event"] == "text":
                    yield TextDelta(event["text"])
                else:
                    over = True
                    self._crashes = 0
                    yield _finished(event)
        except _Cancelled:
            over = True
            yield self._halt(child, inbox)
        finally:
            if not over:  # the deadline, or the caller closed this generator
                self._halt(child, inbox)

    def _halt(self, child: Child, inbox: Inbox) -> Finished:
        """Stop a generation for good within ``_GRACE``, by killing the child if need be."""
        child.cancel(inbox)
        end = time.monotonic() + _GRACE
        while (left := end - time.monotonic()) > 0:
            try:
                event = child.receive(inbox, left)
            except (ChildDied, LocalmemError):
                return _NOTHING
            if event is not None and event["event"] == "done":
                # Whatever it says: text that was still under way is not delivered.
                return replace(_finished(event), reason=StopReason.CANCELLED)
        self._drop(child)
        return _NOTHING

    def _take_turn(self, limits: _Limits) -> None:
        if self._turn_of == threading.get_ident():
            raise RuntimeError("finish or close the earlier stream of this model first")
        while not self._turn.acquire(timeout=_POLL):
            limits.check()
        self._turn_of = threading.get_ident()

    def _running(self, limits: _Limits) -> Child:
        """The child, started and loaded if need be."""
        with self._starting:
            if self._child is None:
                if self._crashes > 1:
                    raise ModelCrashed(
                        f"{self._name} crashed and crashed again when it was restarted. "
                        f"Find out why with: localmem doctor"
                    )
                self._child = Child(self._command)
            child = self._child
        try:
            while not child.ready(_POLL):
                limits.check()
        except ChildDied as death:
            raise self._crashed(child, death) from None
        except LocalmemError:
            self._drop(child)
            raise
        return child

    def _receive(self, child: Child, inbox: Inbox) -> Event | None:
        try:
            return child.receive(inbox, _POLL)
        except ChildDied as death:
            raise self._crashed(child, death) from None

    def _crashed(self, child: Child, death: ChildDied) -> ModelCrashed:
        if self._drop(child):
            self._crashes += 1
        advice = (
            "The next call starts it again."
            if self._crashes < 2
            else "It had been restarted once already. Find out why with: localmem doctor"
        )
        return ModelCrashed(f"The process of {self._name} {death} {advice}")

    def _drop(self, child: Child | None = None) -> bool:
        """Close the child, if it is still ``child`` (None: whichever); return whether it was."""
        with self._starting:
            current = self._child
            if current is None or (child is not None and current is not child):
                return False
            self._child = None
        current.close()
        return True


def _wire(messages: Sequence[ChatMessage]) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in messages]


def _finished(event: Event) -> Finished:
    return Finished(
        StopReason(event["reason"]),
        event["tokens_read"],
        event["tokens_reused"],
        event["tokens_written"],
        event["seconds_read"],
        event["seconds_written"],
    )
