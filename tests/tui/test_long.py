"""Sessions of thousands of messages: the last are there at once, others come before they are scrolled to."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from textual.events import MouseScrollUp

from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.tui.reading import entries_before
from localmem.types import NewMessage, NewSession, Role

OpenChat = Callable[..., Any]
MANY = 240
MOUNTED = 90
"""More than are ever mounted: the shortest messages, on all screens that are kept, and a batch of more."""


@pytest.fixture
def long(memory: Memory) -> int:
    roles = (Role.USER, Role.ASSISTANT)
    messages = tuple(NewMessage(roles[n % 2], f"line {n}") for n in range(MANY))
    memory.add(NewSession("chat", "long", messages, title="Long"))
    return memory.sessions()[0].id


async def settled(c: Any) -> None:
    """When what is near is mounted."""
    transcript = c.app.chat.talk.transcript
    await c.pilot.pause()
    await c.until(lambda: not transcript.waiting)
    await c.pilot.pause()


def rows(c: Any) -> list[str]:
    """The numbers of the lines that are on the screen, and on which rows."""
    return [
        f"{y}: {found[0]}"
        for y, row in enumerate(c.screen().split("\n"))
        if (found := re.search(r"line \d+", row))
    ]


async def test_of_a_long_session_only_the_end_is_mounted_at_first(
    chat: OpenChat, memory: Memory, long: int
) -> None:
    async with chat(ScriptedModel(), session_id=long) as c:
        await c.on_screen(f"line {MANY - 1}")
        await settled(c)
        mounted = c.views()
        assert len(mounted) < MOUNTED
        assert mounted == [f"line {n}" for n in range(MANY - len(mounted), MANY)]


async def test_scrolling_up_and_down_again_reaches_every_message_and_mounts_few(
    chat: OpenChat, memory: Memory, long: int
) -> None:
    async with chat(ScriptedModel(), session_id=long) as c:
        await c.on_screen(f"line {MANY - 1}")
        transcript = c.app.chat.talk.transcript
        read: list[set[int]] = []

        async def pages(turn: Callable[..., None], last: int) -> None:
            read.append(set())
            for _ in range(200):
                await c.pilot.pause()
                read[-1].update(int(n) for n in re.findall(r"line (\d+)", c.screen()))
                if last in read[-1]:
                    return
                turn()
                assert len(c.views()) < MOUNTED
            raise AssertionError(f"{last} was not reached")

        await pages(transcript.scroll_page_up, 0)
        await pages(transcript.scroll_page_down, MANY - 1)
        assert read == [set(range(MANY))] * 2  # no page jumped over a message
        assert c.views() == [f"line {n}" for n in range(MANY - len(c.views()), MANY)]


async def test_what_is_read_stays_where_it_is_while_more_comes_above_it(
    chat: OpenChat, memory: Memory, long: int
) -> None:
    async with chat(ScriptedModel(), session_id=long) as c:
        await c.on_screen(f"line {MANY - 1}")
        await settled(c)
        transcript = c.app.chat.talk.transcript
        first = transcript.first
        transcript.scroll_to(y=8)
        await c.pilot.pause()
        seen, place = rows(c), transcript.reading
        await settled(c)
        assert transcript.first < first
        assert (rows(c), transcript.reading) == (seen, place)


async def test_the_wheel_goes_on_from_where_it_was_after_more_came_above(
    chat: OpenChat, memory: Memory, long: int
) -> None:
    async with chat(ScriptedModel(), session_id=long) as c:
        await c.on_screen(f"line {MANY - 1}")
        await settled(c)
        transcript = c.app.chat.talk.transcript
        transcript.scroll_to(y=8)
        await settled(c)
        assert transcript.scroll_y > 8
        top = transcript.views[transcript.reading[0] - transcript.first + 1]
        row = top.region.y
        transcript.post_message(MouseScrollUp(transcript, 5, 5, 0, 0, 0, False, False, False, 5, 5))
        await settled(c)
        assert row < top.region.y < row + 6


async def test_a_page_is_turned_at_once_not_after_the_next_layout(
    chat: OpenChat, memory: Memory, long: int
) -> None:
    async with chat(ScriptedModel(), session_id=long) as c:
        await c.on_screen(f"line {MANY - 1}")
        await settled(c)
        transcript = c.app.chat.talk.transcript
        place = transcript.reading
        transcript.scroll_page_up()
        assert transcript.reading < place


async def test_what_was_read_for_another_place_is_not_shown(
    chat: OpenChat, memory: Memory, long: int
) -> None:
    async with chat(ScriptedModel(), session_id=long) as c:
        await c.on_screen(f"line {MANY - 1}")
        await settled(c)
        talk, mounted = c.app.chat.talk, c.views()
        entries = entries_before(memory, talk.way, 100)
        await talk.transcript.extend(entries, 100, older=True)
        await settled(c)
        assert c.views() == mounted


async def test_a_terminal_that_gets_narrower_keeps_what_is_read_at_the_top(
    chat: OpenChat, memory: Memory
) -> None:
    words = "and so on " * 30
    messages = tuple(NewMessage(Role(("user", "assistant")[n % 2]), f"line {n} {words}") for n in range(60))
    memory.add(NewSession("chat", "wide", messages))
    async with chat(ScriptedModel(), session_id=1) as c:
        await c.on_screen("line 59")
        await settled(c)
        transcript = c.app.chat.talk.transcript
        transcript.scroll_page_up()
        await settled(c)
        place, _ = transcript.reading
        await c.pilot.resize_terminal(60, 30)
        await settled(c)
        assert transcript.reading[0] == place
        transcript.scroll_end()
        await settled(c)
        await c.pilot.resize_terminal(100, 30)
        await settled(c)
        assert "line 59" in c.screen()


async def test_selecting_message_after_message_goes_on_past_what_was_mounted(
    chat: OpenChat, memory: Memory, long: int
) -> None:
    async with chat(ScriptedModel(), session_id=long) as c:
        await c.on_screen(f"line {MANY - 1}")
        await c.pilot.press("ctrl+up")
        for n in range(MANY - 1, MANY - 60, -1):
            await c.until(lambda n=n: c.app.focused.message.text == f"line {n}")
            await c.until(lambda n=n: re.search(rf"line {n}\b", c.screen()))
            await c.pilot.press("k")
        assert f"line {MANY - 1}" not in c.views()


async def test_a_selected_message_that_is_left_far_behind_hands_the_selection_on(
    chat: OpenChat, memory: Memory, long: int
) -> None:
    async with chat(ScriptedModel(), session_id=long) as c:
        await c.on_screen(f"line {MANY - 1}")
        await c.pilot.press("ctrl+up")
        transcript = c.app.chat.talk.transcript
        for _ in range(8):
            place = transcript.reading
            transcript.scroll_page_up()
            await settled(c)
            assert transcript.reading < place  # it does not go back to what is selected
        assert f"line {MANY - 1}" not in c.views()
        await c.pilot.press("c")
        await c.until(lambda: c.app.clipboard in c.views())


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


async def test_a_message_that_is_jumped_to_is_a_third_below_the_top(
    chat: OpenChat, memory: Memory, long: int
) -> None:
    async with chat(ScriptedModel(), session_id=long) as c:
        await c.on_screen(f"line {MANY - 1}")
        for n in (0, 3, 70, MANY - 2):
            c.app.chat.talk.open(long, memory.messages(long)[n].id)
            await c.until(lambda n=n: re.search(rf"line {n}\b", c.screen()) and not c.app.chat.talk.opening)
            await settled(c)
            assert re.search(rf"line {n}\b", c.screen())
            assert c.app.focused.message.text == f"line {n}"


async def test_a_chat_that_grows_long_lets_go_of_its_oldest_messages(
    chat: OpenChat, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localmem.tui.transcript.AHEAD", 0)
    monkeypatch.setattr("localmem.tui.transcript.KEPT", 0)
    async with chat(ScriptedModel(lambda _: "ok")) as c:
        for n in range(12):
            await c.say(f"message {n}")
        assert "message 0" not in c.views()
        assert c.views()[-2:] == ["message 11", "ok"]
        assert memory.sessions()[0].messages == 24
