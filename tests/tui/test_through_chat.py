"""The chat as a whole: going through it, finding in it, writing it out, writing with an editor."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input, Static

from localmem.errors import BadInput
from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.privacy.copies import known_copies
from localmem.tui.editor import edited
from localmem.types import NewMessage, NewSession, Role

OpenChat = Callable[..., Any]


def long_session(memory: Memory, texts: dict[int, str]) -> int:
    lines = (NewMessage(Role.USER, texts.get(n, f"line {n}")) for n in range(300))
    memory.add(NewSession("chat", "long", tuple(lines), title="Long"))
    return memory.sessions()[0].id


def focused(c: Any) -> str:
    message = getattr(c.app.focused, "message", None)
    return message.text if message else ""


async def on_screen_title(c: Any, title: str) -> None:
    """Wait until a session is open: then the input has the focus."""
    await c.until(lambda: title in str(c.app.chat.query_one("#title", Static).content))
    await c.pilot.pause()


async def test_words_are_found_in_the_whole_chat_upwards_and_downwards(
    chat: OpenChat, memory: Memory
) -> None:
    session = long_session(memory, {3: "a Zebra [/b]", 150: "the zebra again", 290: "zebra, last"})
    async with chat(ScriptedModel(), session_id=session) as c:
        await c.on_screen("line 299")
        await c.type("/find zebra")
        await c.until(lambda: focused(c) == "zebra, last")
        await c.until(lambda: "3 of 3 messages with “zebra”" in c.status())
        await c.pilot.press("n")
        await c.until(lambda: focused(c) == "the zebra again")
        await c.pilot.press("n")
        await c.until(lambda: focused(c) == "a Zebra [/b]")
        await c.pilot.press("n")  # it begins anew at the end
        await c.until(lambda: focused(c) == "zebra, last")
        await c.pilot.press("N")
        await c.until(lambda: focused(c) == "a Zebra [/b]")
        await c.pilot.press("/")
        await c.on_screen("Find in this chat")
        c.app.screen.query_one(Input).value = "no such [/word]"
        await c.pilot.press("enter")
        await c.until(lambda: "Not in this chat: no such [/word]" in c.notified())


async def test_what_is_attached_is_found_and_nothing_is_sought_before_words_are_given(
    chat: OpenChat, memory: Memory
) -> None:
    message = NewMessage(Role.USER, "see", attachments="[f.txt]\nwalrus")
    memory.add(NewSession("chat", "x", (message, NewMessage(Role.ASSISTANT, "Yes.")), title="X-ray"))
    async with chat(ScriptedModel(), session_id=memory.sessions()[0].id) as c:
        await on_screen_title(c, "X-ray")
        await c.pilot.press("ctrl+up", "n")
        await c.until(lambda: "Use /find first" in c.notified())
        await c.pilot.press("escape", "ctrl+f")
        await c.on_screen("Find in this chat")
        await c.pilot.press(*"walrus", "enter")
        await c.until(lambda: focused(c) == "see")


async def test_a_long_chat_is_gone_through_to_its_first_and_last_message(
    chat: OpenChat, memory: Memory
) -> None:
    session = long_session(memory, {})
    async with chat(ScriptedModel(), session_id=session) as c:
        await c.on_screen("line 299")
        await c.pilot.press("ctrl+home")
        await c.on_screen("line 0")
        await c.until(lambda: focused(c) == "line 0")
        await c.pilot.press("G")
        await c.until(lambda: focused(c) == "line 299")
        await c.pilot.press("g")
        await c.until(lambda: focused(c) == "line 0")
        await c.pilot.press("escape", "ctrl+end")
        await c.on_screen("line 299")
        await c.until(lambda: c.composer().has_focus)
        c.app.chat.talk.transcript.scroll_home(animate=False)
        await c.until(lambda: "line 299" not in c.screen())
        await c.pilot.press("ctrl+end")
        await c.on_screen("line 299")


async def test_the_chat_is_written_as_markdown_or_to_be_imported_again(
    chat: OpenChat, memory: Memory, tmp_path: Path
) -> None:
    async with chat(ScriptedModel(["Yes \x1b]52;c;eA==\x07**bold** [/b]."])) as c:
        await c.type("/export")
        await c.until(lambda: "Nothing was said" in c.notified())
        await c.say("Is it [TODO]?")
        await c.type(f"/export {tmp_path}/chat one.md")
        await c.until(lambda: "Written to" in c.notified())
        text = (tmp_path / "chat one.md").read_text("utf-8")
        assert text.startswith("# Is it [TODO]?\n")
        assert "Yes **bold** [/b]." in text
        assert "\x1b" not in text
        await c.type(f"/export {tmp_path}/chat one.md")
        await c.until(lambda: "is there already" in c.notified())
        await c.type(f"/export {tmp_path}/chat.jsonl")
        await c.until(lambda: "chat.jsonl" in c.notified())
        lines = [json.loads(line) for line in (tmp_path / "chat.jsonl").read_text().splitlines()]
        assert [line["text"] for line in lines] == c.stored()
        await c.type(f"/export {tmp_path}/no/such/folder/x.md")
        await c.until(lambda: "Cannot write to" in c.notified())
        await c.type(f"/export {tmp_path}")
        await c.until(lambda: any(path.name.endswith("-is-it-todo.md") for path in tmp_path.iterdir()))
    assert f"{tmp_path}/chat one.md" in {copy.path for copy in known_copies(memory._database)}


async def test_a_private_chat_is_written_only_where_it_is_asked_for(
    chat: OpenChat, memory: Memory, tmp_path: Path
) -> None:
    async with chat(ScriptedModel(["ok"]), private=True) as c:
        await c.say("plugh")
        await c.type(f"/export {tmp_path}/p.jsonl")
        await c.until(lambda: "as Markdown only" in c.notified())
        await c.type(f"/export {tmp_path}/p.md")
        await c.until(lambda: "Written to" in c.notified())
        assert "plugh" in (tmp_path / "p.md").read_text()
        await c.pilot.press("f12")
        await c.until(lambda: "nothing is written to one" in c.notified())
        await c.type("/undo")
        await c.until(lambda: "Nothing of a private chat can be brought back" in c.notified())
        assert c.views() == ["plugh", "ok"]
    assert known_copies(memory._database) == []


async def test_the_whole_chat_is_copied(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["One [/b].", "Two."])) as c:
        await c.say("first")
        await c.say("second")
        await c.type("/copy all")
        await c.until(lambda: "The whole chat" in c.notified())
        lines = [line for line in c.app.clipboard.splitlines() if line and ", 20" not in line]
        assert lines == ["first", "One [/b].", "second", "Two."]
        await c.type("/copy both")
        await c.until(lambda: "/copy all the whole chat" in c.notified())


# The person's own editor


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a shell script the editor; in it ``$1`` is the file."""
    monkeypatch.delenv("VISUAL", raising=False)

    def make(script: str) -> None:
        path = tmp_path / "my editor"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(stat.S_IRWXU)
        monkeypatch.setenv("EDITOR", f"'{path}' -w")

    return make


async def test_a_message_is_written_with_the_editor_and_then_sent_or_taken_back(
    chat: OpenChat, editor: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    editor("echo 'and [/b] more' >> \"$2\"")
    async with chat(ScriptedModel(["ok"])) as c:
        free = []

        @contextmanager
        def suspend() -> Iterator[None]:
            free.append(True)
            yield

        c.composer().write("draft")
        await c.pilot.press("f12")
        await c.until(lambda: "needs a terminal" in c.notified())  # a test has none
        monkeypatch.setattr(c.app, "suspend", suspend)
        await c.pilot.press("f12")
        await c.until(lambda: c.composer().text == "draft\nand [/b] more")
        assert free == [True]
        await c.pilot.press("ctrl+z")
        await c.until(lambda: c.composer().text == "draft")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 3", "ended with error 3"),
        ("printf '\\377' > \"$2\"", "no text in UTF-8"),
        ('rm "$2"', "cannot be used"),
    ],
)
def test_an_editor_that_fails_changes_nothing(
    editor: Callable[[str], None], script: str, reason: str
) -> None:
    editor(script)
    with pytest.raises(BadInput, match=reason):
        edited("draft")


def test_an_editor_sees_the_draft_in_a_file_that_is_gone_afterwards(
    editor: Callable[[str], None], tmp_path: Path
) -> None:
    editor(f'cat "$2" > "{tmp_path}/seen"; echo "$2" > "{tmp_path}/name"')
    assert edited("two\nlines") == "two\nlines"
    assert (tmp_path / "seen").read_text() == "two\nlines\n"
    assert not Path((tmp_path / "name").read_text().strip()).exists()


@pytest.mark.parametrize(
    ("given", "reason"), [("/no/such/editor", "cannot be used"), ("'", "is not a command")]
)
def test_an_editor_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch, given: str, reason: str) -> None:
    monkeypatch.setenv("VISUAL", given)
    with pytest.raises(BadInput, match=reason):
        edited("draft")


def test_without_any_editor_it_is_said_how_to_name_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BadInput, match="export EDITOR"):
        edited("draft")
