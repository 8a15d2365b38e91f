"""The main screens at two sizes and in two themes, as they were looked at and found good.

``LOCALMEM_WRITE_SNAPSHOTS=1`` writes them anew; look at them before they are kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from localmem.memory import Memory
from localmem.models.protocols import StopReason
from localmem.models.scripted import ScriptedModel
from localmem.store.replies import StoredNeed, StoredReply
from localmem.types import Ledger, NewMessage, NewSession, Role

OpenChat = Callable[..., Any]
FOLDER = Path(__file__).parent / "snapshots"
WRITE = bool(os.environ.get("LOCALMEM_WRITE_SNAPSHOTS"))
ANSWER = """You planted the **pear tree** on 14 March 2021, behind the shed [1].

```python
def age(year: int) -> int:
    return year - 2021
```

| year | pears |
|------|-------|
| 2024 | 11    |
| 2025 | 60    |
"""


def session(title: str, day: int, *texts: str, source: str = "chat") -> NewSession:
    roles = (Role.USER, Role.ASSISTANT)
    at = datetime(2021, 3, day, 9, 30, tzinfo=UTC)
    said = tuple(NewMessage(roles[n % 2], text, sent_at=at) for n, text in enumerate(texts))
    return NewSession(source, title, said, title=title, started_at=at)


@pytest.fixture
def remembered(memory: Memory) -> Memory:
    planted, _ = memory.add(
        session("The garden [/b] in spring", 14, "Today I planted a pear tree.", "Where?")
    )
    memory.add(session("A walk to the sea", 20, "We walked for six hours.", "A long way."))
    _, answer = memory.add(
        session("When was the tree planted?", 28, "When did I plant the pear tree?", ANSWER)
    )
    ledger = Ledger(records=1, sessions_opened=1, messages=6, tokens_written=31, seconds={"answer": 2.4})
    rests = StoredReply(
        citations=(planted,),
        stop_reason=StopReason.END.value,
        ledger=ledger,
        recalled=((planted, "raw"),),
        needs=(StoredNeed((11, 30), (planted,)), StoredNeed((), ())),
    )
    memory._replies.put(answer, rests)
    memory.pins.add("Today I planted a pear tree.", [planted])
    return memory


async def answered(c: Any) -> None:
    c.app.chat.open_session(next(s.id for s in c.memory.sessions() if s.title.startswith("When")))
    await c.on_screen("2025", "60")


async def rested(c: Any) -> None:
    await answered(c)
    await c.pilot.press("ctrl+t")
    await c.on_screen("What the question requires", "not found", "Cited")


async def held(c: Any) -> None:
    await c.pilot.press("f3")
    await c.on_screen("Layers: summaries", "Pinned", "The garden [/b] in spring")


async def listed(c: Any) -> None:
    await c.pilot.press("ctrl+o")
    await c.on_screen("The garden [/b] in spring", "A walk to the sea")


async def helped(c: Any) -> None:
    await c.pilot.press("f1")
    await c.on_screen("While you write", "the pages of the chat")


SCREENS = {"chat": answered, "evidence": rested, "memory": held, "sessions": listed, "help": helped}


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("size", [(60, 20), (100, 30)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("screen", SCREENS.values(), ids=SCREENS)
async def test_the_screen_is_as_it_was_found_good(
    chat: OpenChat,
    remembered: Memory,
    screen: Callable[[Any], Any],
    size: tuple[int, int],
    theme: str,
    request: pytest.FixtureRequest,
) -> None:
    name = request.node.callspec.id
    async with chat(ScriptedModel(), size=size) as c:
        c.app.animation_level = "none"
        c.app.theme = theme
        c.composer().cursor_blink = False
        await c.on_screen("in memory", "Say something.")
        await screen(c)
        for line in c.app.screen.query(Input):
            line.cursor_blink = False
        await c.pilot.pause()
        found = plain(c.app.export_screenshot(title="localmem"))
    path = FOLDER / f"{name}.svg"
    if WRITE:
        FOLDER.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8"), (
        f"{path.name} looks otherwise now. If that is wanted: LOCALMEM_WRITE_SNAPSHOTS=1, look, and keep it."
    )


def plain(svg: str) -> str:
    """The picture without the number in its names, and without fonts from a network."""
    return re.sub(r"\s*@font-face \{.*?\}", "", re.sub(r"terminal-\d+", "terminal", svg), flags=re.DOTALL)
