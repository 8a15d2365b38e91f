from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.types import NewSession

OpenChat = Callable[..., Any]


async def test_of_a_private_chat_the_file_keeps_nothing_and_memory_is_recalled(
    chat: OpenChat, memory: Memory, said: Callable[..., NewSession], tmp_path: Path
) -> None:
    memory.add(said("My cat is called Miso.", "Cute."))
    memory.wait_embedded()

    def files() -> dict[str, bytes]:
        found = (path for path in tmp_path.iterdir() if not path.name.endswith("-shm"))  # lock bytes
        return {path.name: path.read_bytes() for path in found}

    before = files()
    model = ScriptedModel(["Your cat is called Miso.", "Another.", "Third.", "Kept."])
    async with chat(model, private=True) as c:
        await c.on_screen("Private: nothing of this chat is kept")
        await c.say("What is my cat called?")
        await c.on_screen("recalled 1 message from 1 session")
        await c.say("the secret is plugh")
        await c.pilot.press("ctrl+r")
        await c.on_screen("‹ 2/2 ›")
        await c.ready()
        await c.type("/system Speak like a pirate.")
        await c.pilot.press("ctrl+up", "x")
        await c.until(lambda: "Deleted." in c.notified())
        await c.until(lambda: "Third." not in c.screen())
        assert files() == before
        await c.pilot.press("escape")
        for command in ("/rename x", "/tags x", "/archive", "/delete-chat"):
            await c.type(command)
        await c.until(lambda: c.notified().count("A private chat is not kept") == 4)
        await c.pilot.press("ctrl+n")
        await c.until(lambda: "Private" not in c.screen())
        await c.pilot.press("up")
        assert "plugh" not in c.composer().text
        await c.say("ordinary again")
    assert sorted(c.stored()) == ["Cute.", "Kept.", "My cat is called Miso.", "ordinary again"]
    assert files() != before


async def test_a_private_chat_begins_by_command_and_its_words_are_gone_with_the_next(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["ok"])) as c:
        await c.type("/private")
        await c.on_screen("Private: nothing of this chat is kept")
        await c.say("plugh")
        await c.pilot.press("up")
        await c.until(lambda: c.composer().text == "plugh")
        c.composer().text = ""
        await c.pilot.press("ctrl+n")
        await c.until(lambda: "Private" not in c.screen())
        await c.pilot.press("up")
        assert c.composer().text == ""
        assert c.stored() == []


async def test_what_a_private_chat_heard_is_not_brought_back_in_a_chat_that_is_opened_after_it(
    chat: OpenChat, memory: Memory, said: Callable[..., NewSession]
) -> None:
    memory.add(said("An old chat.", "Indeed.", source="chat"))
    (session,) = memory.sessions()
    async with chat(ScriptedModel(["Yes."]), private=True) as c:
        await c.say("Between us.")
        await c.type("/system Whisper.")
        await c.until(lambda: "counts from the next message" in c.notified())
        c.app.chat.open_session(session.id)
        await c.until(lambda: c.views() == ["An old chat.", "Indeed."])
        await c.until(lambda: c.composer()._said == ["An old chat."])
        await c.pilot.press("up")
        await c.until(lambda: c.composer().text == "An old chat.")
