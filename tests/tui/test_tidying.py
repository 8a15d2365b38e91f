"""Deleting and bringing back, one after the other, as fast as keys come; and what was looked for is seen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from textual.widgets import OptionList

from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.tui.finding import excerpt, words_in
from localmem.types import NewMessage, NewSession, Role

OpenChat = Callable[..., Any]


def sessions(memory: Memory, *titles: str) -> None:
    for title in titles:  # the last is listed first
        memory.add(NewSession("chat", title, (NewMessage(Role.USER, f"about {title}"),), title=title))


def highlighted(c: Any) -> str:
    line = c.app.screen.query_one(OptionList).highlighted_option
    return str(line.prompt).split("  ")[-1] if line else ""


async def test_three_sessions_are_deleted_without_a_pause_and_brought_back_one_by_one(
    chat: OpenChat, memory: Memory
) -> None:
    sessions(memory, "five", "four", "three [/b]", "two", "one")
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("ctrl+o")
        await c.on_screen("5 sessions")
        await c.pilot.press("down", "ctrl+x", "ctrl+x", "ctrl+x")
        await c.on_screen("2 sessions", "Ctrl+Z brings it back: four")
        assert [session.title for session in memory.sessions()] == ["one", "five"]
        await c.until(lambda: highlighted(c) == "five")
        for number, title in ((3, "four"), (4, "three [/b]"), (5, "two")):
            await c.pilot.press("ctrl+z")
            await c.on_screen(f"{number} sessions", f"Back again: {title}")
            await c.until(lambda title=title: highlighted(c) == title)
    assert {session.title for session in memory.sessions()} == {"one", "two", "three [/b]", "four", "five"}


async def test_the_last_line_and_one_put_away_leave_the_line_beside_them_highlighted(
    chat: OpenChat, memory: Memory
) -> None:
    sessions(memory, "three", "two", "one")
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("ctrl+o")
        await c.on_screen("3 sessions")
        await c.pilot.press("down", "down", "ctrl+x")
        await c.until(lambda: highlighted(c) == "two")
        await c.pilot.press("up", "ctrl+s")
        await c.on_screen("1 session,", "Put away: one")
        await c.until(lambda: highlighted(c) == "two")
        await c.pilot.press("ctrl+x")
        await c.on_screen("No sessions yet.")
        await c.pilot.press("ctrl+x")
        await c.on_screen("Select a session first.")


@pytest.fixture
def slow_bin(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Deleting and bringing back wait for this."""
    go = threading.Event()
    restore, delete = memory.undo_delete, memory.delete_session

    def waiting(act: Callable[..., Any]) -> Callable[..., Any]:
        def wait(*arguments: int) -> Any:
            assert go.wait(5)
            return act(*arguments)

        return wait

    monkeypatch.setattr(memory, "undo_delete", waiting(restore))
    monkeypatch.setattr(memory, "delete_session", waiting(delete))
    return go


async def test_the_chat_can_be_used_while_something_long_is_deleted_or_brought_back(
    chat: OpenChat, memory: Memory, slow_bin: threading.Event
) -> None:
    async with chat(ScriptedModel(["1", "2"])) as c:
        await c.say("one")
        await c.type("/delete-chat")
        await c.pilot.press(*"draft")
        await c.until(lambda: c.composer().text == "draft")
        slow_bin.set()
        await c.until(lambda: not c.views())
        await c.until(lambda: "“one” is deleted" in c.notified())
        slow_bin.clear()
        await c.type("/undo")
        await c.until(lambda: "Bringing it back…" in c.status())
        await c.type("sent too early")
        await c.until(lambda: c.composer().text == "sent too early")
        assert memory.sessions() == []
        slow_bin.set()
        await c.until(lambda: c.views() == ["one", "1"])
        await c.until(lambda: "is ready" in c.status())
        await c.pilot.press("enter")
        await c.until(lambda: c.views() == ["one", "1", "sent too early", "2"])


async def test_what_a_message_was_found_for_is_seen_however_late_it_stands_in_it(
    chat: OpenChat, memory: Memory
) -> None:
    message = NewMessage(Role.USER, "word " * 400 + "and then [/b] the walrus came " + "word " * 400)
    memory.add(NewSession("chat", "x", (message,), title="A title of some length [TODO]"))
    memory.wait_embedded()
    async with chat(ScriptedModel(), size=(60, 20)) as c:
        await c.type("/sessions walrus")
        await c.on_screen("A title of some length [TODO]", "[/b] the walrus came")


def test_an_excerpt_begins_shortly_before_the_words() -> None:
    words = words_in("Walrus tusk")
    assert excerpt("the walrus", words) == "the walrus"
    assert excerpt("none", words) == "none"
    assert excerpt("x" * 1000 + "\nwalrus [/b]\x1b[2J", words).endswith("walrus [/b]")
    long = excerpt("many words " * 50 + "a WALRUS\nand more " * 50, words)
    assert long.startswith("…")
    assert "a WALRUS and more" in long
    assert words_in("  ") is None
    assert words_in("[/") is not None
