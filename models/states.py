"""Saved states of a model's window, so that no token is read twice: in memory, and fixed prefixes on disk.

A state is the KV cache of a sequence of tokens: 23 kB a token with SmolLM2-135M, 150 kB with a model of 4B.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

State = NDArray[np.uint8]

WORTH = 16
"""Fewer tokens are not worth a state of their own: they are read in a tenth of a second."""
_MEMORY = 512 * 2**20  # bytes in memory: 23,000 tokens of a 135M model, 3,500 of a 4B one
_PASSING = 4  # states in memory that are not lasting: a first question may become a conversation
_DISK = 2 * 2**30  # bytes of files
_FILES = 32  # a dozen roles, and their prompts' earlier versions
_MAGIC = b"localmem state 1\n"
_DIGEST = 32  # bytes
_log = logging.getLogger(__name__)


def shared_length(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two sequences have in common at their beginning."""
    length = min(len(one), len(other))
    differ = np.flatnonzero(np.asarray(one[:length]) != np.asarray(other[:length]))
    return int(differ[0]) if len(differ) else length


@dataclass(slots=True, eq=False)
class SavedState:
    """The state after ``tokens``."""

    tokens: list[int]
    data: State
    fixed: bool
    """The state of a fixed prefix."""
    lasting: bool
    """A fixed prefix or a conversation; of what was only asked once a few are kept."""
    used: int = 0
    """Counts the uses of all states: larger is later."""


class SavedStates:
    """The states of one model: at most ``memory`` bytes, the least recently used dropped, and files."""

    def __init__(self, files: StateFiles | None, *, memory: int = _MEMORY) -> None:
        self._files = files
        self._limit = memory
        self._states: list[SavedState] = []
        self._uses = 0

    def best(self, tokens: Sequence[int], fixed: int, *, cut: bool) -> tuple[SavedState | None, int]:
        """The state that shares most with ``tokens``, and how many that are.

        The first ``fixed`` tokens may be on disk. Without ``cut`` a state has to be shared as a whole:
        this model's cannot be shortened.
        """
        best: tuple[SavedState | None, int] = None, 0
        for state in self._states:
            shared = shared_length(state.tokens, tokens)
            if shared > best[1] and (cut or shared == len(state.tokens)):
                best = state, shared
        if best[1] < fixed and self._files is not None:
            prefix = list(tokens[:fixed])
            data = self._files.load(prefix)
            if data is not None:
                best = SavedState(prefix, data, fixed=True, lasting=True), fixed
                self._add(best[0])
        if best[0] is not None:
            self._touch(best[0])
        return best

    def covered(self, tokens: Sequence[int]) -> int:
        """How many of ``tokens`` one of the states in memory has."""
        return max((shared_length(state.tokens, tokens) for state in self._states), default=0)

    def has_fixed(self, tokens: Sequence[int]) -> bool:
        """Whether the state of this fixed prefix is in memory."""
        return any(state.fixed and state.tokens == tokens for state in self._states)

    def keep_fixed(self, tokens: Sequence[int], data: State) -> None:
        """Keep the state of a fixed prefix, also across runs."""
        self._add(SavedState(list(tokens), data, fixed=True, lasting=True))
        if self._files is not None:
            self._files.save(tokens, data)

    def keep(self, tokens: Sequence[int], data: State, *, lasting: bool) -> None:
        """Keep another state, in memory only; it takes the place of those that it goes on from."""
        self._states = [
            state
            for state in self._states
            if state.fixed or len(state.tokens) - shared_length(state.tokens, tokens) >= WORTH
        ]
        self._add(SavedState(list(tokens), data, fixed=False, lasting=lasting))

    def discard(self, state: SavedState) -> None:
        """Forget a state that llama.cpp does not take."""
        if state in self._states:
            self._states.remove(state)
        if state.fixed and self._files is not None:
            self._files.remove(state.tokens)

    def drop_memory(self) -> None:
        """Free the memory."""
        self._states.clear()

    def _add(self, state: SavedState) -> None:
        self._states.append(state)
        self._touch(state)
        self._states.sort(key=lambda state: (state.lasting, state.used))
        passing = sum(not state.lasting for state in self._states)
        del self._states[: max(0, passing - _PASSING)]
        while sum(len(state.data) for state in self._states) > self._limit:
            del self._states[0]

    def _touch(self, state: SavedState) -> None:
        self._uses += 1
        state.used = self._uses


class StateFiles:
    """States of fixed prefixes in a folder that is one model's own. A damaged file is as good as none.

    ``layout`` names what the bytes of a state depend on besides model and tokens. A file is named by the hash
    of layout and tokens, and holds a keyed hash of its state. The least recently used files go first.
    """

    def __init__(self, folder: Path, layout: str, *, most: int = _FILES, size: int = _DISK) -> None:
        self._folder = folder
        self._layout = layout.encode()
        self._most = most
        self._size = size

    def load(self, tokens: Sequence[int]) -> State | None:
        """The state after ``tokens``; None when there is no sound file."""
        key = self._key(tokens)
        path = self._path(key)
        try:
            data = np.fromfile(path, np.uint8)
            os.utime(path)  # it was used now
        except FileNotFoundError:
            return None
        except (OSError, MemoryError) as error:
            _log.warning("The state in %s cannot be read: %s", path, error)
            return None
        state = data[len(_MAGIC) + _DIGEST :]
        if data[: -len(state)].tobytes() != _head(key, state):
            _log.warning("%s was damaged and is removed; its tokens are read again.", path)
            self._unlink(path)
            return None
        return state

    def save(self, tokens: Sequence[int], state: State) -> None:
        """Write a state. A full disk costs a warning, not the call."""
        key = self._key(tokens)
        path = self._path(key)
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as file:
                file.write(_head(key, state))
                file.write(state.data)
            partial.replace(path)
            self._prune()
        except OSError as error:
            _log.warning("The state of a prompt cannot be kept in %s: %s", self._folder, error)
            self._unlink(partial)

    def remove(self, tokens: Sequence[int]) -> None:
        """Remove the state after ``tokens``."""
        self._unlink(self._path(self._key(tokens)))

    def _prune(self) -> None:
        """Remove the files that were not used for the longest time, and what crashed writers left."""
        found = []
        for path in self._folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another process removed it
                stat = path.stat()
                found.append((stat.st_mtime, stat.st_size, path))
        found.sort(reverse=True)
        kept = 0
        for place, (_, size, path) in enumerate(found):
            kept += size
            if place >= self._most or kept > self._size:
                self._unlink(path)

    def _unlink(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("%s cannot be removed: %s", path, error)

    def _key(self, tokens: Sequence[int]) -> bytes:
        key = hashlib.blake2b(self._layout + b"\n", digest_size=_DIGEST)
        key.update(np.asarray(tokens, np.int32).data)
        return key.digest()

    def _path(self, key: bytes) -> Path:
        return self._folder / f"{key.hex()}.kv"


def _head(key: bytes, state: State) -> bytes:
    """What stands before a state in its file."""
    return _MAGIC + hashlib.blake2b(state.data, key=key, digest_size=_DIGEST).digest()
