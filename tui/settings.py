"""What the chat keeps of a person's choices: ``chat.json`` in the home folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from localmem.errors import BadInput
from localmem.models.jsonfile import read_json, write_json

FILE = "chat.json"


def read_theme(home: Path, known: Sequence[str]) -> str | None:
    """The name of the theme that was chosen; None: none was. Raises :class:`BadInput`."""
    theme = read_json(home / FILE).get("theme")
    if theme is not None and theme not in known:
        raise BadInput(f"{home / FILE}: there is no theme {theme!r}. Themes: {', '.join(known)}.")
    return theme


def write_theme(home: Path, name: str) -> None:
    """Keep the choice of a theme. Raises OSError."""
    home.mkdir(parents=True, exist_ok=True)
    write_json(home / FILE, {**read_json(home / FILE), "theme": name})
