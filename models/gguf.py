"""Read the header of a GGUF file: what the model is, and whether the file is all there.

The format is that of ggml's ``docs/gguf.md``, versions 2 and 3. Only the header is read, element by
element, with bounds on every count, for the file may come from anywhere: nothing in it makes this
raise anything but :class:`ModelFileBad`. (PyPI's ``gguf`` reads the same in 2.9 s instead of 0.05 for a
vocabulary of 49,152, and fails on damage with whatever numpy raises.)
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from localmem.models.errors import ModelFileBad

_HEADER = 32 << 20  # bytes; the largest vocabularies take 15 MB
_KEYS = 4096
_TENSORS = 65_536
_TEXTS = 1_000_000  # of a list; the largest vocabularies have 262,144 words, and as many merges
_STRING = 1 << 20  # bytes kept of a value; the longest chat templates have 30 kB
_KEPT = 1024  # numbers of an array that are kept: one per layer, never one per token
_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TYPE_STRING, _TYPE_ARRAY = 8, 9

# ggml's tensor types: name, elements in a block, bytes of a block. Numbers that are missing were taken
# out of ggml, or came later than this list.
_TENSOR_TYPES = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    9: ("Q8_1", 32, 40),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18),
    21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1),
    25: ("I16", 1, 2),
    26: ("I32", 1, 4),
    27: ("I64", 1, 8),
    28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56),
    30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36),
    41: ("Q1_0", 128, 18),
}


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What a GGUF file says of itself."""

    values: dict[str, Any]
    """Key to value: numbers, texts, short lists of numbers. A list of texts, or a long one, is its length."""
    tensors: Counter[str]
    """How many tensors there are of each type."""
    size: int
    """Bytes that the file must have, header and tensors."""

    @property
    def architecture(self) -> str:
        """Such as "llama"; empty when it is not said."""
        return str(self.values.get("general.architecture", ""))

    def number(self, key: str) -> int:
        """An architecture's own figure (``head_count``), 0 when it is not said."""
        value = self.values.get(f"{self.architecture}.{key}", 0)
        return value if isinstance(value, int) else 0


def read_header(path: Path) -> GgufHeader:
    """Read the header of ``path`` and compare the file's size with it.

    Raises :class:`ModelFileBad`: not a GGUF, another version, damaged, cut short, or with a
    quantisation that is not known here.
    """
    try:
        with path.open("rb", buffering=1 << 20) as file:
            header = _read(_Cursor(file, path))
    except OSError as error:
        raise ModelFileBad(f"{path} cannot be read: {error.strerror}.") from error
    actual = path.stat().st_size
    if actual < header.size:
        raise ModelFileBad(
            f"{path} is cut short: it has {actual:,} of {header.size:,} bytes. Get the file again."
        )
    return header


class _Cursor:
    """Takes values off the front of a file, within the header's bound."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file = file
        self._end = min(path.stat().st_size, _HEADER)
        self.path = path
        self.position = 0

    def starts_with(self, magic: bytes) -> bool:
        """Whether the next bytes are ``magic``."""
        return self._end >= len(magic) and self.take(len(magic)) == magic

    def take(self, size: int) -> bytes:
        """The next ``size`` bytes."""
        self._advance(size)
        return self._file.read(size)

    def skip(self, size: int) -> None:
        """Pass ``size`` bytes by."""
        self._advance(size)
        self._file.seek(self.position)

    def number(self, code: str) -> Any:
        """The next number, of a ``struct`` format."""
        return struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))[0]

    def text(self) -> str:
        """The next text."""
        length = self.number("Q")
        if length > _STRING:
            raise self.damaged(f"a text of {length:,} bytes")
        return self.take(length).decode("utf-8", "replace")

    def damaged(self, what: str) -> ModelFileBad:
        """The error for a header that cannot be."""
        return ModelFileBad(f"The header of {self.path} is damaged: {what}. Get the file again.")

    def _advance(self, size: int) -> None:
        if self.position + size > self._end:
            raise self.damaged("it ends in the middle")
        self.position += size


def _read(cursor: _Cursor) -> GgufHeader:
    if not cursor.starts_with(b"GGUF"):
        raise ModelFileBad(f"{cursor.path} is not a GGUF model.")
    version = cursor.number("I")
    if version not in (2, 3):
        big = version & 0xFFFF == 0  # the bytes of a small number, the other way round
        why = "in the byte order of another kind of processor" if big else f"of GGUF version {version}"
        raise ModelFileBad(f"{cursor.path} is {why}; llama.cpp reads 2 and 3 in the usual order.")
    tensors, keys = cursor.number("Q"), cursor.number("Q")
    if tensors > _TENSORS or keys > _KEYS:
        raise cursor.damaged(f"{tensors:,} tensors and {keys:,} keys")
    values: dict[str, Any] = {}
    for _ in range(keys):
        key = cursor.text()
        if key in values:
            raise cursor.damaged(f"the key {key!r} is there twice")
        values[key] = _value(cursor, cursor.number("I"))
    types: Counter[str] = Counter()
    end = 0  # of the tensors, after the header
    for name, size, offset in _tensors(cursor, tensors):
        types[name] += 1
        end = max(end, offset + size)
    alignment = values.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 1 or alignment.bit_count() != 1:
        raise cursor.damaged(f"an alignment of {alignment!r}")
    start = -(-cursor.position // alignment) * alignment
    return GgufHeader(values, types, start + end)


def _value(cursor: _Cursor, kind: int) -> Any:
    if kind == _TYPE_STRING:
        return cursor.text()
    if kind in _FORMATS:
        return cursor.number(_FORMATS[kind])
    if kind != _TYPE_ARRAY:
        raise cursor.damaged(f"a value of type {kind}")
    element, count = cursor.number("I"), cursor.number("Q")
    if element == _TYPE_STRING:
        if count > _TEXTS:
            raise cursor.damaged(f"a list of {count:,} texts")
        for _ in range(count):
            cursor.skip(cursor.number("Q"))
        return count
    if element not in _FORMATS:
        raise cursor.damaged(f"a list of type {element}")
    if count > _KEPT:
        cursor.skip(count * struct.calcsize(f"<{_FORMATS[element]}"))
        return count
    return [cursor.number(_FORMATS[element]) for _ in range(count)]


def _tensors(cursor: _Cursor, count: int) -> Iterator[tuple[str, int, int]]:
    """Type, bytes and offset of each tensor."""
    names = set()
    for _ in range(count):
        name = cursor.text()
        if name in names:
            raise cursor.damaged(f"the tensor {name!r} is there twice")
        names.add(name)
        dimensions = cursor.number("I")
        if dimensions > 4:
            raise cursor.damaged(f"a tensor of {dimensions} dimensions")
        shape = [cursor.number("Q") for _ in range(dimensions)]
        kind, offset = cursor.number("I"), cursor.number("Q")
        if kind not in _TENSOR_TYPES:
            raise ModelFileBad(
                f"{cursor.path} has a quantisation that is not known here (type {kind} of {name}). "
                f"Take a file in Q4_K_M or Q8_0."
            )
        label, elements, size = _TENSOR_TYPES[kind]
        if shape and shape[0] % elements:
            raise cursor.damaged(f"rows of {shape[0]} in {label}")
        yield label, math.prod(shape) // elements * size, offset
