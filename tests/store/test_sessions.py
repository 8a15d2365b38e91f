from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localmem.errors import BadInput
from localmem.store import Database, SessionStore
from localmem.types import Message, NewMessage, NewSession, Role

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=2)))


def stored(
    database: Database, messages: Sequence[NewMessage], started: datetime | None = None
) -> list[Message]:
    sessions = SessionStore(database)
    with database.atomic():
        session_id = sessions.open_session(NewSession("src", "s", (), started_at=started))
        sessions.append(session_id, messages)
    return sessions.messages(session_id)


def user(text: str, at: datetime | None = None, **fields: object) -> NewMessage:
    return NewMessage(Role.USER, text, sent_at=at, **fields)  # type: ignore[arg-type]


def assistant(text: str, at: datetime | None = None) -> NewMessage:
    return NewMessage(Role.ASSISTANT, text, sent_at=at)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a\x00b",
        "\ud83d lone",
        "[bold] [/",
        "e\u0301👩\u200d👩\u200d👧",
        "\u202eright to left",
        "x" * 1_000_000,
    ],
)
def test_any_text_comes_out_unchanged(database: Database, text: str) -> None:
    (message,) = stored(database, [user(text, speaker=text[:50], attachments=text)])
    assert (message.text, message.speaker, message.attachments) == (text, text[:50], text)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_arbitrary_text_comes_out_unchanged(database: Database, text: str) -> None:
    sessions = SessionStore(database)
    with database.atomic():
        session_id = sessions.open_session(NewSession("src", "s", ()))
        (message_id,) = sessions.append(session_id, [user(text)])
    assert sessions.messages_by_id([message_id])[message_id].text == text


def test_a_time_keeps_its_instant_and_its_zone(database: Database) -> None:
    (message,) = stored(database, [user("hi", NOON)])
    assert message.sent_at == NOON
    assert message.sent_at is not None
    assert message.sent_at.utcoffset() == timedelta(hours=2)


def test_a_naive_time_keeps_its_wall_clock(database: Database) -> None:
    (message,) = stored(database, [user("hi", datetime(2023, 5, 8, 13, 56))])
    assert message.sent_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def test_a_missing_time_is_a_neighbours_and_marked_inferred(database: Database) -> None:
    later = NOON + timedelta(hours=1)
    messages = stored(database, [user("a"), assistant("b", NOON), user("c"), assistant("d", later)])
    assert [m.sent_at for m in messages] == [NOON, NOON, NOON, later]
    assert [m.sent_at_inferred for m in messages] == [True, False, True, False]


def test_a_session_without_any_time_stays_without(database: Database) -> None:
    (message,) = stored(database, [user("a")])
    assert message.sent_at is None
    assert not message.sent_at_inferred


def test_a_known_message_is_not_taken_in_twice(database: Database) -> None:
    first = [user("a", external_id="D1:1"), user("b", external_id="D1:2")]
    stored(database, first)
    messages = stored(database, [*first, user("c", external_id="D1:3")])
    assert [(m.external_id, m.position) for m in messages] == [("D1:1", 0), ("D1:2", 1), ("D1:3", 2)]


def test_a_turn_is_a_user_message_and_its_answer(database: Database) -> None:
    messages = stored(database, [user("a"), user("b"), assistant("c"), user("d"), user("e")])
    assert [m.turn for m in messages] == [0, 0, 0, 1, 1]


def test_an_assistants_greeting_is_a_turn_of_its_own(database: Database) -> None:
    messages = stored(database, [assistant("hello"), user("a"), assistant("b"), user("c")])
    assert [m.turn for m in messages] == [0, 1, 1, 2]


def test_two_people_are_paired_by_who_spoke_first(database: Database) -> None:
    names = ["Ana", "Ben", "Ben", "Ana", "Ben", "Ana"]
    messages = stored(database, [user("x", speaker=name) for name in names])
    assert [m.turn for m in messages] == [0, 0, 0, 1, 1, 2]


def test_turns_go_on_when_a_session_is_added_to(database: Database) -> None:
    stored(database, [user("a")])
    messages = stored(database, [assistant("b"), user("c")])
    assert [(m.position, m.turn) for m in messages] == [(0, 0), (1, 0), (2, 1)]


def test_a_session_whose_messages_were_all_deleted_can_be_added_to(database: Database) -> None:
    stored(database, [user("a"), assistant("b"), user("c")])
    with database.atomic() as connection:
        connection.execute("DELETE FROM message")
        assert connection.execute("SELECT count(*) FROM turn").get == 0
    (message,) = stored(database, [user("d")])
    assert (message.position, message.turn) == (0, 0)


def test_an_unknown_session_is_an_error_that_says_how_to_find_one(database: Database) -> None:
    with pytest.raises(BadInput, match="localmem sessions"):
        SessionStore(database).session(7)
