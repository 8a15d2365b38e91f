"""Spending more on an answer from its evidence: watched, stopped, gone on with, kept in the chat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.tui.evidence import Evidence
from localmem.types import NewSession, Origin

OpenChat = Callable[..., Any]
Said = Callable[..., NewSession]

QUESTION = "What is my cat called?"


def remembered(memory: Memory, said: Said) -> None:
    memory.add(said("My cat is called Miso.", "Cute."))
    memory.wait_embedded()


def answering(*texts: str) -> ScriptedModel:
    """A model that says these one after the other, then the last again and again."""
    left = list(texts)
    return ScriptedModel(lambda _: left.pop(0) if len(left) > 1 else left[0])


async def opened(c: Any) -> None:
    await c.say(QUESTION)
    await c.pilot.press("ctrl+t")
    await c.until(lambda: isinstance(c.app.screen, Evidence))
    await c.on_screen("How it was found")


def deeper(c: Any) -> str:
    return str(c.app.screen.query_one("#deeper-text").content)


async def spent_more(c: Any) -> None:
    await c.pilot.press("m")
    await c.until(lambda: c.app.screen._first.deeper is not None and c.app.screen._basis.over)
    await c.on_screen("stopped:")


async def test_it_shows_the_layers_opened_a_new_answer_and_its_cost(
    chat: OpenChat, memory: Memory, said: Said
) -> None:
    remembered(memory, said)
    async with chat(answering("Your cat is called Miso.")) as c:
        await opened(c)
        stored = c.stored()
        await spent_more(c)
        await c.on_screen(
            "facts of s1", "searched for “What is my cat called?”", "What the question requires"
        )
        await c.until(lambda: "Miso" in deeper(c))
        assert c.stored() == stored
        (session,) = [s for s in memory.sessions() if s.source == "test"]
        found = memory.messages_by_id(list(c.app.screen._basis.recalled)).values()
        assert {m.session_id for m in found} == {session.id}  # not what this chat said itself


async def test_while_it_works_its_limits_are_told_and_escape_keeps_what_it_has(
    chat: OpenChat, memory: Memory, said: Said, paced: Any
) -> None:
    remembered(memory, said)
    model = paced("Your cat is called Miso.", "")
    async with chat(model) as c:
        await c.type(QUESTION)
        model.release.set()
        await c.ready()
        await c.until(lambda: len(c.views()) == 2)
        await c.pilot.press("ctrl+t")
        await c.on_screen("How it was found")
        model.waiting.clear()
        model.release.clear()
        await c.pilot.press("m")
        await c.until(lambda: model.waiting.is_set() or c.notified())
        assert c.notified() == ""
        await c.on_screen("At most: 20 steps, 60 searches", "Esc stops", "10 min")
        await c.pilot.press("escape")
        await c.on_screen("k keeps this answer")
        assert c.app.screen._basis.cost.endswith("stopped by you")
        assert isinstance(c.app.screen, Evidence)
        await c.until(lambda: "You: My cat is called Miso." in deeper(c))


async def test_more_again_goes_on_from_the_same_trace_with_larger_limits(
    chat: OpenChat, memory: Memory, said: Said
) -> None:
    remembered(memory, said)
    async with chat(answering("Your cat is called Miso.")) as c:
        await opened(c)
        await spent_more(c)
        first = c.app.screen._basis
        await c.pilot.press("m")
        await c.until(lambda: c.app.screen._first.deeper not in (None, first))
        second = c.app.screen._basis
        assert second.answer.trace == first.answer.trace
        assert second.budget.steps == 2 * first.budget.steps
        assert len(memory.step_counts()) == 1
        await c.pilot.press("escape")
        await c.until(lambda: not isinstance(c.app.screen, Evidence))
        await c.pilot.press("ctrl+t")  # and so it does when the panel was closed
        await c.on_screen("How it was found")
        await c.pilot.press("m")
        await c.until(lambda: c.app.screen._basis.budget.steps == 3 * first.budget.steps)
        await c.until(lambda: c.app.screen._basis.over)
        assert len(memory.step_counts()) == 1


async def test_a_deeper_answer_is_kept_as_another_version_with_what_it_rests_on(
    chat: OpenChat, memory: Memory, said: Said
) -> None:
    remembered(memory, said)
    async with chat(answering("Your cat is called Miso.", "It is called Miso, your cat.")) as c:
        await opened(c)
        assert "Keep" not in c.screen()
        await spent_more(c)
        await c.on_screen("Keep")
        await c.pilot.press("k")
        await c.on_screen("It is called Miso, your cat.", "2/2", "[1] s1")
        kept = c.app.chat.selected().message
        session_id = kept.session_id
        assert kept.origin is Origin.RECALLED
        assert memory.replies([kept.id])[kept.id].needs
    async with chat(ScriptedModel(), session_id=session_id) as c:
        await c.on_screen("It is called Miso, your cat.")
        await c.pilot.press("ctrl+t")
        await c.on_screen("had enough to answer", "“What is my cat called?”", "→ s1", "Cited")


async def test_the_same_answer_is_not_kept_twice(chat: OpenChat, memory: Memory, said: Said) -> None:
    remembered(memory, said)
    async with chat(answering("Your cat is called Miso.")) as c:
        await opened(c)
        await spent_more(c)
        stored = c.stored()
        await c.pilot.press("k")
        await c.until(lambda: "this very answer already" in c.notified())
        assert c.stored() == stored


async def test_an_answer_whose_ground_is_gone_is_not_kept(chat: OpenChat, memory: Memory, said: Said) -> None:
    remembered(memory, said)
    async with chat(answering("Your cat is called Miso.", "It is called Miso, your cat.")) as c:
        await opened(c)
        await spent_more(c)
        (cited,) = c.app.screen._basis.cited
        memory.forget(memory.select(message_id=cited))  # by another program
        await c.pilot.press("k")
        await c.until(lambda: "not there any more" in c.notified())
        assert not [text for text in c.stored() if "Miso" in text]
