"""Checked access to the fields of a parsed record; every error names the place."""

from __future__ import annotations

import hashlib
import math
import reprlib
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal

from localmem.errors import ImportFailed

Record = Mapping[str, object]

_YEAR_5000 = 95_617_584_000
"""In seconds since 1970."""


def required_text(record: Record, key: str, place: str) -> str:
    """Return the text under ``key``, empty text included; :class:`ImportFailed` when there is none."""
    value = record.get(key)
    if not isinstance(value, str):
        raise ImportFailed(f'{place}: "{key}" must be text, found {described(value)}.')
    return value


def optional_text(record: Record, key: str, place: str) -> str:
    """Return the text under ``key``, or empty text when the key is absent or null."""
    return "" if record.get(key) is None else required_text(record, key, place)


def required_name(record: Record, key: str, place: str) -> str:
    """Return the id or name under ``key``: text that is not empty, or a whole number, made text.

    A name that UTF-8 cannot hold (a lone surrogate) is refused: names are looked up.
    """
    value = record.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value or not is_utf8(value):
        raise ImportFailed(f'{place}: "{key}" must be a name or number, found {described(value)}.')
    return value


def new_name(record: Record, field: str, place: str, taken: set[str]) -> str:
    """A ``required_name`` that is not among those ``taken`` in this file; now it is."""
    name = required_name(record, field, place)
    if name in taken:
        raise ImportFailed(f'{place}: "{field}" {described(name)} was used before in this file.')
    taken.add(name)
    return name


def is_utf8(text: str) -> bool:
    """Whether UTF-8 can hold ``text``: it has no lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def optional_name(record: Record, key: str, place: str) -> str | None:
    """Return the id or name under ``key``, or None when the key is absent or null."""
    return None if record.get(key) is None else required_name(record, key, place)


def required_list(record: Record, key: str, place: str) -> list[object]:
    """Return the array under ``key``."""
    value = record.get(key)
    if not isinstance(value, list):
        raise ImportFailed(f'{place}: "{key}" must be an array, found {described(value)}.')
    return value


def required_object(value: object, place: str) -> Record:
    """Return ``value`` itself when it is an object."""
    if not isinstance(value, dict):
        raise ImportFailed(f"{place}: an object was expected, found {described(value)}.")
    return value


def described(value: object) -> str:
    """Name ``value`` in the words of JSON, short enough and safe to print in an error message."""
    match value:
        case None:
            return "nothing"
        case dict():
            return "an object"
        case list():
            return "an array"
        case bool():
            return "true" if value else "false"
        case Decimal():
            return str(value)
        case "":
            return "empty text"
        case _:
            return reprlib.repr(value)


def unique(name: str, taken: set[str]) -> str:
    """Return ``name``, or ``name#2``, ``name#3`` ... when it is taken, and add it to ``taken``."""
    candidate, count = name, 1
    while candidate in taken:
        count += 1
        candidate = f"{name}#{count}"
    taken.add(candidate)
    return candidate


def text_of(value: object) -> str:
    """Return ``value`` if it is text, else empty text: for what may be missing without harm."""
    return value if isinstance(value, str) else ""


def objects_of(value: object) -> list[Record]:
    """Return the objects of an array, or nothing: for lists that may be missing without harm."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def name_of(value: object, what: str, place: str) -> str:
    """Return an id: text that is not empty and has no lone surrogates, or a whole number made text.

    Raises :class:`ImportFailed` else.
    """
    return required_name({what: value}, what, place)


def moment(value: object, skipped: Counter[str]) -> datetime | None:
    """Return a time: seconds, milliseconds or finer since 1970, or ISO 8601; without a zone it is UTC.

    None for null and for 0. What is no time is counted and None too: a conversation is not given up for it.
    """
    if value is None or value == 0 or value == "":
        return None
    try:
        if isinstance(value, str):
            try:
                found = datetime.fromisoformat(value)
            except ValueError:
                found = _since_1970(float(value))
        elif isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            found = _since_1970(float(value))
        else:
            raise TypeError(value)
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        found.astimezone(UTC)  # the form in which times are kept; near year 1 or 9999 it may not exist
    except (TypeError, ValueError, OverflowError, OSError):
        skipped["time that cannot be read (the neighbour's was taken)"] += 1
        return None
    return found


def _since_1970(count: float) -> datetime:
    if not math.isfinite(count):
        raise ValueError(count)
    while abs(count) > _YEAR_5000:  # milliseconds, microseconds ...
        count /= 1000
    return datetime.fromtimestamp(count, UTC)


def digest(*texts: str) -> str:
    """Return 12 characters that stand for ``texts``: an id for what has none."""
    joined = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(joined).hexdigest()[:12]
