"""Every letter on the screen can be read, in every theme."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.color import Color

from localmem.home import Home
from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.tui.app import ChatApp
from localmem.tui.models_picker import Models
from localmem.tui.views import Plain
from localmem.types import NewMessage, NewSession, Role

OpenChat = Callable[..., Any]

# What WCAG asks of text: 4.5 at least, 7 where contrast is what was chosen.
LEAST = {"dark": 4.5, "light": 4.5, "contrast": 7.0, "plain": 7.0}
REPLY = """\
# Head

Text with `code`, **bold**, [a link](x) and

> a quotation

- one

```python
def f(x):  # why
    return 'text', 12
```
"""


def luminance(colour: Color) -> float:
    parts = [part / 255 for part in colour.get_truecolor()]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Color, other: Color) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def letters(app: ChatApp) -> Iterator[tuple[str, Color, Color]]:
    """Text on the screen with its colour and the one behind it, as they are sent to the terminal.

    What a window lies over is dimmed on purpose and not among them.
    """
    for y, strip in enumerate(app.screen._compositor.render_strips()):
        x = 0
        for text, style, _ in strip:
            over = app.screen.get_widget_at(x, y)[0] is not app.screen
            x += cell_len(text)
            written = any(unicodedata.category(c)[0] in "LN" for c in text)
            if over and written and style and style.color and style.bgcolor:
                pair = (style.color, style.bgcolor)
                yield text, *(reversed(pair) if style.reverse else pair)


def faint(app: ChatApp, least: float) -> list[str]:
    return [
        f"{text.strip()!r} {contrast(ink, paper):.1f}"
        for text, ink, paper in letters(app)
        if contrast(ink, paper) < least
    ]


@pytest.mark.parametrize("theme", LEAST)
async def test_every_letter_stands_out_from_what_is_behind_it(
    chat: OpenChat, memory: Memory, theme: str, tmp_path: Path
) -> None:
    said = (NewMessage(Role.USER, "What is my cat called?"), NewMessage(Role.ASSISTANT, REPLY))
    memory.add(NewSession("chat", "z", said, title="The cat"))
    home = Home(tmp_path)
    seen = 0
    async with chat(ScriptedModel([REPLY] * 3), session_id=1) as c:
        c.app.theme = theme
        c.app.models = Models(home.library, home.team)
        await c.on_screen("What is my cat called?")
        await c.say("Which cat is it?")
        await c.app.chat.talk.transcript.add(Plain("It failed.", "failure"))
        for keys, shown in (
            ((), "It failed."),
            (("/",), "/new"),
            (("ctrl+up",), "Again"),
            (("ctrl+o",), "The cat"),
            (("escape", "ctrl+t"), "Nothing is cited"),
            (("escape", "f3"), "1 session"),
            (("escape", "ctrl+l"), "Enter gives a role"),
            (("escape", "f1"), "While you write"),
            (("escape", "ctrl+p"), "/new"),
        ):
            await c.pilot.press(*keys)
            await c.on_screen(shown)
            await c.pilot.pause()
            seen += len(list(letters(c.app)))
            assert not faint(c.app, LEAST[theme]), (keys, faint(c.app, LEAST[theme]))
    home.close()
    assert seen > 200
