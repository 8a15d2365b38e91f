"""A home whose models are scripted, and a memory over it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from localmem.home import Home
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.models.protocols import ChatMessage, ChatModel, Finished, Sampling, StopReason, TextDelta
from localmem.models.scripted import ScriptedModel
from localmem.roles.trust import TRUSTED, Trust


class PatientModel(ScriptedModel):
    """Writes ``before``, then waits until it is released or cancelled."""

    def __init__(self, before: str = "I am") -> None:
        super().__init__(name="patient")
        self.before = before
        self.waiting = threading.Event()
        self.release = threading.Event()
        self.cancelled = threading.Event()

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
    ) -> Iterator[TextDelta | Finished]:
        assert cancel is not None
        yield TextDelta(self.before)
        self.waiting.set()
        while not self.release.is_set() and not cancel.wait(0.01):
            pass
        if cancel.is_set():
            self.cancelled.set()
            yield Finished(StopReason.CANCELLED, 1, 0, 1, 0.0, 0.0)
            return
        yield TextDelta(" done.")
        yield Finished(StopReason.END, 1, 0, 2, 0.0, 0.0)


class ScriptedHome(Home):
    """A home whose answerer is given."""

    def __init__(self, path: Path, model: ChatModel, trust: Trust = TRUSTED) -> None:
        super().__init__(path)
        self.model = model
        self.trust = trust

    def embedder(self) -> HashEmbedder:
        return HashEmbedder()

    def answerer(self) -> tuple[ChatModel, Trust]:
        return self.model, self.trust


@pytest.fixture
def home(tmp_path: Path) -> ScriptedHome:
    return ScriptedHome(tmp_path / "home", ScriptedModel(lambda prompt: "Fine."))


@pytest.fixture
def kept(tmp_path: Path, home: ScriptedHome) -> Iterator[Memory]:
    """A memory whose home is ``home``."""
    with Memory(tmp_path / "memory.db", HashEmbedder(), home=home) as memory:
        yield memory


@pytest.fixture
def patient() -> Callable[..., PatientModel]:
    return PatientModel
