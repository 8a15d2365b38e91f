"""The person's own keys: ``keys.toml`` in the home folder.

::

    [keys]
    again = "ctrl+g"
    new = "ctrl+n,f9"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from textual.keys import KEY_NAME_REPLACEMENTS, Keys, _character_to_key

from localmem.errors import BadInput
from localmem.tui.commands import BY_NAME, COMMANDS, Place

FILE = "keys.toml"
_NAMED = {key.value for key in Keys} | set(KEY_NAME_REPLACEMENTS.values())
_MODIFIERS = {"ctrl", "shift", "alt", "super", "hyper", "meta"}
_ALWAYS = {"escape", "enter", "tab", "up", "down"}
"""Keys of the chat that cannot be taken from it: without them it could not be left or written in."""


def read_keymap(home: Path) -> dict[str, str]:
    """Keys by name of command; empty without a file. Raises :class:`BadInput` that says what is wrong."""
    path = home / FILE
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}. The keys are the usual ones.") from error
    try:
        keys = tomllib.loads(text).get("keys", {})
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path} is not valid TOML: {error}. The keys are the usual ones.") from error
    problem = _problem(keys)
    if problem:
        raise BadInput(f"{path}: {problem} The keys are the usual ones.")
    return dict(keys)


def keys_of(name: str, keymap: Mapping[str, str]) -> str:
    """The keys of a command under a key map."""
    return keymap.get(name, BY_NAME[name].keys)


def _problem(keys: object) -> str:
    """The first thing wrong with a key map; empty: nothing is."""
    if not isinstance(keys, dict):
        return "[keys] must be a table of commands and keys."
    for name, value in keys.items():
        if name not in BY_NAME:
            return f"there is no command {name!r}; F1 in the chat lists them."
        if not isinstance(value, str) or not all(_is_key(key) for key in value.split(",")):
            return f'{name} = {value!r} is not a key. Write it like "ctrl+g" or "f9".'
    return _clash(keys)


def _is_key(key: str) -> bool:
    *modifiers, last = key.strip().split("+")
    named = last in _NAMED or (len(last) == 1 and _character_to_key(last) != "")
    return named and set(modifiers) <= _MODIFIERS


def _writes(key: str) -> bool:
    """Whether a key puts a character into the input."""
    *modifiers, last = key.strip().split("+")
    return (len(last) == 1 or last == "space") and set(modifiers) <= {"shift"}


def _clash(keys: Mapping[str, str]) -> str:
    for place in Place:
        taken: dict[str, str] = {}
        for command in COMMANDS:
            if command.place is not place:
                continue
            for key in filter(None, keys_of(command.name, keys).split(",")):
                if place is Place.CHAT and _writes(key):
                    return f"{key} cannot be {command.name}: it is for writing. Put ctrl+ before it."
                if place is Place.CHAT and key in _ALWAYS and command.keys != key:
                    return f"{key} cannot be {command.name}."
                if key in taken and command.keys != BY_NAME[taken[key]].keys:
                    return f"{key} is both {taken[key]} and {command.name}."
                taken[key] = command.name
    return ""
