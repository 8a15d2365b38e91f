"""Hostile text in the panels: evidence, memory, layers, pins, dialogs, palette, notifications."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from localmem.entries import Layer
from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.tui.evidence import Evidence
from localmem.tui.layer_view import LayerView
from localmem.types import NewMessage, NewSession, Role

OpenChat = Callable[..., Any]


def session_of(text: str) -> NewSession:
    said = (
        NewMessage(Role.USER, f"My bicycle is called {text}.", speaker=text),
        NewMessage(Role.ASSISTANT, f"{text} it is."),
    )
    return NewSession("import", "s1", said, title=text)


async def test_the_evidence_of_an_answer_shows_it(
    chat: OpenChat, memory: Memory, hostile: tuple[str, str]
) -> None:
    text, seen = hostile
    memory.add(session_of(text))
    async with chat(ScriptedModel([f"<think>{text}</think>It is {text}."])) as c:
        await c.say(f"What is my bicycle called, {text}?")
        await c.pilot.press("ctrl+t")
        await c.until(lambda: isinstance(c.app.screen, Evidence) and c.screen().count(seen) >= 2)
        assert "\x1b" not in c.screen()


async def test_what_memory_holds_shows_it_in_sessions_pins_layers_and_hits(
    chat: OpenChat, memory: Memory, hostile: tuple[str, str]
) -> None:
    text, seen = hostile
    memory.add(session_of(text))
    (session,) = memory.sessions()
    (message, _) = memory.messages(session.id)
    memory.pins.add(message.text, [message.id])
    memory.layer(session.id, Layer.FACTS)
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("f3")
        await c.until(lambda: "Pinned" in c.screen() and c.screen().count(seen) >= 2)
        await c.pilot.press(*"bicycle")
        await c.until(lambda: "the best first" in c.screen() and seen in c.screen())
        await c.pilot.press("escape")
        await c.until(lambda: "Sessions" in c.screen())
        await c.pilot.press("down", "enter")
        await c.until(lambda: isinstance(c.app.screen, LayerView))
        for layer in range(4):
            await c.pilot.press(str(layer))
            await c.until(lambda layer=layer: c.app.screen._place == layer and "Reading" not in c.screen())
            await c.until(lambda: c.screen().count(seen) >= 2)
            assert "\x1b" not in c.screen()


async def test_dialogs_notifications_and_the_palette_take_it(
    chat: OpenChat, memory: Memory, hostile: tuple[str, str]
) -> None:
    text, seen = hostile
    async with chat(ScriptedModel(["Good."])) as c:
        await c.say(f"bicycle {text}")
        await c.pilot.press("f2")
        await c.until(lambda: c.app.screen is not c.app.chat)
        await c.pilot.press("escape")
        await c.type(f"/rename {text}")
        await c.until(lambda: seen in c.screen().splitlines()[0])
        await c.type(f"/theme {text}")
        await c.until(lambda: c.notified())
        await c.pilot.press("ctrl+p")
        await c.until(lambda: c.app.screen is not c.app.chat)
        await c.pilot.press(*(character for character in text if character.isprintable()))
        await c.pilot.pause()
        assert "\x1b" not in c.screen()
        await c.pilot.press("escape")
        await c.until(lambda: c.app.screen is c.app.chat)
