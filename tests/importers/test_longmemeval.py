from __future__ import annotations

from datetime import datetime

import pytest

from localmem.errors import ImportFailed
from localmem.types import Role


def test_each_history_is_a_source_and_an_identical_repeated_session_is_not_lost(read, write, longmemeval):
    sessions = read(write(longmemeval))
    assert [(s.source, s.external_id) for s in sessions] == [
        ("q1_abs", "s1"),
        ("q1_abs", "s2"),
        ("q1_abs", "s1#2"),
        ("q2", "s1"),
    ]
    assert [m.text for m in sessions[0].messages] == [m.text for m in sessions[2].messages]


def test_a_suffix_is_never_an_id_that_the_file_uses(read, write, longmemeval):
    longmemeval[0]["haystack_session_ids"] = ["s1", "s1#2", "s1"]
    assert [s.external_id for s in read(write(longmemeval))[:3]] == ["s1", "s1#2", "s1#3"]


def test_messages_have_role_time_and_an_id_made_of_session_and_index(read, write, longmemeval):
    session = read(write(longmemeval))[2]
    assert [(m.external_id, m.role) for m in session.messages] == [
        ("s1#2:0", Role.USER),
        ("s1#2:1", Role.ASSISTANT),
    ]
    assert session.started_at == datetime(2023, 5, 22, 9, 0)
    assert {m.sent_at for m in session.messages} == {session.started_at}


def test_a_session_without_messages_is_counted(read, write, longmemeval, skipped):
    longmemeval[0]["haystack_sessions"][1] = []
    assert len(read(write(longmemeval))) == 3
    assert skipped == {"session without messages": 1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r[1].pop("question_id"), 'record 2: "question_id" must be a name'),
        (lambda r: r[1].update(question_id="q1_abs"), "record 2: \"question_id\" 'q1_abs' was used before"),
        (lambda r: r[1]["haystack_dates"].append("x"), "differ in number: 1, 2, 1"),
        (lambda r: r[1].pop("haystack_session_ids"), '"haystack_session_ids" must be an array'),
        (
            lambda r: r[0]["haystack_dates"].__setitem__(1, "2023-05-21"),
            "record 1, haystack session 2: the date must read like",
        ),
        (
            lambda r: r[0]["haystack_sessions"][1][0].update(role="system"),
            "record 1, haystack session 2, message 1: \"role\" must be user or assistant, found 'system'",
        ),
        (
            lambda r: r[0]["haystack_sessions"][1][0].update(role=["user"]),
            'haystack session 2, message 1: "role" must be user or assistant, found an array',
        ),
        (
            lambda r: r[0]["haystack_sessions"][1][0].update(content=1.5),
            'haystack session 2, message 1: "content" must be text, found 1.5',
        ),
    ],
)
def test_a_record_that_does_not_fit_is_refused_with_its_place(read, write, longmemeval, change, message):
    change(longmemeval)
    path = write(longmemeval)
    with pytest.raises(ImportFailed) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)
