"""Markdown is drawn by one widget for each message: lists, code, tables, quotations, links, selection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.geometry import Offset
from textual.selection import SELECT_ALL, Selection

from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.tui.markdown import Block, Growing, blocks_of
from localmem.tui.typesetting import typeset
from localmem.tui.written import Written
from localmem.types import NewMessage, NewSession, Role

OpenChat = Callable[..., Any]

PIECES = st.lists(
    st.sampled_from(
        "- a\n;  - b\n;1. c\n;2;. d\n;> e\n;# f\n;```py\n;x = 1\n;```\n;\n;\n\n;|a|b|\n;|-|-:|\n;|c|dd|\n;"
        "**g** ;*h* ;`i` ;word ;\n---\n;===\n;    j\n;\t;[;k](http://l.example);"
        "http://m.example ;![n](o);~~p~~;\\;<b>;[q]: r\n;שלום ;👩\u200d👩\u200d👧 ".split(";")
    ),
    max_size=30,
)


def drawn(blocks: list[Block], width: int = 40) -> list[str]:
    return [(line.before + line.content).plain.rstrip() for line in typeset(blocks, width)]


def lines(text: str, width: int = 40) -> list[str]:
    return drawn(blocks_of(text), width)


def test_lists_are_indented_under_their_marks() -> None:
    assert lines("8. one\n9. two\n   - inner\n\n     more\n10. three words here", 16) == [
        " 8. one",
        " 9. two",
        "    ▪ inner",
        "",
        "      more",
        "10. three words",
        "    here",
    ]


def test_a_quotation_has_a_bar_before_each_of_its_lines() -> None:
    assert lines("> one two three\n>\n> - four", 12) == ["▌ one two", "▌ three", "▌", "▌ • four"]


def test_code_is_folded_and_keeps_its_spaces() -> None:
    assert lines("```\na  =  1234567890\n\tb\n```", 12) == ["", "  a  =  12", "  34567890", "      b", ""]


def test_code_is_coloured_when_its_language_is_told() -> None:
    told, untold, unknown = (blocks_of(f"```{name}\nreturn 1\n```")[0] for name in ("python", "", "[/x y"))
    assert len(told.content.spans) > len(untold.content.spans) == len(unknown.content.spans)


def test_a_table_has_columns_as_wide_as_they_need_and_wraps_the_widest() -> None:
    table = "|name|n|\n|-|-:|\n|a|1|\n|one two three|10|"
    assert lines(table) == [
        "name          │  n",
        "──────────────┼───",
        "a             │  1",
        "one two three │ 10",
    ]
    assert lines(table, 13) == [
        "name     │  n",
        "─────────┼───",
        "a        │  1",
        "─────────┼───",
        "one two  │ 10",
        "three    │",
    ]


def test_a_table_without_room_for_its_columns_is_set_as_rows() -> None:
    assert lines("|a|b|c|\n|-|-|-|\n|d|e|f|", 10) == ["a │ b │ c", "d │ e │ f"]


def test_for_a_plain_screen_all_marks_are_ascii_and_the_text_is_as_it_was() -> None:
    text = "- one\n\n> two ▌\n\n|a|b ─|\n|-|-|\n|c|d|\n\n---\n"
    plain = [(line.before + line.content).plain.rstrip() for line in typeset(blocks_of(text), 12, plain=True)]
    assert plain == ["* one", "", "> two ▌", "", "a | b ─", "--+----", "c | d", "", "-" * 12]


@pytest.mark.parametrize("text", ["[TODO]: http://x.example", "<div>kept</div>", "[/ $x", "a\\*b", "&amp; &"])
def test_what_is_no_markdown_stays_as_it_is(text: str) -> None:
    assert lines(text) == [text.replace("\\*", "*").replace("&amp;", "&")]


@settings(max_examples=300, deadline=None)
@given(PIECES)
def test_a_text_that_grows_is_drawn_as_if_it_were_read_at_once(pieces: list[str]) -> None:
    growing = Growing()
    blocks: list[Block] = []
    for piece in pieces:
        blocks = growing.add(piece)
    assert drawn(blocks) == lines("".join(pieces))


@settings(max_examples=300, deadline=None)
@given(PIECES, st.integers(1, 60))
def test_every_character_is_drawn_at_every_width(pieces: list[str], width: int) -> None:
    text = "".join(pieces)

    def letters(of: list[str]) -> str:
        return "".join(c for line in of for c in line if c.isalnum())

    assert sorted(letters(lines(text, width))) == sorted(letters(lines(text, 10_000)))


async def shown(c: Any, text: str) -> Written:
    written = Written(blocks_of(text))
    await c.app.chat.talk.transcript.mount(written)
    await c.until(lambda: written.size.height > 0)
    return written


async def test_selected_text_has_lines_as_long_as_they_were_written(chat: OpenChat) -> None:
    async with chat(ScriptedModel()) as c:
        written = await shown(c, "word " * 60 + "end\n\n> quoted\n\n```\nx = 1\n```")
        assert written.size.height > 8
        text, _ = written.get_selection(SELECT_ALL)
        assert text == "word " * 60 + "end\n\nquoted\n\n\nx = 1\n"
        part, _ = written.get_selection(Selection(Offset(5, 0), Offset(4, 1)))
        assert part.startswith("word word")
        assert len(part) > 60


async def test_what_is_selected_with_the_mouse_is_marked_and_copied(chat: OpenChat) -> None:
    async with chat(ScriptedModel()) as c:
        written = await shown(c, "- first\n- second")
        await c.pilot.mouse_down(written, offset=(2, 0))
        await c.pilot.hover(written, offset=(5, 1))
        await c.pilot.mouse_up(written, offset=(5, 1))
        await c.until(lambda: c.app.chat.get_selected_text() is not None)
        assert c.app.chat.get_selected_text().startswith("first\n• sec")


async def test_a_click_on_a_link_tells_where_it_leads_and_opens_nothing(
    chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url, *_, **__: opened.append(url))
    async with chat(ScriptedModel()) as c:
        written = await shown(c, "See [this](http://evil.example/'\")[/b]) now")
        await c.pilot.click(written, offset=(5, 0))
        await c.until(lambda: "http://evil.example/'" in c.notified())
        assert opened == []


async def test_an_answer_is_two_widgets_however_many_blocks_it_has(chat: OpenChat, memory: Memory) -> None:
    text = "\n\n".join(f"- item {n}\n\n```\ncode {n}\n```" for n in range(100))
    memory.add(NewSession("chat", "blocks", (NewMessage(Role.ASSISTANT, text),)))
    async with chat(ScriptedModel(), session_id=1) as c:
        await c.on_screen("item 99", "code 99")
        (view,) = c.app.chat.talk.transcript.views
        assert len(view.walk_children()) == 1
