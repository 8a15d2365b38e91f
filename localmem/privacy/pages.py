"""Rows out of single pages of a database, without its trees: what is left when those are damaged.

The format is that of https://www.sqlite.org/fileformat2.html: a leaf page of a table is 0x0D, a count of
cells, and their offsets; a cell is a payload's length, a row id and a record, which may go on in overflow
pages.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Value = None | int | float | str | bytes
Row = tuple[int, tuple[Value, ...]]
"""Row id, and the columns as they are stored: an INTEGER PRIMARY KEY is None there."""
ReadPage = Callable[[int], bytes | None]
"""A page by its number, from 1; None when it is not there or cannot be read."""

_LEAF = 0x0D
_HEAD = 100  # bytes of the file's head, on page 1
_MOST_COLUMNS = 64
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes by serial type


class _Broken(Exception):
    """A cell makes no sense."""


@dataclass(frozen=True, slots=True)
class Pages:
    """A file as pages."""

    read: ReadPage
    count: int
    usable: int
    """Bytes of a page that hold content."""

    def rows(self) -> Iterator[Row]:
        """The rows of all readable leaf pages, in order of page; cells that make no sense are left out."""
        for number in range(1, self.count + 1):
            page = self.read(number)
            if page is None:
                continue
            yield from self._rows_of(page, _HEAD if number == 1 else 0)

    def _rows_of(self, page: bytes, start: int) -> Iterator[Row]:
        if page[start] != _LEAF:
            return
        cells = int.from_bytes(page[start + 3 : start + 5])
        for place in range(start + 8, min(start + 8 + 2 * cells, self.usable - 1), 2):
            try:
                yield self._row(page, int.from_bytes(page[place : place + 2]))
            except (_Broken, IndexError, struct.error, UnicodeDecodeError):
                continue  # a damaged cell; the others stand for themselves

    def _row(self, page: bytes, at: int) -> Row:
        length, at = _varint(page, at)
        row_id, at = _varint(page, at)
        return row_id, _record(self._payload(page, at, length))

    def _payload(self, page: bytes, at: int, length: int) -> bytes:
        most = self.usable - 35
        if length <= most:
            payload = page[at : at + length]
            if at + length > self.usable:
                raise _Broken
            return payload
        least = (self.usable - 12) * 32 // 255 - 23
        local = least + (length - least) % (self.usable - 4)
        local = local if local <= most else least
        payload = page[at : at + local]
        (following,) = struct.unpack(">I", page[at + local : at + local + 4])
        while len(payload) < length:
            more = self.read(following) if 0 < following <= self.count else None
            if more is None:
                raise _Broken
            (following,) = struct.unpack(">I", more[:4])
            payload += more[4 : self.usable]
        return payload[:length]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(9):
        byte = data[at + place]
        if place == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    raise AssertionError("a varint has nine bytes at most")


def _record(payload: bytes) -> tuple[Value, ...]:
    head, at = _varint(payload, 0)
    if not 0 < head <= len(payload):
        raise _Broken
    types = []
    while at < head:
        one, at = _varint(payload, at)
        types.append(one)
    if len(types) > _MOST_COLUMNS:
        raise _Broken
    values = []
    for one in types:
        value, at = _value(payload, at, one)
        values.append(value)
    return tuple(values)


def _value(payload: bytes, at: int, kind: int) -> tuple[Value, int]:
    if kind in (0, 8, 9):
        return (None, 0, 1)[kind and kind - 7], at
    if kind in _INTEGERS:
        end = at + _INTEGERS[kind]
        return int.from_bytes(payload[at:end], signed=True), end
    if kind == 7:
        return struct.unpack(">d", payload[at : at + 8])[0], at + 8
    if kind < 12:
        raise _Broken
    end = at + (kind - 12) // 2
    if end > len(payload):
        raise _Broken
    return (payload[at:end].decode() if kind % 2 else payload[at:end]), end
