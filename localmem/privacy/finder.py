"""Finds many byte strings at once in many bytes."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from localmem.errors import StoreError

_HEAD = 6
"""Bytes of a form by which places are found that could be it."""
_BLOCK = 8 << 20
_READER = "import shutil, sys; shutil.copyfileobj(open(sys.argv[1], 'rb'), sys.stdout.buffer, 1 << 20)"
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_") | frozenset(range(0x80, 0x100))
"""Bytes that are part of a word, in lowered UTF-8."""


class Finder:
    """Looks for forms; one pass for all that have at least six bytes, one each for shorter ones.

    Three tables of byte pairs tell in a few array operations where one of the forms could begin; what they
    let through is compared.
    """

    def __init__(self, forms: Iterable[bytes]) -> None:
        every = {form for form in forms if form}
        self._short = sorted(form for form in every if len(form) < _HEAD)
        self._long: defaultdict[bytes, list[bytes]] = defaultdict(list)
        self._pairs = np.zeros((3, 1 << 16), np.bool_)
        for form in every:
            if len(form) >= _HEAD:
                self._long[form[:_HEAD]].append(form)
                for place in range(3):
                    self._pairs[place, form[2 * place] | form[2 * place + 1] << 8] = True
        self._longest = max(map(len, every), default=0)

    def find(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """(offset, form) of each occurrence."""
        if self._long and len(data) >= _HEAD:
            values = np.frombuffer(data, np.uint8).astype(np.uint16)
            pairs = values[:-1] | values[1:] << 8
            end = len(pairs) - 4
            maybe = self._pairs[0, pairs[:end]]
            maybe &= self._pairs[1, pairs[2 : end + 2]]
            maybe &= self._pairs[2, pairs[4 : end + 4]]
            for at in np.flatnonzero(maybe).tolist():
                for form in self._long.get(data[at : at + _HEAD], ()):
                    if data.startswith(form, at):
                        yield at, form
        for form in self._short:
            at = data.find(form)
            while at >= 0:
                yield at, form
                at = data.find(form, at + 1)

    def find_in(self, blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes, bool]]:
        """(offset, form, whether it stands alone) over blocks that follow each other, across their borders.

        A form stands alone between bytes that are no part of a word. Case counts only beyond ASCII: blocks
        are lowered as forms are.
        """
        if not self._longest:
            return
        before, start = b"", 0
        for block in blocks:
            data = before + block.lower()
            for at, form in self.find(data):
                if at + len(form) > len(before):  # else the block before had it
                    around = data[max(at - 1, 0) : at] + data[at + len(form) : at + len(form) + 1]
                    yield start + at, form, _WORD.isdisjoint(around)
            before = data[-self._longest :]
            start += len(data) - len(before)


def blocks_of(path: Path) -> Iterator[bytes]:
    """A file in blocks, read by a child process.

    If this one read a store, closing it would let go of the locks that its connections have on it.
    """
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _READER, str(path)], stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        while block := child.stdout.read(_BLOCK):
            yield block
    if child.returncode:
        raise StoreError(f"{path} could not be read.")


def blocks_in(data: bytes) -> Iterator[bytes]:
    """The same of bytes."""
    for start in range(0, len(data), _BLOCK):
        yield data[start : start + _BLOCK]
