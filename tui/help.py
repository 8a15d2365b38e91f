"""Keys and commands on one page."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from textwrap import wrap
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from localmem.tui.commands import COMMANDS, SLASH, Command, Place
from localmem.tui.keymap import FILE, keys_of
from localmem.tui.text import MUTED

_INDENT = 23  # columns before what a key does
_WRITING = (
    ("Enter", "send"),
    ("Ctrl+J, Alt+Enter", "a new line; Shift+Enter too, where the terminal tells it"),
    ("Up, Down", "at the top and bottom: what you said before"),
    ("Page Up, Page Down", "turn the pages of the chat"),
    ("Tab", "complete a command or a path"),
    ("Ctrl+Z, Ctrl+Y", "take back what you wrote, do it again"),
    ("Backspace", "when empty: take the last attachment away"),
)


def key_map(keymap: Mapping[str, str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Every key by place: headings, each with (keys, what they do)."""
    found: list[tuple[str, list[tuple[str, str]]]] = [("While you write", list(_WRITING))]
    for place in Place:
        lines = [
            (named(keys_of(command.name, keymap)), command.about)
            for command in COMMANDS
            if command.place is place and keys_of(command.name, keymap)
        ]
        found.append((_headed(place), lines))
    commands = [(_slash(command), command.about) for command in SLASH]
    return [*found, ("Commands", commands)]


def named(keys: str) -> str:
    """Keys as a person reads them: ``Ctrl+Up``."""
    return ", ".join(_named(key.strip()) for key in keys.split(","))


def _named(key: str) -> str:
    *modifiers, last = key.split("+")
    if not modifiers and len(last) == 1:
        return last
    return "+".join(part.capitalize() for part in (*modifiers, last))


def key_page() -> str:
    """The same as a Markdown page, with the usual keys: ``docs/KEYS.md``."""
    panels = [place for place in Place if place not in (Place.CHAT, Place.MESSAGE)]
    tables: dict[str, list[tuple[str, ...]]] = {
        "While you write": [(f"`{keys}`", about) for keys, about in _WRITING],
        _headed(Place.CHAT): [(_code(named(c.keys)), _code(_slash(c)), c.about) for c in _of(Place.CHAT)],
        _headed(Place.MESSAGE): [(_code(named(c.keys)), c.about) for c in _of(Place.MESSAGE)],
        "Elsewhere": [(_headed(p), _code(named(c.keys)), c.about) for p in panels for c in _of(p) if c.keys],
    }
    parts = [
        "# Keys and commands of the chat",
        f"F1 shows them in the chat, with your own keys if `{FILE}` in the home folder changes them.",
    ]
    for heading, rows in tables.items():
        columns = len(rows[0])
        lines = ["| " * columns + "|", "|---" * columns + "|"]
        lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        parts += [f"## {heading}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _of(place: Place) -> list[Command]:
    return [command for command in COMMANDS if command.place is place]


def _headed(place: Place) -> str:
    return place.value[0].upper() + place.value[1:]


def _slash(command: Command) -> str:
    return f"/{command.name} {command.argument}".strip() if command.slash else ""


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


class KeyMap(ModalScreen[None]):
    """The page; any of Escape, F1 and q leaves it."""

    AUTO_FOCUS = "VerticalScroll"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f1,q", "dismiss(None)", "Back")]

    def __init__(self, keymap: Mapping[str, str]) -> None:
        super().__init__()
        self._keymap = keymap

    def compose(self) -> ComposeResult:
        """One text, so that it can be read from top to bottom."""
        with Vertical(classes="dialog -tall"), VerticalScroll():
            yield Static(id="keys")
        yield Footer()

    def on_resize(self) -> None:
        """What does not fit on a line goes on below its beginning."""
        self.call_after_refresh(lambda: self.query_one("#keys", Static).update(self._page()))

    def _page(self) -> Content:
        width = max(self.query_one(VerticalScroll).scrollable_content_region.width - _INDENT, 20)
        parts: list[Content] = []
        for heading, lines in key_map(self._keymap):
            parts.append(Content.styled(heading, "bold $text-primary"))
            for keys, about in lines:
                below = ("\n" + " " * _INDENT).join(wrap(about, width))
                parts.append(Content.assemble((f"  {keys:20}", "bold"), f" {below}"))
            parts.append(Content(""))
        parts.append(Content.styled(f"Keys can be changed in {FILE} in the home folder.", MUTED))
        return Content("\n").join(parts)


if __name__ == "__main__":
    sys.stdout.write(key_page())
