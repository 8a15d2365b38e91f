from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from textual.widgets import OptionList

from localmem.errors import BadInput
from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.tui import session_to_open
from localmem.tui.sessions import SessionList
from localmem.tui.text import SHOWN_MESSAGES
from localmem.tui.transcript import Said
from localmem.types import NewMessage, NewSession, Role

OpenChat = Callable[..., Any]


def talk(memory: Memory, *texts: str, session_id: int | None = None) -> int:
    for text in texts:
        *_, last = memory.chat(text, model=ScriptedModel(["Reply."]), session_id=session_id)
        session_id = last.message.session_id  # type: ignore[union-attr]
    assert session_id is not None
    return session_id


async def test_a_chat_chosen_in_the_list_is_shown_and_goes_on(chat: OpenChat, memory: Memory) -> None:
    older = talk(memory, "about the garden", "and the hedge")
    talk(memory, "about the roof")
    async with chat(ScriptedModel(["Going on."])) as c:
        await c.pilot.press("ctrl+o")
        await c.until(lambda: "2 sessions, newest first" in c.screen())
        listed = c.screen()
        assert listed.index("about the roof") < listed.index("about the garden")
        await c.pilot.press("down", "enter")
        await c.until(lambda: "and the hedge" in c.screen())
        await c.say("what next")
        assert [m.text for m in memory.messages(older)][-2:] == ["what next", "Going on."]


async def test_escape_leaves_the_list_and_the_session_as_it_was(chat: OpenChat, memory: Memory) -> None:
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("ctrl+o")
        await c.until(lambda: "No sessions yet." in c.screen())
        await c.pilot.press("escape")
        await c.until(lambda: not isinstance(c.app.screen, SessionList))
        assert c.composer().has_focus


async def test_an_imported_session_can_be_read_but_not_continued(
    chat: OpenChat, memory: Memory, said: Callable[..., NewSession]
) -> None:
    memory.add(said("Where is the key?", "Under the *mat*.", at=datetime(2026, 1, 2, tzinfo=UTC)))
    session = memory.sessions()[0]
    async with chat(ScriptedModel(["ok"]), session_id=session.id, ready=False) as c:
        await c.until(lambda: "Under the mat." in c.screen())
        assert "read only" in c.screen()
        assert c.composer().disabled
        await c.pilot.press("ctrl+n")
        await c.until(lambda: not c.composer().disabled)
        await c.say("fresh")
        assert memory.session(session.id).messages == 2


async def test_of_a_long_session_the_end_is_shown_and_the_rest_is_named(
    chat: OpenChat, memory: Memory
) -> None:
    messages = tuple(NewMessage(Role.USER, f"line {n}") for n in range(SHOWN_MESSAGES + 50))
    memory.add(NewSession("chat", "long", messages, title="Long"))
    session = memory.sessions()[0]
    async with chat(ScriptedModel(), session_id=session.id) as c:
        await c.until(lambda: len(c.app.chat.query(Said)) == SHOWN_MESSAGES)
        assert f"line {SHOWN_MESSAGES + 49}" in c.screen()
        await c.pilot.press("shift+tab", "home")
        await c.until(lambda: f"50 older messages: localmem show {session.id}" in c.screen())


async def test_many_sessions_open_at_once_and_the_list_says_what_it_leaves_out(
    chat: OpenChat, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localmem.tui.sessions.LISTED", 3)
    for n in range(5):
        memory.add(NewSession("notes", f"n{n}", (NewMessage(Role.USER, f"note {n}"),)))
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("ctrl+o")
        await c.until(lambda: "5 sessions" in c.screen())
        assert "the first 3" in c.screen()
        assert c.app.screen.query_one(OptionList).option_count == 3


async def test_a_chat_that_grows_long_lets_go_of_its_oldest_messages(
    chat: OpenChat, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localmem.tui.transcript.SHOWN_MESSAGES", 4)
    async with chat(ScriptedModel(lambda _: "ok")) as c:
        for n in range(4):
            await c.say(f"message {n}")
        assert "message 1" not in c.screen()
        assert "message 2" in c.screen()
        assert memory.sessions()[0].messages == 8


def test_the_session_to_open_is_the_one_named_the_latest_chat_or_a_new_one(
    memory: Memory, said: Callable[..., NewSession]
) -> None:
    assert session_to_open(memory, None, last=True) is None
    first = talk(memory, "one")
    latest = talk(memory, "two")
    memory.add(said("imported", at=datetime(2036, 1, 1, tzinfo=UTC)))
    assert session_to_open(memory, None, last=True) == latest
    assert session_to_open(memory, first, last=False) == first
    assert session_to_open(memory, None, last=False) is None
    with pytest.raises(BadInput, match="no session 99"):
        session_to_open(memory, 99, last=False)
