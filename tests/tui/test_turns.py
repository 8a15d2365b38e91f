"""Answering again, editing, forking, deleting, copying."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from localmem.errors import ModelCrashed
from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.tui.text import code_blocks

OpenChat = Callable[..., Any]

HOSTILE = ["[/b] [TODO]", "\x1b]52;c;eA==\x07esc", "lone \ud800", "שלום 👩‍👩‍👧"]


async def test_another_answer_takes_the_place_of_the_first_which_stays_in_reach(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["First.", "Second."])) as c:
        await c.say("tell me")
        await c.pilot.press("ctrl+r")
        await c.on_screen("Second.", "‹ 2/2 ›")
        await c.ready()
        assert "First." not in c.screen()
        await c.pilot.press("ctrl+up", "left")
        await c.on_screen("First.", "‹ 1/2 ›")
        assert "Second." not in c.screen()
        await c.until(lambda: c.app.focused.message.text == "First.")
        await c.pilot.press("right")
        await c.on_screen("Second.", "‹ 2/2 ›")
        assert c.stored() == ["tell me", "First.", "Second."]


async def test_the_same_answer_again_is_told_and_the_first_is_shown(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["Only this.", "Only this."])) as c:
        await c.say("tell me")
        await c.type("/again")
        await c.until(lambda: "The same answer came again" in c.notified())
        await c.until(lambda: c.views() == ["tell me", "Only this."])
        await c.ready()
        assert c.stored() == ["tell me", "Only this."]


async def test_answering_again_after_a_crash_keeps_the_first_answer_on_the_screen(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["First.", ModelCrashed("It died.")])) as c:
        await c.say("tell me")
        await c.pilot.press("ctrl+r")
        await c.on_screen("It died.", "First.")
        await c.ready()
        assert c.stored() == ["tell me", "First."]


async def test_what_was_said_is_edited_and_sent_again(chat: OpenChat, memory: Memory) -> None:
    model = ScriptedModel(["1", "2", "2b"])
    async with chat(model) as c:
        await c.say("one")
        await c.say("tow")
        await c.pilot.press("f4")
        await c.until(lambda: c.composer().text == "tow")
        assert "Editing" in c.screen()
        await c.type("two")
        await c.on_screen("2b", "‹ 2/2 ›")
        await c.ready()
        assert c.views() == ["one", "1", "two", "2b"]
        assert [m.text for m in model.history[-1]][1:] == ["one", "1", "two"]
        assert "Editing" not in c.screen()
        await c.pilot.press("ctrl+up", "up", "left")
        await c.until(lambda: c.views() == ["one", "1", "tow", "2"])


async def test_escape_leaves_the_editing_and_the_next_message_is_a_new_one(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["1", "2"])) as c:
        await c.say("one")
        await c.pilot.press("f4", "escape")
        await c.until(lambda: not c.composer().text)
        await c.say("two")
        assert c.views() == ["one", "1", "two", "2"]


async def test_an_edit_that_was_refused_stays_an_edit(chat: OpenChat, paced: Callable[..., Any]) -> None:
    model = paced("a", "b")
    async with chat(model) as c:
        await c.type("one")
        await c.until(model.waiting.is_set)
        await c.until(lambda: c.views() == ["one"])
        await c.pilot.press("f4")
        await c.until(lambda: "A reply is running" in c.notified())
        assert c.composer().text == ""
        model.release.set()
        await c.ready()


async def test_a_chat_goes_on_from_any_message(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["1", "2", "other"])) as c:
        await c.say("one")
        await c.say("two")
        await c.pilot.press("ctrl+up", "up", "up", "f")
        await c.until(lambda: c.views() == ["one", "1"])
        await c.until(lambda: c.composer().has_focus)
        await c.say("three")
        assert c.views() == ["one", "1", "three", "other"]
        assert c.stored() == ["one", "1", "two", "2", "three", "other"]


async def test_a_message_is_deleted_and_brought_back(chat: OpenChat, memory: Memory) -> None:
    async with chat(ScriptedModel(["1", "2"])) as c:
        await c.say("one")
        await c.say("two")
        await c.pilot.press("ctrl+up", "up", "x")
        await c.until(lambda: c.views() == ["one", "1", "2"])
        assert "two" not in c.stored()
        assert "brings it back" in c.notified()
        await c.until(lambda: c.app.focused.message.text == "1")
        await c.pilot.press("u")
        await c.until(lambda: c.views() == ["one", "1", "two", "2"])
        assert c.stored() == ["one", "1", "two", "2"]


async def test_with_nothing_deleted_undo_says_so(chat: OpenChat) -> None:
    async with chat(ScriptedModel()) as c:
        await c.type("/undo")
        await c.until(lambda: "nothing to bring back" in c.notified())
        assert c.composer().text == ""


@pytest.mark.parametrize("text", HOSTILE)
async def test_an_answer_is_copied_without_control_sequences(chat: OpenChat, text: str) -> None:
    async with chat(ScriptedModel([f"Yes: {text}"])) as c:
        await c.say("go")
        await c.pilot.press("f5")
        await c.until(lambda: "clipboard" in c.notified())
        assert c.app.clipboard.startswith("Yes: ")
        assert "\x1b" not in c.app.clipboard


async def test_a_code_block_is_copied_by_its_number_or_the_last(chat: OpenChat) -> None:
    answer = "First\n```python\na = 1\n```\nthen\n```\nb [/x]\n```\n"
    async with chat(ScriptedModel([answer])) as c:
        await c.say("code")
        await c.pilot.press("f9")
        await c.until(lambda: c.app.clipboard == "b [/x]\n")
        await c.type("/code 1")
        await c.until(lambda: c.app.clipboard == "a = 1\n")
        await c.type("/code 3")
        await c.until(lambda: "from 1 to 2" in c.notified())


async def test_without_messages_every_command_about_one_says_so(chat: OpenChat) -> None:
    async with chat(ScriptedModel()) as c:
        said = {
            "/again": "Nothing was answered",
            "/edit": "said nothing",
            "/delete": "no message",
            "/copy": "no answer",
            "/code": "no code block",
            "/fork": "Select a message",
            "/rename x": "Nothing was said",
        }
        for command, refusal in said.items():
            await c.type(command)
            await c.until(lambda refusal=refusal: refusal in c.notified())


def test_code_blocks_are_found_with_and_without_fences() -> None:
    assert code_blocks("a\n\n    indented\n\n~~~\nfenced\n~~~") == ["indented\n", "fenced\n"]
    assert code_blocks("none") == []
