r"""Read one record after the other from a JSON array that may be larger than memory.

ijson's pure Python backend, not its C backend: that one turns a lone surrogate (an escape such as
``\ud83d`` without its partner) into ``?`` without a word, and the text of a message must come out
unchanged. It reads 6 to 30 MB a second, faster than a history can be stored and indexed.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import ijson
import ijson.backends.python as ijson_python

from localmem.errors import ImportFailed
from localmem.importers.fields import Record, required_object

_BLOCK = 1 << 17
"""Bytes read at a time. ijson searches an unfinished string again after each block."""
_HEAD = 4 << 20
"""Bytes that are read to tell a format."""
_DEEPEST = 100
"""Levels of nesting that a file may have; no chat history needs ten."""


@contextmanager
def reading(path: Path) -> Iterator[BinaryIO]:
    """Open ``path`` for reading bytes, after a byte-order mark if there is one.

    What the system refuses becomes :class:`ImportFailed`.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
                file.seek(0)
            yield file
    except OSError as error:
        raise ImportFailed(f"{path}: cannot be read: {error.strerror or error}.") from error


def records(path: Path) -> Iterator[tuple[str, Record]]:
    """Yield each object of the top-level array with its place (``FILE, record 3``) for error messages.

    Raises :class:`ImportFailed` when the file is not UTF-8, is not whole and correct JSON, is not an
    array, is empty, or has an element that is no object.
    """
    number = 0
    builder = None
    with reading(path) as file:
        try:
            for depth, event, value in _events(file):
                if depth == 0:
                    if event not in ("start_array", "end_array"):
                        raise ImportFailed(f"{path}: a JSON array of records was expected.")
                    continue
                builder = builder or ijson.ObjectBuilder()
                builder.event(event, value)
                if depth == 1 and event not in ("start_map", "start_array"):
                    record, builder = builder.value, None
                    number += 1
                    place = f"{path}, record {number}"
                    yield place, required_object(record, place)
        # ValueError: a string or number that is no JSON comes as the standard library's own error.
        except (ijson.JSONError, ValueError) as error:
            check_utf8(path)
            fault = _one_line(str(error))
            place = f"{path}, record {number + 1}"
            raise ImportFailed(f"{place}: not correct JSON, or cut short: {fault}.") from error
    if number == 0:
        raise ImportFailed(f"{path}: the JSON array is empty.")


def first_keys(path: Path) -> frozenset[str]:
    """Keys of the first object of an array and those one level below: ``conversation.session_1``.

    Reads 4 MB; of a broken file it returns the keys up to the fault, for the reader will name the
    fault. Empty when the file is no JSON array of objects.
    """
    found: set[str] = set()
    key = ""
    with reading(path) as file:
        head = io.BytesIO(file.read(_HEAD))
    try:
        for depth, event, value in _events(head):
            if (depth == 0 and event != "start_array") or (depth == 1 and event != "start_map"):
                break
            if event == "map_key" and depth == 2:
                key = value
                found.add(key)
            elif event == "map_key" and depth == 3:
                found.add(f"{key}.{value}")
    except (ijson.JSONError, ValueError):
        pass  # cut at the limit, or broken further on
    return frozenset(found)


def _events(file: BinaryIO) -> Iterator[tuple[int, str, Any]]:
    """Yield parser events with the number of arrays and objects around each.

    Not ijson's own paths (``parse``, ``items``): they grow with every level, and a file of open brackets
    would take hours.
    """
    depth = 0
    for event, value in ijson_python.basic_parse(file, buf_size=_BLOCK):
        if event in ("end_map", "end_array"):
            depth -= 1
        yield depth, event, value
        if event in ("start_map", "start_array"):
            depth += 1
            if depth > _DEEPEST:
                raise ijson.JSONError("nested too deeply")


def check_utf8(path: Path) -> None:
    """Raise :class:`ImportFailed` at the first byte that is not UTF-8, if there is one."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with reading(path) as file:
        block = b"start"
        while block:
            start = file.tell()
            block = file.read(_BLOCK)
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                # error.object is the block after what was left over of the one before.
                at = start + len(block) - len(error.object) + error.start
                raise not_utf8(f"{path}, byte {at}") from error


def not_utf8(place: str) -> ImportFailed:
    """Return the error for bytes that are no UTF-8."""
    return ImportFailed(f"{place}: not UTF-8. If it is a text file, save it as UTF-8 and import it again.")


def _one_line(text: str) -> str:
    """Return a parser's message without its line breaks, 120 characters at most."""
    text = " ".join(text.split()).rstrip(".")
    return text if len(text) <= 120 else text[:119] + "…"
