"""Which state a model goes on from, so that no token is read twice that need not be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from localmem.models.states import WORTH, SavedStates, State, shared_length

_QUICK = 64 * 2**20  # bytes


class Window(Protocol):
    """The tokens that a model holds; see :class:`localmem.models.native.NativeModel`."""

    held: list[int]
    can_be_cut: bool

    def cut(self, length: int) -> bool: ...  # noqa: D102

    def clear(self) -> None: ...  # noqa: D102

    def state_size(self) -> int: ...  # noqa: D102

    def state(self) -> State | None: ...  # noqa: D102

    def restore(self, tokens: Sequence[int], state: State) -> bool: ...  # noqa: D102


class Future(Enum):
    """Whether a prompt and its answer will be gone on from after other calls."""

    NONE = auto()
    """It is a structured call: to repair its answer is the next call, or none."""
    POSSIBLE = auto()
    """It may have been the first question of a conversation."""
    LIKELY = auto()
    """It went on from an answer itself."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is to be held when a model begins to write."""

    tokens: list[int]
    fixed: int
    """How many of them are the same in every call of this kind; less than all."""
    future: Future


class PrefixReuse:
    """Takes a window from one prompt to the next, by way of the state that saves most reading.

    Saved are fixed prefixes, and a conversation that is held when another prompt takes the window: a chat
    that other roles interrupt is not read again.
    """

    def __init__(self, window: Window, saved: SavedStates) -> None:
        self._window = window
        self._saved = saved
        self._future = Future.NONE  # of what is held

    def resume(self, prompt: Prompt) -> int:
        """Hold what is known of the prompt; return how many tokens that is.

        One token is always left to evaluate: logits are not part of a state.
        """
        window = self._window
        tokens = prompt.tokens[:-1]
        shared = shared_length(window.held, tokens)
        if not window.can_be_cut and shared < len(window.held):
            shared = 0
        self._keep_what_would_be_lost(shared)
        missing = prompt.fixed if shared < prompt.fixed else 0
        state, length = self._saved.best(tokens, missing, cut=window.can_be_cut)
        if state is not None and length > shared:
            if not window.restore(state.tokens, state.data):
                self._saved.discard(state)
                return self.resume(prompt)
            shared = length
        if shared == 0:
            window.clear()
        elif shared < len(window.held) and not window.cut(shared):
            window.can_be_cut = False
            return self.resume(prompt)
        self._future = prompt.future
        return shared

    def rest(self) -> None:
        """Save now what the next prompt may take the window from: it need not wait for that then.

        Only what is copied in no time: of a large model it would be done in vain after every turn of a chat.
        """
        if self._window.state_size() <= _QUICK:
            self._keep_what_would_be_lost(0)

    def keep_fixed(self) -> None:
        """Keep what is held, a fixed prefix, for later calls and runs."""
        held = self._window.held
        if not held or self._saved.has_fixed(held):
            return
        data = self._window.state()
        if data is not None:
            self._saved.keep_fixed(held, data)

    def _keep_what_would_be_lost(self, shared: int) -> None:
        """Save what is held, unless next to nothing of it is neither ``shared`` nor saved."""
        held = self._window.held
        if self._future is Future.NONE:
            return
        if len(held) - shared < WORTH or len(held) - self._saved.covered(held) < WORTH:
            return
        data = self._window.state()
        if data is None:  # no memory
            self._saved.drop_memory()
        else:
            self._saved.keep(held, data, lasting=self._future is Future.LIKELY)
