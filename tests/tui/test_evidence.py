"""The evidence of an answer: what it rests on, and what can be done about it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from textual.widgets import OptionList

from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.tui.basis import Basis
from localmem.tui.evidence import Evidence
from localmem.tui.evidence_rows import rows_of
from localmem.tui.memory_actions import said_about
from localmem.types import NewMessage, NewSession, Role

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
        await c.on_screen("What the question requires", f"“{QUESTION}”", "→ s1", "Cited")


async def test_of_an_answer_that_an_older_version_kept_what_is_known_is_shown(
    chat: OpenChat, memory: Memory, said: Said
) -> None:
    remembered(memory, said)
    async with chat(ScriptedModel(["Your cat is called Miso."])) as c:
        await c.say(QUESTION)
        session_id = c.app.chat.talk.dialogue.session_id
    with memory._database.atomic() as connection:
        connection.execute("UPDATE reply SET body = json_remove(body, '$.recalled', '$.needs', '$.without')")
    async with chat(ScriptedModel(), session_id=session_id) as c:
        await c.on_screen("Your cat is called Miso.")
        await c.pilot.press("ctrl+t")
        await c.on_screen("Cited", "My cat is called Miso.", "was not kept")


async def test_what_memory_does_not_hold_is_told_as_not_found(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["I do not know."])) as c:
        await c.say(QUESTION)
        await c.pilot.press("ctrl+t")
        await c.on_screen(f"“{QUESTION}”: not found", "Nothing is cited")


async def test_the_whole_of_the_highlighted_message_is_below_the_list(
    chat: OpenChat, memory: Memory, said: Said
) -> None:
    remembered(memory, said, "My cat is called Miso. " + "She sleeps a lot. " * 20 + "And purrs.")
    async with chat(ScriptedModel(["Your cat is called Miso."])) as c:
        await opened(c)
        await at_the_cat(c)
        await c.until(lambda: "And purrs." in str(c.app.screen.query_one("#whole-text").content))
        await c.pilot.resize_terminal(60, 20)
        await c.until(lambda: c.app.screen.query_one("#whole").styles.display == "none")


async def test_what_was_read_in_a_coarser_layer_or_pinned_says_so(memory: Memory, said: Said) -> None:
    first, second, third = memory.add(said("I like tea.", "Noted.", "I live in Oslo."))
    basis = Basis(recalled={first: "facts", second: "raw", third: "pinned"}, earlier=(second,), over=True)
    lines = [row[0].plain for row in rows_of(memory, basis)]
    assert lines == [
        "Pinned",
        "s1, undated, You (pinned): I live in Oslo.",
        "Nothing is cited",
        "Recalled too",
        "s1, undated, You (from the facts): I like tea.",
        "s1, undated, Assistant (earlier): Noted.",
    ]


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

    def reply(messages: Any) -> str:
        return f"Your cat is called {'Mochi' if 'Mochi' in messages[-1].text else 'Miso'}."

    async with chat(ScriptedModel(reply)) as c:
        await opened(c)
        await at_the_cat(c)
        await c.pilot.press("w")
        await c.on_screen("Write what is right")
        await c.pilot.press("down", "enter")
        await c.until(lambda: c.composer().text == "My cat is called Miso.")
        await c.say("My cat is called Mochi.")
        await c.pilot.press("ctrl+n")
        await c.until(lambda: c.views() == [])
        await c.say(QUESTION)
        await c.on_screen("Your cat is called Mochi.")
        await c.pilot.press("ctrl+t")
        await c.on_screen("My cat is called Mochi.", "You (earlier): My cat is called Miso.")


def test_what_is_corrected_on_another_day_has_its_date_and_its_speaker(memory: Memory) -> None:
    told = NewMessage(
        Role.USER, "Hello! I ran a race yesterday.", "Melanie", datetime(2023, 5, 25, tzinfo=UTC)
    )
    (message_id,) = memory.add(NewSession("test", "s", (told,)))
    message = memory.messages_by_id([message_id])[message_id]
    assert said_about("When did Melanie run a race?", message) == "Melanie: I ran a race 24 May 2023."


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
        await c.on_screen("Left out of this answer")
        await at_the_cat(c)
        await c.pilot.press("n")
        await c.on_screen("Your cat is called Miso.", "3/3")
        await c.ready()
    assert "Miso" not in prompts[1]
    assert "Miso" in prompts[-1]
    assert "My cat is called Miso." in [hit.message.text for hit in memory.search("cat")]


async def test_without_an_answer_there_is_no_evidence_and_that_is_said(chat: OpenChat) -> None:
    async with chat(ScriptedModel()) as c:
        await c.type("/evidence")
        await c.until(lambda: "There is no answer" in c.notified())


async def test_what_was_left_out_is_known_in_a_later_run(chat: OpenChat, memory: Memory, said: Said) -> None:
    remembered(memory, said)
    async with chat(ScriptedModel(lambda _: "Your cat is called Miso.")) as c:
        await opened(c)
        await at_the_cat(c)
        await c.pilot.press("n")
        await c.on_screen("nothing recalled")
        await c.ready()
        session_id = c.app.chat.talk.dialogue.session_id
    async with chat(ScriptedModel(), session_id=session_id) as c:
        await c.on_screen("nothing recalled")
        await c.pilot.press("ctrl+t")
        await c.on_screen("Left out of this answer", "My cat is called Miso.")
