"""The evidence of an answer: what it rests on, and what can be done about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.widgets import OptionList

from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.tui.evidence import Evidence
from localmem.types import NewSession

OpenChat = Callable[..., Any]
Said = Callable[..., NewSession]

QUESTION = "What is my cat called?"
HOSTILE = "My cat is called Miso [bold]x[/] \x1b[31m \u202e."


def remembered(memory: Memory, said: Said, text: str = "My cat is called Miso.") -> None:
    memory.add(said(text, "Cute."))
    memory.wait_embedded()


async def opened(c: Any) -> None:
    await c.say(QUESTION)
    await c.pilot.press("ctrl+t")
    await c.until(lambda: isinstance(c.app.screen, Evidence))
    await c.on_screen("Recalled too" if "Cited" not in c.screen() else "Cited", "How it was found")


async def at_the_cat(c: Any) -> None:
    """Go to the line of the message that says the cat's name."""
    options = c.app.screen.query_one(OptionList)
    place = next(i for i, o in enumerate(options.options) if "My cat is called" in str(o.prompt))
    options.highlighted = place
    await c.pilot.pause()


async def test_a_line_under_the_answer_says_what_was_recalled_and_why_it_stopped(
    chat: OpenChat, memory: Memory, said: Said
) -> None:
    remembered(memory, said)
    async with chat(ScriptedModel(["Your cat is called Miso."])) as c:
        await c.say(QUESTION)
        await c.on_screen("recalled 1 message from 1 session", "of memory", "complete")


async def test_enter_on_a_line_opens_the_message_in_its_session(
    chat: OpenChat, memory: Memory, said: Said
) -> None:
    remembered(memory, said, HOSTILE)
    async with chat(ScriptedModel(["Your cat is called Miso."])) as c:
        await opened(c)
        await c.on_screen("My cat is called Miso [bold]x[/]", "recalled 1 message", "How it was found")
        await at_the_cat(c)
        await c.pilot.press("enter")
        await c.until(lambda: c.views() == [HOSTILE, "Cute."])
        await c.until(lambda: c.app.chat.selected() is not None)
        assert c.app.chat.selected().message.text == HOSTILE


async def test_an_answer_of_an_earlier_run_still_has_its_citations(
    chat: OpenChat, memory: Memory, said: Said
) -> None:
    remembered(memory, said)
    async with chat(ScriptedModel(["Your cat is called Miso."])) as c:
        await c.say(QUESTION)
        session_id = c.app.chat.talk.dialogue.session_id
    async with chat(ScriptedModel(), session_id=session_id) as c:
        await c.on_screen("Your cat is called Miso.")
        await c.pilot.press("ctrl+t")
        await c.on_screen("Cited", "My cat is called Miso.", "not kept")


async def test_it_can_be_watched_while_the_answer_is_written(
    chat: OpenChat, memory: Memory, said: Said, paced: Any
) -> None:
    remembered(memory, said)
    model = paced("Your cat is called Miso.", "")
    async with chat(model) as c:
        await c.type(QUESTION)
        await c.until(model.waiting.is_set)
        await c.pilot.press("ctrl+t")
        await c.on_screen("Looking…", "recalled 1 message", "Nothing is cited yet")
        model.release.set()
        await c.until(lambda: "complete" in c.screen() and "Nothing is cited yet" not in c.screen())


async def test_more_effort_shows_the_steps_a_new_answer_and_its_cost(
    chat: OpenChat, memory: Memory, said: Said
) -> None:
    remembered(memory, said)
    async with chat(ScriptedModel(lambda _: "Your cat is called Miso.")) as c:
        await opened(c)
        stored = c.stored()
        await c.pilot.press("m")
        await c.on_screen("stopped:", "1. ", "What the question requires")
        await c.until(lambda: "Miso" in str(c.app.screen.query_one("#deeper-text").content))
        assert c.stored() == stored
        await c.until(lambda: c.app.screen._basis.over)
        assert {m.source for m in c.app.screen._basis.recalled} == {"test"}  # not what this chat said itself


async def test_a_private_chat_is_not_asked_deeper(chat: OpenChat, memory: Memory, said: Said) -> None:
    remembered(memory, said)
    async with chat(ScriptedModel(["Your cat is called Miso."]), private=True) as c:
        await opened(c)
        await c.pilot.press("m")
        await c.until(lambda: "keeps a trace" in c.notified())
        assert memory.step_counts() == []


async def test_a_wrong_message_is_forgotten_with_the_answer_once_it_is_chosen(
    chat: OpenChat, memory: Memory, said: Said
) -> None:
    remembered(memory, said)
    async with chat(ScriptedModel(["Your cat is called Miso."])) as c:
        await opened(c)
        await at_the_cat(c)
        await c.pilot.press("w")
        await c.on_screen("1 message and 1 answer that rest on it")
        await c.pilot.press("enter")  # the first way leaves it
        await c.until(lambda: isinstance(c.app.screen, Evidence))
        assert "My cat is called Miso." in c.stored()
        await c.pilot.press("w")
        await c.on_screen("Forget it for ever")
        await c.pilot.press("down", "down", "enter")
        await c.until(lambda: "Forgotten." in c.notified(), 20)
        assert sorted(c.stored()) == ["Cute.", QUESTION]
        await c.until(lambda: c.views() == [QUESTION])


async def test_a_wrong_message_is_corrected_by_a_message(chat: OpenChat, memory: Memory, said: Said) -> None:
    remembered(memory, said)
    async with chat(ScriptedModel(["Your cat is called Miso."])) as c:
        await opened(c)
        await at_the_cat(c)
        await c.pilot.press("w")
        await c.on_screen("Write what is right")
        await c.pilot.press("down", "enter")
        await c.until(lambda: "My cat is called Miso.” is wrong" in c.composer().text)


async def test_the_answer_comes_again_without_a_message_that_is_not_to_be_used(
    chat: OpenChat, memory: Memory, said: Said
) -> None:
    remembered(memory, said)
    prompts: list[str] = []

    def reply(messages: Any) -> str:
        prompts.append(" ".join(m.text for m in messages))
        return "Your cat is called Miso." if "Miso" in prompts[-1] else "I do not know."

    async with chat(ScriptedModel(reply)) as c:
        await opened(c)
        await at_the_cat(c)
        await c.pilot.press("n")
        await c.on_screen("I do not know.", "nothing recalled", "2/2")
        await c.ready()
        await c.pilot.press("ctrl+t")
        await c.until(lambda: isinstance(c.app.screen, Evidence))
        await c.pilot.press("m")
        await c.until(lambda: "would bring them back" in c.notified())
    assert "Miso" not in prompts[-1]
    assert "My cat is called Miso." in [hit.message.text for hit in memory.search("cat")]


async def test_without_an_answer_there_is_no_evidence_and_that_is_said(chat: OpenChat) -> None:
    async with chat(ScriptedModel()) as c:
        await c.type("/evidence")
        await c.until(lambda: "There is no answer" in c.notified())
