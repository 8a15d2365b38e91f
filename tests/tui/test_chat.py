from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from textual import events

from localmem.errors import ModelCrashed, ModelMissing, StoreLocked
from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.tui.views import Reply, Said, Source
from localmem.types import NewSession

OpenChat = Callable[..., Any]


async def test_the_screen_is_up_before_the_model_is_loaded(chat: OpenChat) -> None:
    loaded = threading.Event()

    def load() -> ScriptedModel:
        assert loaded.wait(20)
        return ScriptedModel(["Hello."])

    async with chat(load, ready=False) as c:
        await c.until(lambda: "Loading the model" in c.screen())
        await c.type("too early")
        await c.until(lambda: "not loaded yet" in c.notified())
        assert c.composer().text == "too early"
        loaded.set()
        await c.ready()
        await c.pilot.press("enter")
        await c.until(lambda: c.stored() == ["too early", "Hello."])


async def test_a_missing_model_is_told_in_the_chat_and_the_next_message_tries_again(chat: OpenChat) -> None:
    outcomes = [ModelMissing("Get it: localmem models pull [x/]"), None]

    def load() -> ScriptedModel:
        failure = outcomes.pop(0)
        if failure:
            raise failure
        return ScriptedModel(["Here now."])

    async with chat(load, ready=False) as c:
        await c.until(lambda: "localmem models pull [x/]" in c.screen())
        await c.type("are you there")
        await c.ready()
        assert c.composer().text == "are you there"
        await c.pilot.press("enter")
        await c.until(lambda: "Here now." in c.screen())


async def test_an_unexpected_error_in_a_thread_is_shown_and_the_chat_goes_on(chat: OpenChat) -> None:
    async with chat(ScriptedModel([RuntimeError("[odd]"), "Fine again."])) as c:
        await c.say("one")
        await c.until(lambda: "RuntimeError: [odd]" in c.screen())
        await c.say("two")
        await c.until(lambda: "Fine again." in c.screen())


async def test_the_users_message_is_stored_before_the_model_starts(chat: OpenChat, memory: Memory) -> None:
    seen: list[list[str]] = []

    def reply(_: object) -> str:
        seen.append([m.text for s in memory.sessions() for m in memory.messages(s.id)])
        return "Noted."

    async with chat(ScriptedModel(reply)) as c:
        await c.say("My locker is 41.")
    assert seen == [["My locker is 41."]]


async def test_an_answer_is_shown_as_it_is_written_and_stored_at_its_end(
    chat: OpenChat, paced: Callable[..., Any]
) -> None:
    model = paced("A **first** part", " and a *second*.")
    async with chat(model) as c:
        await c.type("hello")
        await c.until(lambda: "A first part" in c.screen())
        assert c.stored() == ["hello"]
        model.release.set()
        await c.until(lambda: "A first part and a second." in c.screen())
        await c.ready()
        assert c.stored() == ["hello", "A **first** part and a *second*."]
        assert "2 tokens written" in c.screen()


async def test_escape_stops_within_a_second_and_keeps_what_was_written(
    chat: OpenChat, paced: Callable[..., Any]
) -> None:
    async with chat(paced("So far so good")) as c:
        await c.type("tell me")
        await c.until(lambda: "So far so good" in c.screen())
        started = time.monotonic()
        await c.pilot.press("escape")
        await c.until(lambda: "stopped by you" in c.screen(), seconds=1.0)
        assert time.monotonic() - started < 1.0
        assert c.stored() == ["tell me", "So far so good"]


async def test_sending_and_leaving_the_session_are_refused_while_a_reply_runs(
    chat: OpenChat, paced: Callable[..., Any]
) -> None:
    model = paced("one", " two")
    async with chat(model) as c:
        await c.type("first")
        await c.until(model.waiting.is_set)
        await c.until(lambda: not c.composer().text)
        for press in ("enter", "ctrl+n", "ctrl+o"):
            c.composer().text = "second"
            await c.pilot.press(press)
        await c.until(lambda: c.notified().count("A reply is running") == 3)
        assert c.composer().text == "second"
        assert c.stored() == ["first"]
        model.release.set()
        await c.ready()
        assert c.stored() == ["first", "one two"]


async def test_after_a_crash_the_partial_answer_is_kept_and_the_next_question_works(
    chat: OpenChat, paced: Callable[..., Any]
) -> None:
    model = paced("Half an ans", ModelCrashed("The model's process died."))
    async with chat(model) as c:
        await c.type("why")
        await c.until(model.waiting.is_set)
        model.release.set()
        await c.until(lambda: "The model's process died." in c.screen())
        assert "Half an ans" in c.screen()
        assert "not finished; what was written is kept" in c.screen()
        await c.ready()
        assert c.stored() == ["why", "Half an ans"]
        model.after = "wer."
        await c.say("again")
        assert c.stored() == ["why", "Half an ans", "again", "Half an answer."]


async def test_text_that_could_not_be_stored_stays_in_the_input(
    chat: OpenChat, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with chat(ScriptedModel(["Done."])) as c:

        def locked(*_: object) -> None:
            raise StoreLocked("Another program is writing.")

        with monkeypatch.context() as patch:
            patch.setattr(memory._writer, "append", locked)
            await c.type("keep me")
            await c.until(lambda: "Another program is writing." in c.screen())
        assert c.composer().text == "keep me"
        await c.ready()
        await c.pilot.press("enter")
        await c.until(lambda: c.stored() == ["keep me", "Done."])


async def test_what_was_said_in_an_earlier_chat_is_recalled_and_cited(
    chat: OpenChat, memory: Memory, said: Callable[..., NewSession]
) -> None:
    told = "My bicycle is a green Gazelle.\nIt stands in the shed behind the house."
    memory.add(said(told, "Nice.", session="bikes", at=datetime(2026, 3, 3, tzinfo=UTC)))
    memory.wait_embedded()
    async with chat(ScriptedModel(["Your bicycle is a green Gazelle."])) as c:
        await c.say("What is my bicycle?")
        await c.until(lambda: "recalled 1 message from 1 session" in c.screen())
        line = "[1] bikes, 2026-03-03, You: My bicycle is a green Gazelle."
        assert line in c.screen()
        source = c.app.chat.query_one(Source)
        assert source.size.height == 1
        source.focus()
        await c.pilot.press("enter")
        await c.until(lambda: source.size.height == 3)
        assert "It stands in the shed" in c.screen()
        await c.pilot.press("enter")
        await c.until(lambda: source.size.height == 1)


async def test_a_second_message_goes_on_in_the_same_session_and_a_new_chat_begins_another(
    chat: OpenChat, memory: Memory
) -> None:
    async with chat(ScriptedModel(["a", "b", "c"])) as c:
        await c.say("one")
        await c.say("two")
        await c.pilot.press("ctrl+n")
        await c.until(lambda: "New chat" in c.screen() and not c.app.chat.query(Said))
        await c.say("three")
        assert [s.messages for s in memory.sessions()] == [2, 4]
        assert len(c.app.chat.query(Reply)) == 1


async def test_quitting_in_mid_answer_stores_what_was_written(
    chat: OpenChat, paced: Callable[..., Any]
) -> None:
    model = paced("The beginning")
    async with chat(model) as c:
        await c.type("long story")
        await c.until(model.waiting.is_set)
        await c.pilot.press("ctrl+q")
        await c.until(lambda: not c.app.is_running)
        assert c.stored() == ["long story", "The beginning"]


async def test_a_new_line_is_typed_with_ctrl_j_and_nothing_is_sent_for_blanks(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["Yes."])) as c:
        await c.type("  ")
        assert c.stored() == []
        c.composer().text = ""
        await c.pilot.press("a", "ctrl+j", "b", "enter")
        await c.until(lambda: c.stored() == ["a\nb", "Yes."])


async def test_keys_typed_faster_than_they_are_handled_keep_their_order(
    chat: OpenChat, paced: Callable[..., Any]
) -> None:
    model = paced("x")
    async with chat(model) as c:
        for key in ("h", "i", "ctrl+j", "u", "enter", "n", "e", "x", "t"):
            c.app.post_message(events.Key(key, key if len(key) == 1 else "\r"))
        await c.until(lambda: c.composer().text == "next")
        await c.until(lambda: c.stored() == ["hi\nu"])


async def test_a_message_with_a_secret_is_sent_only_after_a_warning(chat: OpenChat) -> None:
    text = "my card is 4111 1111 1111 1111"
    async with chat(ScriptedModel(["Noted."])) as c:
        await c.type(text)
        await c.until(lambda: "looks like a card number" in c.notified())
        assert c.stored() == []
        assert c.composer().text == text
        await c.pilot.press("enter")
        await c.until(lambda: c.stored() == [text, "Noted."])
