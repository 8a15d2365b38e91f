"""Pinned facts: pinned where they are read, listed and taken away among what memory holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.tui.layer_view import LayerView
from localmem.types import NewSession

OpenChat = Callable[..., Any]
Said = Callable[..., NewSession]


@pytest.fixture
def filled(memory: Memory, said: Said) -> Memory:
    memory.add(said("My cat is called Miso [x/].", "Cute.", session="cat"))
    return memory


def pinned(memory: Memory) -> list[str]:
    return [pin.text for pin in memory.pins.all()]


async def test_a_message_is_pinned_by_a_key_and_the_key_takes_the_pin_away(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["Noted."])) as c:
        await c.say("I am vegan.")
        await c.pilot.press("ctrl+up", "up")
        await c.until(
            lambda: c.app.chat.selected() is not None and c.app.chat.selected().message.text != "Noted."
        )
        await c.pilot.press("p")
        await c.until(lambda: pinned(c.memory) == ["I am vegan."])
        await c.until(lambda: "with every message" in c.notified())
        await c.pilot.press("p")
        await c.until(lambda: pinned(c.memory) == [])


async def test_the_command_pins_what_was_said_last_and_the_model_has_it_from_then_on(chat: OpenChat) -> None:
    model = ScriptedModel(["Noted.", "Beans."])
    async with chat(model) as c:
        await c.say("I am vegan.")
        await c.type("/pin")
        await c.until(lambda: pinned(c.memory) == ["I am vegan."])
        await c.pilot.press("ctrl+n")
        await c.say("Suggest a supper.")
        assert "(pinned): I am vegan." in model.history[-1][-1].text


async def test_a_long_message_says_what_to_pin_instead(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["Noted."])) as c:
        await c.say("I am vegan. " * 50)
        await c.type("/pin")
        await c.until(lambda: "at most 500 characters" in c.notified() and "F3" in c.notified())
        assert pinned(c.memory) == []


async def test_nothing_of_a_private_chat_can_be_pinned(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["Noted."]), private=True) as c:
        await c.say("I am vegan.")
        await c.type("/pin")
        await c.until(lambda: "private chat keeps nothing" in c.notified())
        assert pinned(c.memory) == []


async def test_a_fact_is_pinned_in_the_layers_of_its_session_and_marked(
    chat: OpenChat, filled: Memory
) -> None:
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("f3")
        await c.on_screen("1 session, 2 messages")
        await c.pilot.press("enter")
        await c.until(lambda: isinstance(c.app.screen, LayerView))
        await c.pilot.press("1")
        await c.until(lambda: c.app.screen._place == 1 and "Reading" not in c.screen())
        await c.pilot.press("p")
        await c.on_screen("  pinned")
        (fact,) = filled.pins.all()
        assert "Miso [x/]" in fact.text
        await c.pilot.press("escape")
        await c.on_screen("Pinned: ", f"You: {fact.text}", "Unpin")
        await c.pilot.press("enter")
        await c.until(lambda: isinstance(c.app.screen, LayerView))  # the session is still highlighted
        await c.pilot.press("1")
        await c.on_screen("  pinned")
        await c.pilot.press("p")
        await c.until(lambda: "  pinned" not in c.screen())
        assert pinned(filled) == []


async def test_pins_stand_above_the_sessions_open_their_message_and_are_taken_away_and_brought_back(
    chat: OpenChat, filled: Memory
) -> None:
    (message, _) = filled.messages(filled.sessions()[0].id)
    filled.pins.add("The cat is Miso [/x].", [message.id])
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("f3")
        await c.on_screen("Pinned: ", "The cat is Miso [/x].", "Sessions")
        await c.pilot.press("ctrl+x")
        await c.until(lambda: pinned(filled) == [])
        await c.on_screen("Not pinned any more.", "Pin again")
        await c.until(lambda: "The cat is Miso" not in c.screen() and "Unpin" not in c.screen())
        await c.pilot.press("ctrl+z")
        await c.on_screen("The cat is Miso [/x].")
        assert pinned(filled) == ["The cat is Miso [/x]."]
        await c.pilot.press("enter")
        await c.until(lambda: c.app.screen is c.app.chat and "My cat is called Miso [x/]." in c.views())


async def test_only_what_is_pinned_is_taken_away(chat: OpenChat, filled: Memory) -> None:
    (message, _) = filled.messages(filled.sessions()[0].id)
    filled.pins.add("The cat is Miso.", [message.id])
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("f3")
        await c.on_screen("Pinned: ", "Unpin")
        await c.pilot.press("down", "ctrl+x")
        await c.on_screen("Select something that is pinned first.")
        assert pinned(filled) == ["The cat is Miso."]
        await c.pilot.press(*"cat")
        await c.until(lambda: "best first" in c.screen() and "Unpin" not in c.screen())
