r"""Read one record after the other from a JSON file that may be larger than memory.

ijson's pure Python backend, not its C backend: that one turns a lone surrogate (an escape such as
``\ud83d`` without its partner) into ``?`` without a word, and the text of a message must come out
unchanged. It reads 6 to 30 MB a second, faster than a history can be stored and indexed.
"""

from __future__ import annotations

import codecs
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

import ijson
import ijson.backends.python as ijson_python

from localmem.errors import ImportFailed
from localmem.importers.fields import Record, required_object
from localmem.importers.inputs import Source

_BLOCK = 1 << 17
"""Bytes read at a time."""
_HEAD = 4 << 20
"""Bytes that are read to tell a format."""
_HEAD_RECORDS = 20
"""Records that are looked at to tell a format; some lack what most have."""
_DEEPEST = 100
"""Levels of nesting that a file may have; no chat history needs ten."""
_LONGEST = 64 << 20
"""Bytes that one text may have."""
_ARCHIVE_FAULTS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What a damaged member of an archive may raise."""


@contextmanager
def reading(source: Source) -> Iterator[BinaryIO]:
    """Open ``source`` for reading bytes, after a byte-order mark if there is one.

    What the system or the archive refuses becomes :class:`ImportFailed`.
    """
    try:
        with source.open("rb") as file:
            if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
                file.seek(0)
            yield file
    except OSError as error:
        raise ImportFailed(f"{source}: cannot be read: {error.strerror or error}.") from error
    except _ARCHIVE_FAULTS as error:
        raise ImportFailed(f"{source}: cannot be read out of the archive: {error}.") from error


def records(source: Source, *, single: bool = False) -> Iterator[tuple[str, Record]]:
    """Yield each object of the top-level array with its place (``FILE, record 3``) for error messages.

    Raises :class:`ImportFailed` as :func:`elements` does, and for an element that is no object.
    """
    for place, value in elements(source, single=single):
        yield place, required_object(value, place)


def elements(source: Source, *, single: bool = False) -> Iterator[tuple[str, object]]:
    """Yield each element of the top-level array, whatever it is, with its place.

    With ``single`` a file that is one object stands for an array of it. Raises :class:`ImportFailed` when
    the file is not UTF-8, is not whole and correct JSON, is not an array, or is empty: nothing more of it
    can be read then.
    """
    number = 0
    top = 1
    builder = None
    with reading(source) as file:
        try:
            for depth, event, value in _events(file):
                if depth == 0 and event == "start_map" and single:
                    top = 0
                if depth < top:
                    if event not in ("start_array", "end_array"):
                        raise ImportFailed(f"{source}: a JSON array of records was expected.")
                    continue
                builder = builder or ijson.ObjectBuilder()
                builder.event(event, value)
                if depth == top and event not in ("start_map", "start_array"):
                    element, builder = builder.value, None
                    number += 1
                    yield f"{source}, record {number}", element
        # ValueError: a string or number that is no JSON comes as the standard library's own error.
        except (ijson.JSONError, ValueError) as error:
            check_utf8(source)
            fault = _one_line(str(error))
            place = f"{source}, record {number + 1}"
            raise ImportFailed(f"{place}: not correct JSON, or cut short: {fault}.") from error
    if number == 0:
        raise ImportFailed(f"{source}: the JSON array is empty.")


@dataclass(frozen=True, slots=True)
class Shape:
    """What the beginning of a JSON file looks like."""

    top: Literal["array", "object", "text", "other"]
    keys: frozenset[str]
    """Keys of its first records and those one level below, arrays between them left out:
    ``conversation.session_1``, ``messages.versions``."""


def shape(source: Source) -> Shape:
    """Look at the first 4 MB. Of a broken file: up to the fault, for the reader will name the fault."""
    found: set[str] = set()
    tops: dict[str, Literal["array", "object", "text"]] = {
        "start_array": "array",
        "start_map": "object",
        "string": "text",
    }
    top: Literal["array", "object", "text", "other"] = "other"
    first, seen = 1, 0
    names: dict[int, str] = {}  # depth of an object's keys -> the latest of them
    with reading(source) as file:
        head = io.BytesIO(file.read(_HEAD))
    try:
        for depth, event, value in _events(head):
            if depth == 0 and event not in ("end_array", "end_map"):
                top = tops.get(event, "other")
                first = 0 if top == "object" else 1
            if depth == first and event not in ("end_map", "end_array"):
                if event != "start_map" or seen == _HEAD_RECORDS:
                    break
                seen += 1
            if event == "map_key":
                names = {level: name for level, name in names.items() if level < depth}
                if depth == first + 1:
                    found.add(value)
                elif len(names) == 1:
                    found.add(f"{next(iter(names.values()))}.{value}")
                names[depth] = value
    except (ijson.JSONError, ValueError, ImportFailed):
        pass  # cut at the limit, or broken further on
    return Shape(top, frozenset(found))


def first_keys(source: Source) -> frozenset[str]:
    """The keys of :func:`shape` where the file is an array, else none."""
    found = shape(source)
    return found.keys if found.top == "array" else frozenset()


def _events(file: BinaryIO) -> Iterator[tuple[int, str, Any]]:
    """Yield parser events with the number of arrays and objects around each.

    Not ijson's own paths (``parse``, ``items``): they grow with every level, and a file of open brackets
    would take hours.
    """
    depth = 0
    blocks = _Growing(file)
    try:
        for event, value in ijson_python.basic_parse(blocks, buf_size=_BLOCK):
            blocks.size = _BLOCK
            if event in ("end_map", "end_array"):
                depth -= 1
            yield depth, event, value
            if event in ("start_map", "start_array"):
                depth += 1
                if depth > _DEEPEST:
                    raise ijson.JSONError("nested too deeply")
    except ijson.JSONError as error:
        raise blocks.fault or error from error
    if blocks.fault is not None:
        raise blocks.fault


class _Growing:
    """Reads twice as much each time until something comes of it.

    ijson searches an unfinished text again from its start after each block: equal blocks would make that
    quadratic. A fault looks like the end of the file to ijson, whose parser cannot be left in mid-text
    without noise; who reads on raises it then.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = _BLOCK
        self.fault: Exception | None = None

    def read(self, size: int) -> bytes:
        if size == 0:  # how ijson asks whether it gets bytes or text
            return b""
        if self.size > _LONGEST:
            self.fault = ijson.JSONError(f"a text of more than {_LONGEST >> 20} MB")
            return b""
        try:
            block = self._file.read(self.size)
        except (OSError, *_ARCHIVE_FAULTS) as error:
            self.fault = error
            return b""
        self.size *= 2
        return block


def check_utf8(source: Source) -> None:
    """Raise :class:`ImportFailed` at the first byte that is not UTF-8, if there is one."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with reading(source) as file:
        block = b"start"
        while block:
            start = file.tell()
            block = file.read(_BLOCK)
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                # error.object is the block after what was left over of the one before.
                at = start + len(block) - len(error.object) + error.start
                raise not_utf8(f"{source}, byte {at}") from error


def not_utf8(place: str) -> ImportFailed:
    """Return the error for bytes that are no UTF-8."""
    return ImportFailed(f"{place}: not UTF-8. If it is a text file, save it as UTF-8 and import it again.")


def _one_line(text: str) -> str:
    """Return a parser's message without its line breaks, 120 characters at most."""
    text = " ".join(text.split()).rstrip(".")
    return text if len(text) <= 120 else text[:119] + "…"
