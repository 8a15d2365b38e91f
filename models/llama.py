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
from dataclasses import astuple, replace
from pathlib import Path

from localmem.models.child import Child, ChildDied, ChildStarved, Event, Inbox
from localmem.models.errors import BadInput, LocalmemError, ModelCrashed, ModelOutOfMemory, ModelStalled
from localmem.models.idle import IdleTimer
from localmem.models.limits import Cancelled, Limits, Silence
from localmem.models.protocols import (
    ChatMessage,
    Finished,
    Generated,
    Sampling,
    StopReason,
    TextDelta,
    ThoughtDelta,
)
from localmem.models.turns import Turns

_POLL = 0.05  # seconds between two looks at a caller's cancel event and deadline
_GRACE = 0.7  # seconds a cancelled child has to answer before it is killed: all within one second
_NOTHING = Finished(StopReason.CANCELLED, 0, 0, 0, 0.0, 0.0)
HOST = (sys.executable, "-P", "-m", "localmem.models.host")


class HostedModel:
    """A :class:`~localmem.models.protocols.ChatModel` in a child process, started at the first use.

    Calls from several threads are served in the order in which they came; ``count`` does not wait
    for them. A child that died, or that was killed because it did nothing any more, is started
    again by the next call, once: if that one dies too before it finished a call, further calls
    are refused until :meth:`close`. A child that nobody uses is closed; the next call starts it.

    ``states``: folder where the states of fixed prefixes are kept across runs; None: nowhere.
    ``ram``: bytes that the model needs, for error texts. ``nice``: niceness of the child, for work
    that should not be felt. ``stall`` and ``load_stall``: seconds without a sign of life from the
    child, with a request and while it loads. ``idle``: seconds without a call before it is closed.
    """

    def __init__(
        self,
        path: Path,
        *,
        name: str,
        sha256: str,
        context: int,
        states: Path | None = None,
        ram: int | None = None,
        nice: int = 0,
        stall: float = 20.0,
        load_stall: float = 120.0,
        idle: float = 300.0,
        command: Sequence[str] = HOST,
    ) -> None:
        self._command = [*command, str(path), str(context), "" if states is None else str(states)]
        self._name = name
        self._sha256 = sha256
        self._ram = ram
        self._nice = nice
        self._stall = stall
        self._load_stall = load_stall
        self._turns = Turns()
        self._idle = IdleTimer(idle, self._drop, lambda: self._child is not None)
        self._starting = threading.RLock()  # a generator may be finalised, and drop its child, anywhere
        self._child: Child | None = None
        self._loading = Silence(load_stall)
        self._crashes = 0  # in a row, without a finished call between them

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
        with self._idle.busy():
            return self._running(Limits(self._name)).context

    @property
    def pid(self) -> int | None:
        """Process id of the child; None when there is none."""
        child = self._child
        return None if child is None else child.pid

    def count(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens of ``messages`` rendered with the model's chat template."""
        with self._idle.busy():
            child = self._running(Limits(self._name))
            inbox = child.request("count", messages=_wire(messages))
            silence = Silence(self._stall)
            try:
                while (event := self._receive(child, inbox, silence)) is None:
                    pass
            finally:
                child.forget(inbox)
        tokens: int = event["tokens"]
        return tokens

    def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        max_tokens: int,
        fixed: int = 0,
        grammar: str | None = None,
        sampling: Sampling | None = None,
        think: int = 0,
        cancel: threading.Event | None = None,
        deadline: float | None = None,
    ) -> Iterator[Generated]:
        """Generate; see :meth:`localmem.models.protocols.ChatModel.stream`.

        A stream that is closed early stops the model. The first use raises also what loading
        raises: :class:`~localmem.models.errors.ModelFileBad`.
        """
        if max_tokens < 1:
            raise BadInput(f"max_tokens must be at least 1, not {max_tokens}.")
        limits = Limits(self._name, cancel, deadline)
        try:
            with self._idle.busy(), self._turns.turn(limits.check, _POLL):
                child = self._running(limits)
                inbox = child.request(
                    "generate",
                    messages=_wire(messages),
                    max_tokens=max_tokens,
                    fixed=fixed,
                    grammar=grammar,
                    sampling=sampling and astuple(sampling),
                    think=think,
                )
                try:
                    yield from self._events(child, inbox, limits)
                finally:
                    child.forget(inbox)
        except Cancelled:
            yield _NOTHING

    def close(self) -> None:
        """End the child and wait until it is gone. Closing twice is allowed."""
        atexit.unregister(self.close)
        self._crashes = 0
        self._drop()
        self._idle.close()

    def _events(self, child: Child, inbox: Inbox, limits: Limits) -> Iterator[Generated]:
        over = False
        silence = Silence(self._stall)
        try:
            while not over:
                limits.check()
                try:
                    event = self._receive(child, inbox, silence)
                except LocalmemError:
                    over = True  # the host is done with the request, or dead
                    raise
                if event is None or event["event"] == "alive":
                    continue
                if event["event"] == "text":
                    yield TextDelta(event["text"])
                elif event["event"] == "thought":
                    yield ThoughtDelta(event["text"])
                else:
                    over = True
                    self._crashes = 0
                    yield _finished(event)
        except Cancelled:
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

    def _running(self, limits: Limits) -> Child:
        """The child, started and loaded if need be.

        Who stops waiting leaves it loading: a deadline that is shorter than that would otherwise
        never be kept, however often the call is tried.
        """
        child, silence = self._started()
        while not self._ready(child):
            limits.check()
            if silence.lasted(child.got_on()):
                raise self._stalled(child, silence)
        return child

    def _started(self) -> tuple[Child, Silence]:
        with self._starting:
            if self._child is None:
                if self._crashes > 1:
                    raise ModelCrashed(
                        f"{self._name} crashed and crashed again when it was restarted. "
                        f"Find out why with: localmem doctor"
                    )
                self._child = Child(self._command, self._nice)
                self._loading = Silence(self._load_stall)  # one for all who wait
                atexit.register(self.close)
            return self._child, self._loading

    def _ready(self, child: Child) -> bool:
        try:
            return child.ready(_POLL)
        except ChildDied as death:
            raise self._crashed(child, death) from None
        except LocalmemError as error:
            self._drop(child)
            raise self._reported(error) from None

    def _receive(self, child: Child, inbox: Inbox, silence: Silence) -> Event | None:
        try:
            event = child.receive(inbox, _POLL)
        except ChildDied as death:
            raise self._crashed(child, death) from None
        except LocalmemError as error:
            raise self._reported(error) from None
        if silence.lasted(event is not None):
            raise self._stalled(child, silence)
        return event

    def _stalled(self, child: Child, silence: Silence) -> ModelStalled:
        advice = self._advice_after_crash(child)
        return ModelStalled(
            f"{self._name} did nothing for {silence.limit:g} seconds and was stopped. {advice}"
        )

    def _crashed(self, child: Child, death: ChildDied) -> ModelCrashed:
        advice = self._advice_after_crash(child)
        if isinstance(death, ChildStarved):
            return self._starved(f"{self._name} was refused memory ({str(death).rstrip('.')}).")
        return ModelCrashed(f"The process of {self._name} {death} {advice}")

    def _reported(self, error: LocalmemError) -> LocalmemError:
        return self._starved(str(error)) if isinstance(error, ModelOutOfMemory) else error

    def _starved(self, what: str) -> ModelOutOfMemory:
        need = "" if self._ram is None else f" {self._name} needs about {self._ram / 1e6:.0f} MB."
        return ModelOutOfMemory(
            f"{what}{need} Close other programs, or use a smaller model: localmem models list --advise"
        )

    def _advice_after_crash(self, child: Child) -> str:
        """Drop a child that is dead or useless, and say what comes next."""
        if self._drop(child):
            self._crashes += 1
        if self._crashes < 2:
            return "The next call starts it again."
        return "It had been restarted once already. Find out why with: localmem doctor"

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
