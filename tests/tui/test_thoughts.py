"""What a model thinks before it answers: on one line, opened when it is wanted, kept nowhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from localmem.models.scripted import ScriptedModel
from localmem.tui.views import Thoughts

OpenChat = Callable[..., Any]

THINKING = "<think>\nThe user greets me.\nSo will I. [/x] \x1b]52;c;QQ==\x07\n</think>\n\nHello there."


class Noting(ScriptedModel):
    """Notes how much it may think."""

    def __init__(self, *replies: str) -> None:
        super().__init__(replies)
        self.may_think: list[int] = []

    def stream(self, messages: Any, *, think: int = 0, **options: Any) -> Any:
        self.may_think.append(think)
        return super().stream(messages, think=think, **options)


async def test_thoughts_are_one_line_above_the_answer_until_they_are_opened(chat: OpenChat) -> None:
    async with chat(ScriptedModel([THINKING])) as c:
        await c.say("hi")
        await c.on_screen("Thought: 9 words", "Hello there.")
        assert "greets me" not in c.screen()
        c.app.chat.query_one(Thoughts).focus()
        await c.pilot.press("enter")
        await c.on_screen("The user greets me.", "So will I. [/x]")
        await c.pilot.press("enter")
        await c.until(lambda: "greets me" not in c.screen())


async def test_a_message_opens_its_thoughts_with_what_it_cites(chat: OpenChat) -> None:
    async with chat(ScriptedModel([THINKING])) as c:
        await c.say("hi")
        c.app.chat.talk.transcript.views[-1].focus()
        await c.pilot.press("enter")
        await c.on_screen("The user greets me.")
        await c.pilot.press("tab", "c")  # the thoughts have the focus: keys act on their message
        await c.until(lambda: c.app.clipboard == "Hello there.")


async def test_thoughts_are_told_as_they_are_thought_and_a_stop_keeps_nothing_of_them(
    chat: OpenChat, paced: Any
) -> None:
    model = paced("", "")

    def stream(messages: Any, *, cancel: Any, **_: Any) -> Any:
        yield from ScriptedModel([THINKING.split("So")[0]]).stream(messages, max_tokens=90)
        model.waiting.set()
        cancel.wait(20)

    model.stream = stream
    async with chat(model) as c:
        await c.type("hi")
        await c.on_screen("Thinking…: 4 words", "Thinking… Esc stops.")
        await c.pilot.press("escape")
        await c.ready()
        assert c.stored() == ["hi"]


async def test_what_is_thought_is_in_no_file_and_in_no_later_prompt(chat: OpenChat, tmp_path: Path) -> None:
    model = ScriptedModel([THINKING, "Bye."])
    async with chat(model) as c:
        await c.say("hi")
        await c.say("bye")
        assert c.stored() == ["hi", "Hello there.", "bye", "Bye."]
        assert not any("greets me" in message.text for prompt in model.history for message in prompt)
        c.memory.wait_embedded()
        files = list(tmp_path.iterdir())
        assert any(b"Hello there." in file.read_bytes() for file in files)
        assert not any(b"greets me" in file.read_bytes() for file in files)


async def test_thoughts_are_there_again_when_a_session_is_opened_again(chat: OpenChat) -> None:
    async with chat(ScriptedModel([THINKING])) as c:
        await c.say("hi")
        session = c.app.chat.talk.dialogue.session_id
        await c.pilot.press("ctrl+n")
        await c.until(lambda: not c.views())
        c.app.chat.open_session(session)
        await c.on_screen("Thought: 9 words", "Hello there.")


async def test_another_version_of_an_answer_has_its_own_thoughts(chat: OpenChat) -> None:
    async with chat(ScriptedModel([THINKING, "<think>Again?</think>Good day."])) as c:
        await c.say("hi")
        await c.pilot.press("ctrl+r")
        await c.on_screen("Thought: 1 word ", "Good day.")
        assert "Thought: 9 words" not in c.screen()


async def test_a_model_may_think_when_it_was_told_so_and_at_most_a_quarter_of_its_window(
    chat: OpenChat,
) -> None:
    model = Noting("One.", "Two.", "Three.")
    async with chat(model) as c:
        await c.say("one")
        await c.type("/think")
        await c.until(lambda: "may think first" in c.notified())
        await c.say("two")
        await c.type("/think")
        await c.until(lambda: "answers at once" in c.notified())
        await c.say("three")
        assert model.may_think == [0, 1024, 0]
        model._context = 3000
        await c.type("/think")
        model.enqueue("Four.")
        await c.say("four")
        assert model.may_think[-1] == 750


async def test_a_model_that_only_thought_is_said_to_have_written_nothing(chat: OpenChat) -> None:
    model = ScriptedModel(["<think>On and on"])
    async with chat(model) as c:
        await c.say("hi")
        await c.on_screen("Thought: 3 words", "the model wrote nothing")
        assert c.stored() == ["hi"]


async def test_the_title_tells_that_the_model_thinks_first_and_has_a_system_prompt(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["Arr.", "Aye."])) as c:
        await c.type("/think")
        await c.on_screen("Thinks first · New chat")
        await c.type("/system Talk like a [/pirate].")
        await c.on_screen("System prompt · Thinks first · New chat")
        await c.say("hello")
        await c.on_screen("System prompt · Thinks first · hello")
        session = c.app.chat.talk.dialogue.session_id
        await c.pilot.press("ctrl+n")
        await c.on_screen("Thinks first · New chat")
        await c.until(lambda: "System prompt" not in c.screen())
        c.app.chat.open_session(session)
        await c.on_screen("System prompt · Thinks first · hello")
