"""What the rest of the program may ask of a model.

Two protocols: :class:`ChatModel` writes text, :class:`Embedder` makes vectors. The real ones run
llama.cpp in a child process and fastembed; :mod:`localmem.models.scripted` and
:mod:`localmem.models.hashing` have twins that need no weights.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    text: str


class StopReason(StrEnum):
    """Why a model stopped writing."""

    END = "end"
    """It said that it was done."""
    LENGTH = "length"
    """``max_tokens`` were written."""
    CANCELLED = "cancelled"
    """The caller's cancel event was set."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of generated text; whole characters only."""

    text: str


@dataclass(frozen=True, slots=True)
class ThoughtDelta:
    """A piece of what a model thinks before it answers; whole characters only."""

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of a generation: its cost."""

    reason: StopReason
    tokens_read: int
    """Prompt tokens that were evaluated."""
    tokens_reused: int
    """Prompt tokens that were already in the model's state."""
    tokens_written: int
    """Those of its thinking included."""
    seconds_read: float
    """Until the first token was sampled."""
    seconds_written: float
    """From the first token to the end."""


Generated = TextDelta | ThoughtDelta | Finished
"""An event of a generation."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn, to measure how much an outcome owes to chance; the same seed draws the same."""

    temperature: float
    """Above 0."""
    seed: int


@runtime_checkable
class ChatModel(Protocol):
    """A model that continues a conversation, at temperature 0 unless told otherwise."""

    @property
    def name(self) -> str:
        """Catalogue name."""
        ...

    @property
    def fingerprint(self) -> str:
        """``sha256:...`` of the weights, for provenance."""
        ...

    @property
    def context(self) -> int:
        """Window in tokens, prompt and answer together."""
        ...

    def count(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens of ``messages`` rendered with the model's chat template."""
        ...

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
        """Yield thoughts, then text, as they are written, then one :class:`Finished`.

        The first ``fixed`` messages (rules, examples) are the same in many calls: their state is kept,
        across runs too, so it is never put there what a user said. ``grammar`` is GBNF with a rule
        ``root`` that the text will follow, as far as ``max_tokens`` let it; under one, and without
        ``sampling``, each token is the likeliest. ``think`` is how many tokens a model that thinks
        before it answers may think, beside ``max_tokens``; at 0 it is kept from it as far as it can be.

        ``cancel`` set from any thread ends the generation within a second, with
        ``StopReason.CANCELLED``. ``deadline`` is in seconds from now.

        Raises :class:`PromptTooLong` before any work when prompt, ``think`` and ``max_tokens`` exceed
        the window, :class:`ModelTimeout` when the deadline passed, :class:`ModelCrashed` when the
        host process died (the next call starts a new one), :class:`BadInput` for a grammar that
        does not compile.
        """
        ...

    def close(self) -> None:
        """Free the model. Closing twice is allowed."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """A model that maps text to L2-normalised vectors."""

    @property
    def name(self) -> str:
        """Catalogue name."""
        ...

    @property
    def fingerprint(self) -> str:
        """``sha256:...`` of the weights; vectors of two fingerprints are never mixed."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    def split(self, text: str) -> list[str]:
        """Cut ``text`` into parts that each fit the model's window; at least one part."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of ``texts``, shape (len(texts), dimension), rows of length 1."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Vector of a query, shape (dimension,), length 1."""
        ...

    def close(self) -> None:
        """Free the model. Closing twice is allowed."""
        ...
