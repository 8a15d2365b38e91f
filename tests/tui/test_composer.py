"""What is typed: history, long pastes, attachments, commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual._xterm_parser import XTermParser

from localmem.errors import BadInput
from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.tui.attachments import LONG_PASTE, LONGEST, joined, pasted, read_attachment
from localmem.tui.commands import COMMANDS, SLASH, matching, read_slash
from localmem.tui.composer import NEW_LINE, Composer
from localmem.types import NewMessage, NewSession, Role

OpenChat = Callable[..., Any]


async def test_up_brings_back_what_was_said_and_down_what_was_being_written(
    chat: OpenChat, memory: Memory
) -> None:
    said = (NewMessage(Role.USER, "long \x1b[2Jago"), NewMessage(Role.ASSISTANT, "never mine"))
    memory.add(NewSession("chat", "old", said))
    memory.add(NewSession("import", "x", (NewMessage(Role.USER, "somebody else's"),)))
    async with chat(ScriptedModel(["ok"])) as c:
        await c.say("just now")
        await c.pilot.press(*"draft")
        await c.pilot.press("up")
        await c.until(lambda: c.composer().text == "just now")
        await c.pilot.press("up", "up", "up")
        await c.until(lambda: c.composer().text == "long ago")
        await c.pilot.press("down", "down")
        await c.until(lambda: c.composer().text == "draft")


async def test_up_inside_a_text_of_several_lines_moves_in_it(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["ok"])) as c:
        await c.say("before")
        await c.pilot.press("a", "ctrl+j", "b", "up", "c")
        await c.until(lambda: c.composer().text == "ac\nb")


async def test_a_long_paste_is_attached_and_the_message_carries_it(chat: OpenChat, memory: Memory) -> None:
    model = ScriptedModel(["Summed up."])
    text = "\n".join(f"line {n} [/b]" for n in range(200))
    async with chat(model) as c:
        c.composer().post_message(events.Paste(text))
        await c.on_screen("Attached: pasted text 1 (200 lines)")
        assert c.composer().text == ""
        await c.say("Sum this up")
        await c.on_screen("attached: [pasted text 1] line 0 [/b]")
        assert "Attached: " not in c.screen()
    (asked, _) = memory.messages(memory.sessions()[0].id)
    assert asked.attachments == f"[pasted text 1]\n{text}"
    assert "line 199" in model.history[0][-1].text


async def test_what_is_attached_opens_and_closes(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["ok"])) as c:
        c.composer().post_message(events.Paste("\n".join(f"row {n}" for n in range(21))))
        await c.say("See")
        await c.pilot.press("ctrl+up", "up", "enter")
        await c.on_screen("row 0", "row 20")
        await c.pilot.press("enter")
        await c.until(lambda: "row 20" not in c.screen())


async def test_a_file_is_attached_by_command_and_taken_away_by_backspace(
    chat: OpenChat, tmp_path: Path
) -> None:
    file = tmp_path / "[notes] a.txt"
    file.write_text("eggs\nmilk\n")
    async with chat(ScriptedModel(["A list."])) as c:
        await c.type(f"/attach {file}")
        await c.on_screen("Attached: [notes] a.txt (3 lines)")
        await c.pilot.press("backspace")
        await c.until(lambda: "Attached:" not in c.screen())
        await c.type(f"/attach '{file}'")
        await c.on_screen("Attached:")
        await c.pilot.press("enter")  # an attachment alone can be sent
        await c.until(lambda: c.stored() == ["", "A list."])


async def test_a_file_that_cannot_be_attached_is_told_in_words(chat: OpenChat, tmp_path: Path) -> None:
    async with chat(ScriptedModel()) as c:
        await c.type(f"/attach {tmp_path}/[/missing")
        await c.until(lambda: "cannot be read: No such file" in c.notified())
        assert "Attached:" not in c.screen()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x00\x01", "no text file"),
        (b"\xff\xfe\xfd", "no text in UTF-8"),
        (b"x" * (LONGEST + 1), "more than"),
        ("é".encode() * (3 * LONGEST), "more than"),
        (b" \n", "is empty"),
    ],
)
def test_only_a_text_of_bearable_size_is_read(tmp_path: Path, data: bytes, reason: str) -> None:
    file = tmp_path / "f"
    file.write_bytes(data)
    with pytest.raises(BadInput, match=reason):
        read_attachment(str(file))


@pytest.mark.parametrize("path", ["/nowhere/at/all", "a\x00b"])
def test_a_path_that_leads_nowhere_is_refused(path: str) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_attachment(path)


def test_a_text_is_attached_with_its_byte_order_mark_taken_off(tmp_path: Path) -> None:
    file = tmp_path / "f.txt"
    file.write_bytes("\ufeffgrün".encode())
    attachment = read_attachment(str(file))
    assert (attachment.name, attachment.text) == ("f.txt", "grün")
    assert joined([attachment, attachment]) == "[f.txt]\ngrün\n\n[f.txt]\ngrün"


def test_a_paste_is_long_by_characters_or_by_lines() -> None:
    assert pasted("x" * (LONG_PASTE - 1), 1) is None
    assert pasted("x" * LONG_PASTE, 1) is not None
    assert pasted("a\n" * 30, 1) is not None


async def test_a_command_is_completed_and_an_unknown_one_is_kept_and_told(chat: OpenChat) -> None:
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("/", "r", "e")
        await c.on_screen("/rename [TITLE]")
        await c.pilot.press("tab")
        await c.until(lambda: c.composer().text == "/rename ")
        assert "Give this chat another title" not in c.screen()
        await c.type("/nonsense x")
        await c.until(lambda: "no command /nonsense" in c.notified())
        assert c.composer().text == "/nonsense x"
        assert c.stored() == []


async def test_a_message_that_begins_with_a_path_is_a_message(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["ok"])) as c:
        await c.say("/etc/hosts is a file")
        assert c.stored() == ["/etc/hosts is a file", "ok"]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("/new", ("new", "")),
        ("/rename A [b] c ", ("rename", "A [b] c")),
        ("/system a\nb", ("system", "a\nb")),
        ("/delete-chat", ("delete-chat", "")),
        ("/etc/hosts", None),
        (" /new", None),
        ("/", None),
        ("a /new", None),
    ],
)
def test_a_slash_command_is_told_from_a_message(text: str, read: tuple[str, str] | None) -> None:
    assert read_slash(text) == read


def test_what_was_typed_matches_the_commands_that_begin_so() -> None:
    assert [command.name for command in matching("/de")] == ["delete", "detach", "delete-chat"]
    assert len(matching("/")) == len(SLASH)
    assert matching("/rename x") == matching("delete") == []


def test_every_command_has_a_method_and_a_name_of_its_own() -> None:
    from localmem.tui.chat import ChatScreen
    from localmem.tui.commands import Place
    from localmem.tui.evidence import Evidence
    from localmem.tui.layer_view import LayerView
    from localmem.tui.memory_browser import MemoryBrowser
    from localmem.tui.models_picker import ModelsPicker
    from localmem.tui.sessions import SessionList

    owners = {
        Place.LIST: SessionList,
        Place.EVIDENCE: Evidence,
        Place.MODELS: ModelsPicker,
        Place.MEMORY: MemoryBrowser,
        Place.LAYERS: LayerView,
    }
    assert len({command.name for command in COMMANDS}) == len(COMMANDS)
    for command in COMMANDS:
        if command.name != "open":  # of the messages themselves
            action = command.action.removeprefix("screen.").partition("(")[0]
            assert hasattr(owners.get(command.place, ChatScreen), f"action_{action}"), command.name


@pytest.mark.parametrize("sequence", ["\n", "\x1b\r", "\x1b[13;2u", "\x1b[13;3u", "\x1b[27;2;13~"])
def test_what_terminals_send_for_a_new_line_never_sends_the_message(sequence: str) -> None:
    keys = [event.key for event in XTermParser().feed(sequence) if isinstance(event, events.Key)]
    assert keys
    assert set(keys) <= set(NEW_LINE)
    assert "Ctrl+J" in Composer().placeholder


async def test_keys_are_for_what_had_the_focus_when_they_were_pressed(
    chat: OpenChat, memory: Memory, said: Callable[..., NewSession]
) -> None:
    memory.add(said("My bicycle is a green Gazelle.", "Nice.", session="bikes"))
    memory.wait_embedded()
    async with chat(ScriptedModel(["Your bicycle is a green Gazelle."])) as c:
        await c.say("What is my bicycle?")
        await c.on_screen("[1]")
        for key in (*"draft", "ctrl+up", "tab", "enter"):  # no pause between them
            c.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await c.until(lambda: c.app.focused.has_class("-open"))
        assert c.composer().text == "draft"
        for key in ("escape", *"s now"):
            c.app.post_message(events.Key("space" if key == " " else key, key if len(key) == 1 else None))
        await c.until(lambda: c.composer().text == "drafts now")


async def test_a_paste_and_what_up_brought_back_are_taken_back(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["ok"])) as c:
        await c.say("before")
        await c.pilot.press(*"draft")
        c.composer().post_message(events.Paste(" and\nmore"))
        await c.until(lambda: c.composer().text == "draft and\nmore")
        await c.pilot.press("ctrl+z")
        await c.until(lambda: c.composer().text == "draft")
        await c.pilot.press("up")
        await c.until(lambda: c.composer().text == "before")
        await c.pilot.press("ctrl+z")
        await c.until(lambda: c.composer().text == "draft")


async def test_a_paste_that_is_too_long_is_refused_in_words_and_leaves_the_draft(chat: OpenChat) -> None:
    async with chat(ScriptedModel()) as c:
        await c.pilot.press(*"draft")
        c.composer().post_message(events.Paste("a line of some length\n" * 5000))
        await c.until(lambda: "may have 100,000 characters" in c.notified())
        assert (c.composer().text, c.composer().attachments) == ("draft", [])


async def test_of_a_long_message_the_size_is_told_while_it_is_written(chat: OpenChat) -> None:
    async with chat(ScriptedModel()) as c:
        c.composer().post_message(events.Paste("word " * 2000))
        await c.on_screen("10,000 characters, about 2,500 tokens")
        await c.pilot.press("backspace")
        await c.until(lambda: "tokens" not in c.screen())


async def test_a_command_that_was_given_is_brought_back_to_be_mended(chat: OpenChat) -> None:
    async with chat(ScriptedModel()) as c:
        await c.on_screen("0 messages in memory")  # what was said before is read by then
        await c.type("/attach /nowhere/notes.txt")
        await c.until(lambda: "cannot be read" in c.notified())
        await c.pilot.press("up")
        await c.until(lambda: c.composer().text == "/attach /nowhere/notes.txt")
        await c.pilot.press("ctrl+n")  # memory is read again
        await c.until(lambda: c.app.chat.query_one(Composer)._place == 1)
        c.composer().write("")
        await c.pilot.press("up")
        await c.until(lambda: c.composer().text == "/attach /nowhere/notes.txt")


async def test_a_draft_comes_back_when_an_edit_is_left_or_sent(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["1", "2"])) as c:
        await c.say("one")
        await c.pilot.press(*"draft", "f4")
        await c.until(lambda: c.composer().text == "one")
        await c.pilot.press("escape")
        await c.until(lambda: c.composer().text == "draft")
        await c.pilot.press("f4")
        await c.until(lambda: c.composer().text == "one")
        await c.pilot.press("s", "enter")
        await c.until(lambda: c.views() == ["ones", "2"])
        await c.until(lambda: c.composer().text == "draft")


async def test_page_up_turns_the_chat_over_a_short_text_of_several_lines(chat: OpenChat) -> None:
    async with chat(ScriptedModel(["\n\n".join(map(str, range(60)))])) as c:
        await c.say("count")
        await c.pilot.press("a", "ctrl+j", "b")
        end = c.app.chat.talk.transcript.scroll_y
        await c.pilot.press("pageup")
        await c.until(lambda: c.app.chat.talk.transcript.scroll_y < end)
        c.composer().text = "line\n" * 15
        c.composer().move_cursor(c.composer().document.end)
        await c.until(lambda: c.composer().max_scroll_y > 0)
        await c.pilot.press("pageup")
        await c.until(lambda: c.composer().cursor_location[0] < 10)
