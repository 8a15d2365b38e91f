"""Palette, keys, colours, sizes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input, OptionList

from localmem.errors import BadInput
from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.tui.commands import COMMANDS, SLASH
from localmem.tui.help import KeyMap, key_map, named
from localmem.tui.keymap import read_keymap
from localmem.tui.palette import Palette
from localmem.tui.status import meter
from localmem.types import Ledger, NewMessage, NewSession, Role

OpenChat = Callable[..., Any]


async def test_the_palette_runs_a_command_and_offers_sessions_by_hostile_titles(
    chat: OpenChat, memory: Memory
) -> None:
    title = "[/b] \x1b[2J[TODO] zebra"
    memory.add(NewSession("chat", "z", (NewMessage(Role.USER, "stripes"),), title=title))
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("ctrl+p")
        await c.until(lambda: isinstance(c.app.screen, Palette))
        await c.on_screen("/new", "Begin a new chat")
        c.app.screen.query_one(Input).value = "zebra"
        await c.on_screen("Open: [/b] [TODO] zebra")
        assert "\x1b" not in c.screen()
        await c.pilot.press("enter")
        await c.until(lambda: c.app.screen is c.app.chat or c.app.screen.query(OptionList))
        if c.app.screen is not c.app.chat:
            await c.pilot.press("enter")
        await c.on_screen("stripes")
        await c.pilot.press("ctrl+p")
        await c.until(lambda: isinstance(c.app.screen, Palette))
        c.app.screen.query_one(Input).value = "private"
        await c.on_screen("/private")
        await c.pilot.press("down", "enter")
        await c.on_screen("Private: nothing of this chat is kept")


async def test_a_key_of_the_persons_own_does_its_work_in_place_of_the_usual_one(
    chat: OpenChat, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "keys.toml").write_text('[keys]\nhelp = "ctrl+g"\nmessage-copy = "w"\n')
    async with chat(ScriptedModel(["Copied."]), home=home) as c:
        await c.pilot.press("ctrl+g")
        await c.until(lambda: isinstance(c.app.screen, KeyMap))
        await c.on_screen("Ctrl+G")
        await c.pilot.press("escape")
        await c.until(lambda: c.app.screen is c.app.chat)
        await c.pilot.press("f1")
        assert c.app.screen is c.app.chat
        await c.say("hello")
        await c.pilot.press("ctrl+up", "w")
        await c.until(lambda: c.app.clipboard == "Copied.")


async def test_a_command_without_a_key_gets_one(chat: OpenChat, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "keys.toml").write_text('[keys]\nprivate = "ctrl+g"\n')
    async with chat(ScriptedModel(), home=home) as c:
        await c.pilot.press("ctrl+g")
        await c.on_screen("Private: nothing of this chat is kept")


async def test_a_broken_key_map_is_told_and_the_usual_keys_stay(chat: OpenChat, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "keys.toml").write_text('[keys]\nhelp = "ctrl+g"\nnonsense = "f9"\n')
    (home / "chat.json").write_text('{"theme": "[/x]"}')
    async with chat(ScriptedModel(), home=home) as c:
        await c.until(lambda: "no command 'nonsense'" in c.notified())
        assert "no theme '[/x]'" in c.notified()
        await c.pilot.press("f1")
        await c.until(lambda: isinstance(c.app.screen, KeyMap))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("keys = 3", "must be a table"),
        ("[keys", "not valid TOML"),
        ('[keys]\nnope = "f9"', "no command 'nope'"),
        ("[keys]\nnew = 3", "is not a key"),
        ('[keys]\nnew = "control-n"', "is not a key"),
        ('[keys]\nnew = "ctrl+o"', "is both new and sessions"),
        ('[keys]\nnew = "enter"', "enter cannot be new"),
        ('[keys]\nback = "q"', "q cannot be back: it is for writing"),
        ('[keys]\nnew = "space"', "space cannot be new"),
        ("\xff", "cannot be read"),
    ],
)
def test_what_is_wrong_with_a_key_map_is_named(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "keys.toml").write_bytes(text.encode("latin1"))
    with pytest.raises(BadInput, match=problem) as caught:
        read_keymap(tmp_path)
    assert "The keys are the usual ones." in str(caught.value)


def test_keys_may_be_swapped_and_several(tmp_path: Path) -> None:
    assert read_keymap(tmp_path) == {}
    (tmp_path / "keys.toml").write_text('[keys]\nnew = "ctrl+o"\nsessions = "ctrl+n,f10"\n')
    assert read_keymap(tmp_path) == {"new": "ctrl+o", "sessions": "ctrl+n,f10"}


def test_the_key_map_names_every_key_and_every_command() -> None:
    lines = [line for _, group in key_map({"new": "f10"}) for line in group]
    assert ("F10", "Begin a new chat") in lines
    assert ("Ctrl+N", "Begin a new chat") not in lines
    for command in COMMANDS:
        if command.keys and command.name != "new":
            assert (named(command.keys), command.about) in lines
    for command in SLASH:
        assert (f"/{command.name} {command.argument}".strip(), command.about) in lines


async def test_the_colours_change_and_the_choice_is_kept(chat: OpenChat, tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with chat(ScriptedModel(), home=home) as c:
        assert c.app.theme == "dark"
        await c.pilot.press("f8")
        await c.until(lambda: c.app.theme == "light")
        await c.type("/theme contrast")
        await c.until(lambda: c.app.theme == "contrast")
        await c.type("/theme [pink]")
        await c.until(lambda: "no theme [pink]" in c.notified())
    assert json.loads((home / "chat.json").read_text()) == {"theme": "contrast"}
    async with chat(ScriptedModel(), home=home) as c:
        assert c.app.theme == "contrast"


async def test_the_plain_colours_draw_no_lines_and_boxes(chat: OpenChat, tmp_path: Path) -> None:
    drawn = {chr(code) for code in range(0x2500, 0x25A0)}
    async with chat(ScriptedModel(["Words."])) as c:
        assert drawn & set(c.screen())
        await c.type("/theme plain")
        await c.until(lambda: c.app.theme == "plain")
        await c.say("hello")
        await c.until(lambda: not drawn & set(c.screen()))
        await c.pilot.press("f1")
        await c.on_screen("While you write")
        await c.until(lambda: not drawn & set(c.screen()))


async def test_without_colour_everything_is_still_there(
    chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with chat(ScriptedModel(["Grey."])) as c:
        assert c.app.no_color
        await c.say("hello")
        await c.on_screen("You", "hello", "Assistant", "Grey.", "is ready")


@pytest.mark.parametrize("size", [(60, 20), (100, 30), (200, 60)])
async def test_it_can_be_used_at_every_size(chat: OpenChat, memory: Memory, size: tuple[int, int]) -> None:
    async with chat(ScriptedModel(["An answer."]), size=size) as c:
        await c.say("A question")
        await c.on_screen("A question", "An answer.", "is ready", "in memory", "Send", "Commands", "Quit")
        await c.pilot.press("ctrl+o")
        await c.on_screen("1 session", "A question", "Rename")
        await c.pilot.press("escape", "f1")
        await c.on_screen("While you write")
        await c.pilot.press("escape", "ctrl+p")
        await c.on_screen("/new")


def test_the_meter_tells_tokens_context_and_memory() -> None:
    ledger = Ledger(model_calls=1, tokens_read=900, tokens_reused=1000, tokens_written=100)
    assert meter(ledger, 8000, 1234) == "context 2,000 of 8,000 tokens · 1,234 messages in memory"
    assert meter(ledger, 8000, 1234, short=True) == "context 25% · 1,234 in memory"
    assert meter(None, 8000, None) == ""
    assert meter(Ledger(), 8000, 0) == "0 messages in memory"


async def test_pages_are_turned_while_typing(chat: OpenChat, memory: Memory) -> None:
    lines = tuple(NewMessage(Role.USER, f"line {n}") for n in range(20))
    memory.add(NewSession("chat", "l", lines, title="L"))
    async with chat(ScriptedModel(), session_id=1, size=(60, 20)) as c:
        await c.on_screen("line 19")
        await c.pilot.press("a", "pageup", "pageup")
        await c.until(lambda: "line 19\n" not in c.screen())
        await c.pilot.press("pagedown", "pagedown", "b")
        await c.on_screen("line 19")
        assert c.composer().text == "ab"
