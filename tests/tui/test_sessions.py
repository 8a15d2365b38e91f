from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from textual.widgets import Input, OptionList, TextArea

from localmem.answering.dialogue import With
from localmem.errors import BadInput
from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.tui import session_to_open
from localmem.tui.finding import best_titles, by_date
from localmem.tui.sessions import SessionList
from localmem.types import NewMessage, NewSession, Role, Session

OpenChat = Callable[..., Any]


def talk(memory: Memory, *texts: str, session_id: int | None = None) -> int:
    for text in texts:
        *_, last = memory.chat(text, model=ScriptedModel(["Reply."]), session_id=session_id)
        session_id = last.message.session_id  # type: ignore[union-attr]
    assert session_id is not None
    return session_id


async def test_a_chat_chosen_in_the_list_is_shown_and_goes_on(chat: OpenChat, memory: Memory) -> None:
    older = talk(memory, "about the garden", "and the hedge")
    talk(memory, "about the roof")
    async with chat(ScriptedModel(["Going on."])) as c:
        await c.pilot.press("ctrl+o")
        await c.until(lambda: "2 sessions, newest first" in c.screen())
        listed = c.screen()
        assert listed.index("about the roof") < listed.index("about the garden")
        await c.pilot.press("down", "enter")
        await c.until(lambda: "and the hedge" in c.screen())
        await c.say("what next")
        assert [m.text for m in memory.messages(older)][-2:] == ["what next", "Going on."]


async def test_escape_leaves_the_list_and_the_session_as_it_was(chat: OpenChat, memory: Memory) -> None:
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("ctrl+o")
        await c.until(lambda: "No sessions yet." in c.screen())
        await c.pilot.press("escape")
        await c.until(lambda: not isinstance(c.app.screen, SessionList))
        assert c.composer().has_focus


async def test_an_imported_session_can_be_read_but_not_continued(
    chat: OpenChat, memory: Memory, said: Callable[..., NewSession]
) -> None:
    memory.add(said("Where is the key?", "Under the *mat*.", at=datetime(2026, 1, 2, tzinfo=UTC)))
    session = memory.sessions()[0]
    async with chat(ScriptedModel(["ok"]), session_id=session.id, ready=False) as c:
        await c.until(lambda: "Under the mat." in c.screen())
        await c.until(lambda: "read only" in c.screen() and c.composer().disabled)
        await c.pilot.press("ctrl+n")
        await c.until(lambda: not c.composer().disabled)
        await c.ready()
        await c.say("fresh")
        assert memory.session(session.id).messages == 2


async def test_many_sessions_open_at_once_and_the_list_says_what_it_leaves_out(
    chat: OpenChat, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localmem.tui.sessions.LISTED", 3)
    for n in range(5):
        memory.add(NewSession("notes", f"n{n}", (NewMessage(Role.USER, f"note {n}"),)))
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("ctrl+o")
        await c.until(lambda: "5 sessions" in c.screen())
        assert "the first 3" in c.screen()
        assert c.app.screen.query_one(OptionList).option_count == 4  # with a heading


def test_the_session_to_open_is_the_one_named_the_latest_chat_or_a_new_one(
    memory: Memory, said: Callable[..., NewSession]
) -> None:
    assert session_to_open(memory, None, last=True) is None
    first = talk(memory, "one")
    latest = talk(memory, "two")
    memory.add(said("imported", at=datetime(2036, 1, 1, tzinfo=UTC)))
    assert session_to_open(memory, None, last=True) == latest
    assert session_to_open(memory, first, last=False) == first
    assert session_to_open(memory, None, last=False) is None
    with pytest.raises(BadInput, match="no session 99"):
        session_to_open(memory, 99, last=False)


def at(days: int) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)


def three(memory: Memory) -> None:
    for days, title, text in ((0, "Garden", "the hedge"), (1, "Roof", "tiles"), (50, "Boat [/b]", "a sail")):
        message = NewMessage(Role.USER, text, sent_at=at(days))
        memory.add(NewSession("chat", title, (message,), title=title, started_at=at(days)))


async def test_sessions_stand_under_their_day_or_month(chat: OpenChat, memory: Memory) -> None:
    three(memory)
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("ctrl+o")
        await c.on_screen("3 sessions", "Today", "Yesterday", f"{at(50):%B %Y}", "Boat [/b]")
        screen = c.screen()
        places = [screen.index(text) for text in ("Today", "Garden", "Yesterday", "Roof", "Boat")]
        assert places == sorted(places)


async def test_a_session_is_found_by_letters_of_its_title_and_opened(chat: OpenChat, memory: Memory) -> None:
    three(memory)
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("ctrl+o")
        await c.on_screen("3 sessions")
        await c.pilot.press(*"grdn")
        await c.on_screen("1 title with these letters")
        await c.pilot.press("enter")
        await c.on_screen("the hedge")


async def test_a_message_is_found_by_its_words_and_the_session_opens_there(
    chat: OpenChat, memory: Memory
) -> None:
    lines = [NewMessage(Role.USER, f"line {n}") for n in range(300)]
    lines[120] = NewMessage(Role.USER, "the zebra [/x] crossed")
    memory.add(NewSession("import", "long", tuple(lines), title="Long"))
    memory.wait_embedded()
    async with chat(ScriptedModel()) as c:
        await c.type("/sessions zebra crossed")
        await c.on_screen("In what was said", "the zebra [/x] crossed")
        await c.until(lambda: c.app.screen.query_one(OptionList).highlighted is not None)
        await c.pilot.press("enter")
        await c.on_screen("read only", "the zebra [/x] crossed", "line 119", "line 121")
        await c.until(lambda: c.app.focused.message.text == "the zebra [/x] crossed")


async def test_a_message_on_another_branch_is_jumped_to(chat: OpenChat, memory: Memory) -> None:
    dialogue = memory.dialogue()
    list(dialogue.say("about walruses", With(ScriptedModel(["Tusks."]))))
    old = dialogue.path()[0].id
    list(dialogue.say("about whales", With(ScriptedModel(["Songs."])), replaces=old))
    memory.wait_embedded()
    async with chat(ScriptedModel(), session_id=dialogue.session_id) as c:
        await c.on_screen("about whales")
        await c.type("/sessions walruses")
        await c.on_screen("In what was said")
        await c.pilot.press("down", "down", "up", "enter")
        await c.until(lambda: c.views() == ["about walruses", "Tusks."])


async def test_a_session_is_named_tagged_and_put_away_in_the_list(chat: OpenChat, memory: Memory) -> None:
    three(memory)
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("ctrl+o")
        await c.on_screen("3 sessions")
        await c.pilot.press("down", "ctrl+r")
        await c.on_screen("The title of this session")
        c.app.screen.query_one(Input).value = "The [red] roof"
        await c.pilot.press("enter")
        await c.on_screen("The [red] roof")
        await c.pilot.press("ctrl+t")
        await c.on_screen("with commas between them")
        c.app.screen.query_one(Input).value = "#house, [x], house,"
        await c.pilot.press("enter")
        await c.on_screen("The [red] roof #house #[x]")
        await c.pilot.press("ctrl+s")
        await c.on_screen("2 sessions", "Put away: The [red] roof")
        assert "roof #house" not in c.screen()
        await c.pilot.press("ctrl+l")
        await c.on_screen("3 sessions", "(put away)")
        await c.pilot.press("escape", "ctrl+o")
        await c.on_screen("2 sessions")
        await c.pilot.press(*"house")
        await c.on_screen("1 title", "The [red] roof")
    roof = next(s for s in memory.sessions() if s.archived)
    assert (roof.title, roof.tags) == ("The [red] roof", ("house", "[x]"))


async def test_a_session_is_deleted_and_brought_back_until_the_bin_is_emptied(
    chat: OpenChat, memory: Memory
) -> None:
    three(memory)
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("ctrl+o")
        await c.on_screen("3 sessions")
        await c.pilot.press("ctrl+x")
        await c.on_screen("2 sessions")
        await c.on_screen("until you quit, Ctrl+Z brings it back: Garden")
        assert "the hedge" not in c.stored()
        await c.pilot.press("ctrl+z")
        await c.on_screen("3 sessions", "Back again: Garden")
        await c.pilot.press("ctrl+z")
        await c.on_screen("nothing to bring back")
    assert "the hedge" in c.stored()


async def test_deleting_the_session_that_is_open_begins_a_new_chat(chat: OpenChat, memory: Memory) -> None:
    async with chat(ScriptedModel(["1", "2"])) as c:
        await c.say("one")
        await c.pilot.press("ctrl+o")
        await c.on_screen("1 session, newest first")
        await c.pilot.press("ctrl+x")
        await c.on_screen("No sessions yet.")
        await c.pilot.press("escape")
        await c.until(lambda: "is deleted" in c.notified() and not c.views())
        await c.say("two")
        await c.type("/delete-chat")
        await c.until(lambda: not c.views())
        assert memory.sessions() == []
        await c.type("/undo")
        await c.until(lambda: c.views() == ["two", "2"])


async def test_the_open_session_is_named_and_tagged_by_command(chat: OpenChat, memory: Memory) -> None:
    async with chat(ScriptedModel(["1"])) as c:
        await c.say("one")
        await c.type("/rename A [TODO] title")
        await c.on_screen("A [TODO] title")
        await c.type("/tags a, b")
        await c.on_screen("#a  #b")
        await c.pilot.press("f2")
        await c.on_screen("The title of this chat", "A [TODO] title")
        c.app.screen.query_one(Input).value = "Better"
        await c.pilot.press("enter")
        await c.on_screen("Better")
        await c.type("/archive")
        await c.on_screen("(put away)")
        await c.type("/archive")
        await c.until(lambda: "(put away)" not in c.screen())
        assert c.views() == ["one", "1"]


async def test_a_system_prompt_is_written_and_counts_from_the_next_message(
    chat: OpenChat, memory: Memory
) -> None:
    model = ScriptedModel(["1", "2"])
    async with chat(model) as c:
        await c.type("/system")
        await c.on_screen("The system prompt of this chat")
        c.app.screen.query_one(TextArea).text = "Speak\nlike a [pirate]."
        await c.pilot.press("ctrl+s")
        await c.until(lambda: "from the next message on" in c.notified())
        await c.say("one")
        assert model.history[0][0].text.endswith("Speak\nlike a [pirate].")
        assert memory.desk.system(1) == "Speak\nlike a [pirate]."
        await c.type("/system")
        await c.on_screen("like a [pirate].")
        c.app.screen.query_one(TextArea).text = ""
        await c.pilot.press("ctrl+s")
        await c.until(lambda: "No system prompt." in c.notified())
        await c.say("two")
        assert "pirate" not in model.history[1][0].text


async def test_an_answer_shows_again_what_it_cited_and_cost_when_it_is_opened(
    chat: OpenChat, memory: Memory, said: Callable[..., NewSession]
) -> None:
    memory.add(said("My bicycle is a green Gazelle.", "Nice.", session="bikes"))
    memory.wait_embedded()
    session_id = talk(memory, "What is my bicycle?")
    async with chat(ScriptedModel(), session_id=session_id) as c:
        await c.on_screen("recalled 1 message from 1 session", "My bicycle is a green Gazelle.")
        memory.delete_session(next(s.id for s in memory.sessions() if s.external_id == "bikes"))
        c.app.chat.talk.reopen()
        await c.until(lambda: "Gazelle.\n" not in c.screen().replace("[1] ", "") or "[1]" not in c.screen())


def test_titles_match_by_letters_in_order_and_whole_words_come_first() -> None:
    def session(number: int, title: str, *tags: str) -> Session:
        return Session(number, f"x{number}", "chat", title, None, 0, tags=tags)

    sessions = [
        session(1, "grand old den"),
        session(2, "The Garden"),
        session(3, "x", "garden"),
        session(4, "no"),
    ]
    assert [s.id for s in best_titles(sessions, "garden")][:2] in ([2, 3], [3, 2])
    assert {s.id for s in best_titles(sessions, "grden")} == {1, 2, 3}
    assert best_titles(sessions, "  ") == sessions
    assert best_titles(sessions, "[/]") == []


def test_sessions_without_a_time_or_a_zone_have_a_place() -> None:
    today = date(2026, 5, 10)

    def session(moment: datetime | None) -> Session:
        return Session(1, "x", "chat", "t", moment, 0)

    moments = [
        datetime(2026, 5, 10, 1),
        datetime(2026, 5, 9, 23),
        datetime(2026, 5, 5),
        datetime(2020, 2, 1),
        None,
    ]
    headings = [heading for heading, _ in by_date([session(m) for m in moments], today)]
    assert headings == ["Today", "Yesterday", "This week", "February 2020", "Undated"]
