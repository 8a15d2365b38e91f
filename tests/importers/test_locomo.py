from __future__ import annotations

from datetime import datetime

import pytest

from localmem.errors import ImportFailed
from localmem.types import Role


def test_sessions_come_in_the_order_of_their_numbers_and_dates_without_a_session_are_passed_over(
    read, write, locomo, skipped
):
    sessions = read(write(locomo))
    assert [(s.source, s.external_id) for s in sessions] == [
        ("conv-1", "session_1"),
        ("conv-1", "session_2"),
        ("conv-1", "session_10"),
        ("conv-2", "session_1"),
    ]
    assert not skipped


def test_messages_keep_dialogue_id_and_speaker_and_both_people_are_users(read, write, locomo):
    messages = read(write(locomo))[0].messages
    assert [(m.external_id, m.speaker, m.text) for m in messages] == [
        ("D1:1", "Ana", "Hey"),
        ("D1:2", "Ben", "Hi Ana"),
    ]
    assert {m.role for m in messages} == {Role.USER}


def test_a_session_and_its_messages_carry_the_time_of_the_session_without_a_zone(read, write, locomo):
    times = [(s.started_at, {m.sent_at for m in s.messages}) for s in read(write(locomo))]
    expected = [
        datetime(2023, 5, 8, 13, 56),
        datetime(2023, 5, 25, 12, 30),
        datetime(2023, 9, 13, 0, 9),
        datetime(2023, 1, 20, 16, 4),
    ]
    assert times == [(time, {time}) for time in expected]


def test_the_caption_of_a_photo_is_an_attachment_and_not_part_of_the_text(read, write, locomo):
    (message,) = read(write(locomo))[1].messages
    assert message.text == "Two"
    assert message.attachments == "a photo of a dog"


def test_a_session_without_messages_is_counted(read, write, locomo, skipped):
    locomo[0]["conversation"]["session_2"] = []
    assert len(read(write(locomo))) == 3
    assert skipped == {"session without messages": 1}


def test_a_repeated_dialogue_id_loses_no_message(read, write, locomo):
    locomo[0]["conversation"]["session_1"][1]["dia_id"] = "D1:1"
    assert [m.external_id for m in read(write(locomo))[0].messages] == ["D1:1", "D1:1#2"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r[1].pop("sample_id"), 'record 2: "sample_id" must be a name or number, found nothing'),
        (lambda r: r[1].update(sample_id="conv-1"), "record 2: \"sample_id\" 'conv-1' was used before"),
        (lambda r: r.append(7), "record 3: an object was expected, found 7"),
        (
            lambda r: r[1]["conversation"].update(session_1={}),
            'record 2: "session_1" must be an array, found an object',
        ),
        (
            lambda r: r[1]["conversation"]["session_1"][0].pop("text"),
            'record 2, session_1, message 1: "text" must be text, found nothing',
        ),
        (
            lambda r: r[1]["conversation"].update(session_1_date_time="13:04 pm on 20 January, 2023"),
            "record 2, session_1: the time must read like",
        ),
        (
            lambda r: r[1]["conversation"].update(session_1_date_time="1:04 pm on 31 February, 2023"),
            "record 2, session_1: the time must read like",
        ),
        (
            lambda r: r[1]["conversation"].update(session_1_date_time="1:04 pm on 3 Brumaire, 2023"),
            "record 2, session_1: the time must read like",
        ),
    ],
)
def test_a_record_that_does_not_fit_is_refused_with_its_place(read, write, locomo, change, message):
    change(locomo)
    path = write(locomo)
    with pytest.raises(ImportFailed) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)
