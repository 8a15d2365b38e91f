"""Sessions of thousands of messages: the last are there at once, others come as they are scrolled to."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.tui.reading import BATCH_MESSAGES
from localmem.tui.transcript import MOUNTED
from localmem.types import NewMessage, NewSession, Role

OpenChat = Callable[..., Any]
MANY = 240


@pytest.fixture
def long(memory: Memory) -> int:
    roles = (Role.USER, Role.ASSISTANT)
    messages = tuple(NewMessage(roles[n % 2], f"line {n}") for n in range(MANY))
    memory.add(NewSession("chat", "long", messages, title="Long"))
    return memory.sessions()[0].id


async def test_of_a_long_session_only_the_end_is_mounted_at_first(
    chat: OpenChat, memory: Memory, long: int
) -> None:
    async with chat(ScriptedModel(), session_id=long) as c:
        await c.on_screen(f"line {MANY - 1}")
        assert c.views() == [f"line {n}" for n in range(MANY - BATCH_MESSAGES, MANY)]


async def test_scrolling_up_and_down_again_reaches_every_message_and_mounts_few(
    chat: OpenChat, memory: Memory, long: int
) -> None:
    async with chat(ScriptedModel(), session_id=long) as c:
        await c.on_screen(f"line {MANY - 1}")
        transcript = c.app.chat.talk.transcript
        seen: set[str] = set()

        async def pages(turn: Callable[..., None], last: str) -> None:
            for _ in range(200):
                seen.update(c.views())
                turn(animate=False)
                await c.pilot.pause()
                await c.until(lambda: not transcript.waiting)
                assert len(c.views()) <= MOUNTED + BATCH_MESSAGES
                if re.search(rf"{last}\b", c.screen()):
                    return
            raise AssertionError(f"{last} was not reached")

        await pages(transcript.scroll_page_up, "line 0")
        assert seen == {f"line {n}" for n in range(MANY)}
        await pages(transcript.scroll_page_down, f"line {MANY - 1}")
        assert c.views() == [f"line {n}" for n in range(MANY - len(c.views()), MANY)]


async def test_what_is_read_stays_where_it_is_while_more_comes_above_it(
    chat: OpenChat, memory: Memory, long: int
) -> None:
    async with chat(ScriptedModel(), session_id=long) as c:
        await c.on_screen(f"line {MANY - 1}")
        transcript = c.app.chat.talk.transcript
        transcript.scroll_to(y=8, animate=False)
        await c.until(lambda: len(c.views()) == 2 * BATCH_MESSAGES)
        view = transcript.views[BATCH_MESSAGES + 3]
        await c.until(lambda: f"line {MANY - BATCH_MESSAGES + 3}\n" in c.screen())
        assert 0 <= view.virtual_region.y - transcript.scroll_y < transcript.size.height


async def test_a_message_said_while_far_up_is_shown_at_the_end(
    chat: OpenChat, memory: Memory, long: int
) -> None:
    async with chat(ScriptedModel(["Heard."]), session_id=long) as c:
        await c.on_screen(f"line {MANY - 1}")
        c.app.chat.talk.open(long, memory.messages(long)[70].id)
        await c.on_screen("line 70", "line 69")
        await c.say("back to the present")
        await c.on_screen("back to the present", "Heard.", f"line {MANY - 1}")
        assert c.views()[-3:] == [f"line {MANY - 1}", "back to the present", "Heard."]


async def test_answering_again_while_far_up_comes_back_to_the_end(
    chat: OpenChat, memory: Memory, long: int
) -> None:
    async with chat(ScriptedModel(["Anew."]), session_id=long) as c:
        await c.on_screen(f"line {MANY - 1}")
        c.app.chat.talk.open(long, memory.messages(long)[70].id)
        await c.on_screen("line 70")
        await c.pilot.press("escape")
        await c.type("/again")
        await c.on_screen("Anew.", f"line {MANY - 2}")
        assert f"line {MANY - 1}" not in c.views()


async def test_a_chat_that_grows_long_lets_go_of_its_oldest_messages(
    chat: OpenChat, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localmem.tui.transcript.MOUNTED", 4)
    async with chat(ScriptedModel(lambda _: "ok")) as c:
        for n in range(4):
            await c.say(f"message {n}")
        assert c.views() == ["message 2", "ok", "message 3", "ok"]
        assert memory.sessions()[0].messages == 8
