"""A chat under test: an application over a memory without weights, and a model that writes when told."""

from __future__ import annotations

import html
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from localmem.layers.idle import IdleBuilder
from localmem.memory import Memory
from localmem.models.protocols import ChatMessage, ChatModel, Finished, Sampling, StopReason, TextDelta
from localmem.models.scripted import ScriptedModel
from localmem.tui.app import ChatApp
from localmem.tui.composer import Composer

SIZE = (100, 40)
PATIENCE = 10.0
HOSTILE = [
    ("[TODO] call", "[TODO] call"),
    ("[/", "[/"),
    ("[/bold] x [bold]y[/bold]", "[/bold] x [bold]y[/bold]"),
    ("[TODO]: http://x.example", "[TODO]: http://x.example"),
    ("<div>kept</div>", "<div>kept</div>"),
    ("[@click=app.quit]go[/]", "[@click=app.quit]go[/]"),
    ("\x1b]52;c;c2VjcmV0\x07clip", "clip"),
    ("\x1b[2J\x1b[31mred", "red"),
    ("\\[/ $x", "[/ $x"),
    ("שלום עולם", "שלום עולם"),
    ("👩‍👩‍👧 ok", "ok"),
    ("lone \ud800 here", "lone ? here"),
    ("a\x00b", "ab"),
    ("line\u2028break", "break"),
]
"""Texts that a terminal or a markup may take for orders, each with what is to be seen of it."""


class PacedModel(ScriptedModel):
    """Writes ``before``, then waits for ``release`` or the cancel event, then writes or raises ``after``."""

    def __init__(self, before: str, after: str | Exception = "") -> None:
        super().__init__(name="paced")
        self.before = before
        self.after = after
        self.waiting = threading.Event()
        self.release = threading.Event()

    def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        max_tokens: int,
        fixed: int = 0,
        grammar: str | None = None,
        sampling: Sampling | None = None,
        think: int = 0,
        cancel: threading.Event | None = None,
        deadline: float | None = None,
    ) -> Iterator[TextDelta | Finished]:
        assert cancel is not None
        yield TextDelta(self.before)
        self.waiting.set()
        while not self.release.is_set() and not cancel.wait(0.01):
            pass
        if cancel.is_set():
            yield Finished(StopReason.CANCELLED, 1, 0, 1, 0.0, 0.0)
            return
        if isinstance(self.after, Exception):
            raise self.after
        yield TextDelta(self.after)
        yield Finished(StopReason.END, 1, 0, 2, 0.0, 0.0)


@dataclass
class Chat:
    """A running chat and what a person can do with it."""

    app: ChatApp
    pilot: Pilot[None]
    memory: Memory

    async def until(self, condition: Callable[[], Any], seconds: float = PATIENCE) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"not within {seconds} s; on the screen:\n{self.screen()}"
            await self.pilot.pause(0.01)

    async def ready(self) -> None:
        await self.until(lambda: "is ready" in self.status() and self.app.chat.talk.cancel is None)

    async def on_screen(self, *texts: str) -> None:
        """Wait until all of these are on the screen."""
        await self.until(lambda: all(text in self.screen() for text in texts))

    async def type(self, text: str) -> None:
        self.composer().focus()
        self.composer().text = text
        await self.pilot.press("enter")

    async def say(self, text: str) -> None:
        """Send and wait for the end of the reply."""
        await self.type(text)
        await self.until(lambda: not self.composer().text)
        await self.ready()

    def composer(self) -> Composer:
        return self.app.chat.query_one(Composer)

    def status(self) -> str:
        return str(self.app.chat.query_one("#status", Static).content)

    def screen(self) -> str:
        """The characters on the screen."""
        rows: dict[float, list[tuple[float, str]]] = {}
        pattern = r'<text class="[^"]*" x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>'
        for x, y, text in re.findall(pattern, self.app.export_screenshot(), re.DOTALL):
            rows.setdefault(float(y), []).append((float(x), html.unescape(text).replace("\xa0", " ")))
        return "\n".join("".join(piece for _, piece in sorted(row)) for _, row in sorted(rows.items()))

    def notified(self) -> str:
        return "\n".join(notification.message for notification in self.app._notifications)

    def views(self) -> list[str]:
        """What the mounted messages hold, in order."""
        return [view.message.text for view in self.app.chat.talk.transcript.views if view.message]

    def stored(self) -> list[str]:
        """Texts of all sessions' messages."""
        return [m.text for s in self.memory.sessions() for m in self.memory.messages(s.id)]


@pytest.fixture
def chat(memory: Memory) -> Callable[..., Any]:
    """``async with chat(model) as c``: the chat, when the model is ready unless ``ready=False``."""

    @asynccontextmanager
    async def open_chat(
        model: ChatModel | Callable[[], ChatModel],
        *,
        session_id: int | None = None,
        ready: bool = True,
        tooltips: bool = False,
        idle: IdleBuilder | None = None,
        private: bool = False,
        home: Path | None = None,
        size: tuple[int, int] = SIZE,
    ) -> Any:
        load = model if not isinstance(model, ChatModel) else lambda: model
        app = ChatApp(memory, load, session_id, idle=idle, private=private, home=home)
        async with app.run_test(size=size, tooltips=tooltips) as pilot:
            chat = Chat(app, pilot, memory)
            if ready:
                await chat.ready()
            yield chat

    return open_chat


@pytest.fixture
def paced() -> type[PacedModel]:
    return PacedModel


@pytest.fixture(params=HOSTILE, ids=range(len(HOSTILE)))
def hostile(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A hostile text, and what is to be seen of it."""
    pair: tuple[str, str] = request.param
    return pair
