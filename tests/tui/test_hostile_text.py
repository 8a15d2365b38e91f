from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from textual import events

from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.tui.attachments import LONGEST
from localmem.tui.reading import entries_before, read_way
from localmem.tui.text import SHOWN_CHARACTERS, cost_line, shown
from localmem.tui.transcript import Transcript
from localmem.tui.views import Reply
from localmem.tui.written import Written
from localmem.types import Ledger, NewMessage, NewSession, Role

OpenChat = Callable[..., Any]


async def test_hostile_text_is_shown_without_harm_in_every_place(
    chat: OpenChat, memory: Memory, hostile: tuple[str, str]
) -> None:
    text, seen = hostile

    def session_of(session: str, source: str) -> NewSession:
        messages = (
            NewMessage(Role.USER, f"{text} bicycle", speaker=text),
            NewMessage(Role.ASSISTANT, text),
        )
        return NewSession(source, session, messages, title=text)

    memory.add(session_of("s1", "import"))
    memory.add(session_of("s2", "chat"))
    resumed = next(s.id for s in memory.sessions() if s.source == "chat")
    async with chat(ScriptedModel([f"bicycle {text}", "x"]), session_id=resumed) as c:
        await c.until(lambda: len(c.app.chat.query("Said, Answer")) == 2)
        await c.say(f"bicycle {text}")
        await c.until(lambda: c.screen().count(seen) >= 4)
        assert "\x1b" not in c.screen()
        await c.pilot.press("ctrl+o")
        await c.until(lambda: "2 sessions" in c.screen())
        assert c.screen().count(seen.split()[0]) >= 2
        await c.pilot.press("escape")
        await c.until(lambda: c.app.screen is c.app.chat)
        c.app.chat.post_message(Written.LinkClicked(text))
        await c.until(lambda: len(c.app._notifications) == 1)
        assert f"bicycle {text}".strip() in c.stored()


async def test_hostile_text_in_an_answer_is_all_there_when_written_and_when_read_again(
    chat: OpenChat, memory: Memory, hostile: tuple[str, str]
) -> None:
    text, seen = hostile
    async with chat(ScriptedModel([text])) as c:
        await c.say("go")
        await c.until(lambda: "1 token" in c.screen() or "tokens written" in c.screen())
        await c.until(lambda: seen in c.screen().split("Assistant")[-1])
    async with chat(ScriptedModel(), session_id=memory.sessions()[0].id) as c:
        await c.until(lambda: seen in c.screen().split("Assistant")[-1])


async def test_a_message_of_a_megabyte_is_shown_in_part_and_the_chat_stays_quick(
    chat: OpenChat, memory: Memory
) -> None:
    big = "word " * 200_000
    messages = (NewMessage(Role.USER, big), NewMessage(Role.ASSISTANT, big))
    memory.add(NewSession("chat", "big", messages))
    memory.wait_embedded()
    session = memory.sessions()[0]
    async with chat(ScriptedModel(["Short."]), session_id=session.id) as c:
        await c.until(lambda: f"980,000 more characters are stored: localmem show {session.id}" in c.screen())
        started = time.monotonic()
        await c.pilot.press("a")
        await c.until(lambda: c.composer().text == "a")
        assert time.monotonic() - started < 2.0
    assert memory.messages(session.id)[0].text == big


# Texts that are slow to read as Markdown, or have very many blocks.
HEAVY = ["- a\n", "![", "[](", "*a_ ", "`", "> ", "<a", "|a|b|\n|-|-|\n", "# a\n", "www.a.b/"]


@pytest.mark.parametrize("piece", HEAVY)
async def test_an_answer_that_is_heavy_markdown_is_shown_and_the_chat_stays_quick(
    chat: OpenChat, memory: Memory, piece: str
) -> None:
    text = piece * (SHOWN_CHARACTERS // len(piece))
    memory.add(NewSession("chat", "heavy", (NewMessage(Role.ASSISTANT, f"{text}\n\nthe end"),) * 4))
    async with chat(ScriptedModel(), session_id=1) as c:
        await c.on_screen("more characters are stored")
        started = time.monotonic()
        await c.pilot.press("a")
        await c.until(lambda: c.composer().text == "a")
        assert time.monotonic() - started < 2.0


async def test_a_line_separator_in_an_answer_does_not_make_its_text_come_twice(
    chat: OpenChat, memory: Memory
) -> None:
    async with chat(ScriptedModel()) as c:
        reply = Reply("Assistant")
        await c.app.chat.query_one(Transcript).add(reply)
        for piece, seen in (("aa\u2028bb\u2028cc\n\n", "cc"), ("dd\n\n", "dd"), ("ee", "ee")):
            reply.write(piece)
            await c.until(lambda seen=seen: seen in c.screen())
        text = "aa\u2028bb\u2028cc\n\ndd\n\nee"
        memory.add(NewSession("chat", "breaks", (NewMessage(Role.ASSISTANT, text),)))
        (entry,) = entries_before(memory, read_way(memory, memory.dialogue(1)), 1)
        await reply.end(entry, "")
        assert c.screen().count("cc") == 1


async def test_what_is_pasted_loses_control_sequences_and_keeps_its_lines(chat: OpenChat) -> None:
    async with chat(ScriptedModel()) as c:
        c.composer().post_message(events.Paste("a\x1b]52;c;x\x07\rb\r\nc\ud800"))
        await c.until(lambda: c.composer().text == "a\nb\nc?")


async def test_a_paste_longer_than_a_message_may_be_is_refused(chat: OpenChat) -> None:
    async with chat(ScriptedModel()) as c:
        c.composer().post_message(events.Paste("x" * (LONGEST + 1)))
        await c.until(lambda: "localmem import FILE" in c.notified())
        assert c.composer().text == ""


def test_shown_text_is_cut_and_says_where_the_rest_is() -> None:
    assert shown("short", 3) == "short"
    text = shown("x" * (SHOWN_CHARACTERS + 5), 3)
    assert text.endswith("(5 more characters are stored: localmem show 3)")
    assert text.count("x") == SHOWN_CHARACTERS


def test_a_session_of_long_messages_is_shown_from_its_end(memory: Memory) -> None:
    messages = tuple(NewMessage(Role.USER, f"{n} " + "x" * SHOWN_CHARACTERS) for n in range(30))
    memory.add(NewSession("chat", "long", messages))
    entries = entries_before(memory, read_way(memory, memory.dialogue(1)), 30)
    assert 1 <= len(entries) < 4
    assert entries[-1].text.startswith("29 ")


def test_the_cost_line_counts_and_says_how_a_reply_ended() -> None:
    ledger = Ledger(
        sessions_opened=1, records=3, messages=200, tokens_written=1, seconds={"search": 0.5, "answer": 1.0}
    )
    assert cost_line(ledger, "stopped by you") == (
        "recalled 3 messages from 1 session (1.5% of memory) · 1.5 s · 1 token written · stopped by you"
    )
    assert cost_line(Ledger(), "") == "nothing recalled · 0.0 s · 0 tokens written"


async def test_a_table_that_code_follows_is_drawn_as_it_is_written(chat: OpenChat) -> None:
    async with chat(ScriptedModel()) as c:
        reply = Reply("Assistant")
        await c.app.chat.query_one(Transcript).mount(reply)
        reply.write("|a|[/ b|\n|-|-|\n|[bold]x|[/|\n``")
        await c.on_screen("[bold]x │ [/")
        reply.write("`\ndone\n```")
        await c.on_screen("[bold]x │ [/", "done")
