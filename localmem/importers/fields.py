"""Checked access to the fields of a parsed record; every error names the place."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from decimal import Decimal

from localmem.errors import ImportFailed

Record = Mapping[str, object]


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
    """Return the id or name under ``key``: text that is not empty, or a whole number, made text."""
    value = record.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        raise ImportFailed(f'{place}: "{key}" must be a name or number, found {described(value)}.')
    return value


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
