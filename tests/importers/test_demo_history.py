"""The sample history imports, and holds what its questions need."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import date
from importlib.resources import as_file, files
from zoneinfo import ZoneInfo

import pytest

from localmem.importers import detect, read_sessions
from localmem.types import Role

DEMO = files("localmem.demo")


@pytest.fixture(scope="module")
def sessions():
    with as_file(DEMO / "history.jsonl") as path:
        assert detect(path).name == "jsonl"
        skipped: Counter[str] = Counter()
        found = list(read_sessions(path, skipped=skipped))
    assert not skipped
    return found


@pytest.fixture(scope="module")
def said(sessions):
    """What Nora said: (session, day, text)."""
    return [
        (s.external_id, m.sent_at.date(), m.text) for s in sessions for m in s.messages if m.role is Role.USER
    ]


@pytest.fixture(scope="module")
def questions():
    return json.loads((DEMO / "questions.json").read_text(encoding="utf-8"))


def mentions(said, pattern):
    return [row for row in said if re.search(pattern, row[2])]


def test_it_is_about_a_dozen_chats_of_one_user_over_three_months(sessions):
    assert 12 <= len(sessions) == len({s.external_id for s in sessions}) <= 15
    assert all(6 <= len(s.messages) <= 12 for s in sessions)
    assert all(s.title for s in sessions)
    assert {m.speaker for s in sessions for m in s.messages if m.role is Role.USER} == {"Nora"}
    days = [s.started_at.date() for s in sessions]
    assert date(2026, 3, 1) <= days[0] < days[-1] <= date(2026, 6, 10)


def test_its_times_rise_and_have_the_zone_of_amsterdam_at_that_date(sessions):
    times = [m.sent_at for s in sessions for m in s.messages]
    assert times == sorted(times)
    assert all(t.utcoffset() == t.astimezone(ZoneInfo("Europe/Amsterdam")).utcoffset() for t in times)
    assert len({t.utcoffset() for t in times}) == 2


def test_each_question_has_an_answer_that_can_be_looked_for_or_none(questions):
    assert [set(q) for q in questions] == [{"question", "expected", "why"}] * 4
    assert [q["expected"] for q in questions] == ["Thursday", "4", "72", None]


def test_the_update_is_stated_twice_and_the_later_one_is_expected(said, questions):
    statements = [text for _, _, text in mentions(said, "weekly team meeting is on")]
    days = [re.search(r"meeting is on (\w+)", text)[1] for text in statements]
    assert days == ["Tuesday", questions[0]["expected"]]


def test_the_counted_books_are_each_finished_in_another_chat(said, questions):
    finished = mentions(said, "I finished reading")
    titles = {
        re.search(r"I finished reading ((?:[A-Z][\w']*|to|\s)+?)(?=,| in| on| last)", text)[1]
        for *_, text in finished
    }
    assert len(finished) == len(titles) == len({session for session, *_ in finished})
    assert str(len(finished)) == questions[1]["expected"]
    assert all(title in questions[1]["why"] for title in titles)
    assert mentions(said, "gave up on it"), "a book that must not be counted"


def test_the_difference_of_the_dates_is_the_one_expected(said, questions):
    ((_, told, _),) = mentions(said, "I adopted a cat .* yesterday")
    ((_, _, operated),) = mentions(said, "had her operation on")
    assert "18 May" in operated
    assert str((date(2026, 5, 18) - told).days + 1) == questions[2]["expected"]


def test_what_must_not_be_answered_was_never_said_though_the_topic_was(sessions):
    everything = " ".join(m.text for s in sessions for m in s.messages)
    assert "give blood" in everything
    assert not re.search(
        r"blood (type|group)|rhesus|\b(A|B|AB|O)[ -]?(positive|negative|[+−-](\s|$))", everything
    )
