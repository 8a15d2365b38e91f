from __future__ import annotations

import json
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localmem.errors import ImportFailed
from localmem.importers import read_sessions
from localmem.types import NewMessage, NewSession, Origin, Role


def line(session="a", role="user", text="hi", **more):
    return json.dumps({"session": session, "role": role, "text": text, **more}) + "\n"


def ids(sessions):
    return [(s.external_id, [m.external_id for m in s.messages]) for s in sessions]


def test_every_field_of_a_line_arrives(read, write):
    optional = {"speaker": "Bot", "id": "m1", "title": "Chat", "source": "src", "parent": "m0"}
    text = line(
        "s",
        "assistant",
        "Yes.",
        at="2026-03-01T09:30:00+01:00",
        attachments="cap",
        origin="recalled",
        **optional,
    )
    time = datetime(2026, 3, 1, 9, 30, tzinfo=timezone(timedelta(hours=1)))
    message = NewMessage(
        role=Role.ASSISTANT,
        text="Yes.",
        speaker="Bot",
        sent_at=time,
        external_id="m1",
        parent="m0",
        origin=Origin.RECALLED,
        attachments="cap",
    )
    assert read(write(text)) == [NewSession("src", "s", (message,), title="Chat", started_at=time)]


def test_what_is_said_of_a_session_may_stand_on_any_of_its_lines(read, write):
    text = line(title="Chat", tags=["a", "b"]) + line(started="2026-03-01", leaf="0", title="other")
    (session,) = read(write(text + line(archived=True, system="Be kind.")))
    assert (session.title, session.tags, session.leaf) == ("Chat", ("a", "b"), "0")
    assert (session.started_at, session.archived, session.system) == (datetime(2026, 3, 1), True, "Be kind.")


def test_a_guessed_time_stays_a_guess_and_an_empty_parent_begins_the_session(read, write):
    ((message,),) = [s.messages for s in read(write(line(at="2026-03-01", inferred=True, parent="")))]
    assert message.sent_at_inferred
    assert message.parent == ""


def test_the_source_is_the_name_of_the_file_when_no_line_names_one(read, write):
    (session,) = read(write(line(), name="diary.2026.txt"))
    assert session.source == "diary.2026"


def test_blank_lines_are_passed_over_and_the_last_line_break_may_be_missing(read, write):
    path = write("\n  \r\n" + line(text="1") + "\n\n" + line(text="2").rstrip("\n"))
    assert [m.text for s in read(path) for m in s.messages] == ["1", "2"]


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (None, None),
        ("2026-03-01T09:30:00", datetime(2026, 3, 1, 9, 30)),
        ("2026-03-01 09:30", datetime(2026, 3, 1, 9, 30)),
        ("2026-03-01", datetime(2026, 3, 1)),
        ("2026-03-01T09:30:00Z", datetime(2026, 3, 1, 9, 30, tzinfo=UTC)),
        (1772357400, datetime(2026, 3, 1, 9, 30, tzinfo=UTC)),
        (1772357400.5, datetime(2026, 3, 1, 9, 30, 0, 500000, tzinfo=UTC)),
    ],
)
def test_a_time_is_iso_or_epoch_seconds_or_unknown(read, write, at, expected):
    ((message,),) = [s.messages for s in read(write(line(at=at)))]
    assert message.sent_at == expected
    assert (message.sent_at is None) or (message.sent_at.tzinfo is None) == (expected.tzinfo is None)


@pytest.mark.parametrize(
    ("role", "expected"),
    [("user", Role.USER), ("human", Role.USER), ("User", Role.USER)]
    + [(name, Role.ASSISTANT) for name in ("assistant", "ai", "model")],
)
def test_the_usual_names_of_the_roles_are_understood(read, write, role, expected):
    assert read(write(line(role=role)))[0].messages[0].role is expected


def test_system_and_tool_lines_are_counted_and_do_not_use_up_ids(read, write, skipped):
    path = write(line(role="system") + line() + line(role="tool", text=None) + line() + line(role="tool"))
    assert ids(read(path)) == [("a", ["0", "1"])]
    assert skipped == {"system message": 1, "tool message": 2}


def test_the_lines_of_a_session_are_put_together_wherever_they_stand(read, write):
    path = write(
        "\ufeff" + line("a") + line("a") + "\n" + line("b") + line("a", "tool") + line("a") + line("b")
    )
    assert ids(read(path)) == [("a", ["0", "1", "2"]), ("b", ["0", "1"])]


def test_a_session_that_comes_again_keeps_the_time_it_started(read, write):
    path = write(line("a") + line("a", at="2026-03-01") + line("b") + line("a", at="2026-03-09"))
    assert [s.started_at for s in read(path)] == [datetime(2026, 3, 1), None]


def test_equal_sessions_of_two_sources_are_counted_apart(read, write):
    path = write(line(source="x") + line(source="y") + line(source="x"))
    assert [(s.source, [m.external_id for m in s.messages]) for s in read(path)] == [
        ("x", ["0", "1"]),
        ("y", ["0"]),
    ]


def test_a_file_that_has_grown_gives_its_old_messages_the_same_ids(read, write):
    old = line("a") + line("b") + line("a", id="named")
    before = {(s.external_id, m.external_id) for s in read(write(old)) for m in s.messages}
    after = {(s.external_id, m.external_id) for s in read(write(old + line("a"))) for m in s.messages}
    assert before < after
    assert len(after) == 4


@pytest.mark.parametrize(
    "second", [line(id="x"), line("b") + line(id="x"), line() + line(id="0"), line(id="1") + line() + line()]
)
def test_an_id_used_twice_in_a_session_is_refused_because_a_message_would_be_lost(read, write, second):
    with pytest.raises(ImportFailed, match=r"line \d: id .* was used before in session 'a'"):
        read(write(line(id="x") + second))


def test_ids_that_only_resemble_counted_ones_are_accepted(read, write):
    given = ["00", "٠", "1" * 5000, "7"]
    path = write(line() + "".join(line(id=name) for name in given))
    assert ids(read(path)) == [("a", ["0", *given])]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("[1]\n", "an object was expected, found an array"),
        ("nonsense\n", "not correct JSON"),
        (line()[:-4] + "\n", "not correct JSON, or cut short"),
        ('{"role": "user", "text": "hi"}\n', '"session" must be a name or number, found nothing'),
        (line(session=""), '"session" must be a name or number, found empty text'),
        (line(session=True), '"session" must be a name or number, found true'),
        ('{"session": "a", "role": "user"}\n', '"text" must be text, found nothing'),
        (line(text=5), '"text" must be text, found 5'),
        (line(role="narrator"), "\"role\" must be user or assistant, found 'narrator'"),
        (line(role=None), '"role" must be text, found nothing'),
        (line(tags="a"), '"tags" must be an array'),
        (line(tags=[1]), '"tags" must be an array of text'),
        (line(session="\ud83d"), '"session" must be a name'),
        (line(started="yesterday"), '"started" must be a time'),
        (line(origin="dreamt"), "\"origin\" must be said or recalled, found 'dreamt'"),
        (line(at="yesterday"), '"at" must be a time'),
        (line(at="2026-02-30"), '"at" must be a time'),
        (line(at=1772357400000), '"at" must be a time'),
        (line(at=True), '"at" must be a time'),
        (line(at=float("nan")), '"at" must be a time'),
        (line(at=float("inf")), '"at" must be a time'),
        (line(at=10**400), '"at" must be a time'),
        (line(at="0001-01-01T00:00:00+14:00"), '"at" must be a time'),
        ("[" * 100_000 + "\n", "nested too deeply"),
        ('{"session": "a", "n": ' + "9" * 5000 + "}\n", "not correct JSON"),
        (b'{"session": "\xff"}\n', "not UTF-8"),
    ],
)
def test_a_bad_line_is_refused_with_file_and_line_number(read, write, bad, message):
    good = (line() + "\n").encode()
    path = write(good + (bad if isinstance(bad, bytes) else bad.encode()))
    with pytest.raises(ImportFailed) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}, line 3: ")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
texts = st.text(st.characters())  # lone surrogates and NUL included
times = st.none() | st.datetimes(
    min_value=datetime(1900, 1, 1),
    timezones=st.none() | st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45))]),
)
messages = st.builds(
    NewMessage,
    role=st.sampled_from(Role),
    text=texts,
    speaker=texts,
    sent_at=times,
    parent=st.none() | names,
    origin=st.sampled_from(Origin),
    attachments=texts,
)


@given(st.lists(st.tuples(names, messages), min_size=1), st.booleans())
def test_what_is_written_as_jsonl_reads_back_the_same(rows, ascii_only):
    def as_line(session: str, message: NewMessage) -> bytes:
        record = {
            "session": session,
            "role": message.role,
            "text": message.text,
            "speaker": message.speaker,
            "at": message.sent_at and message.sent_at.isoformat(),
            "parent": message.parent,
            "origin": message.origin,
            "attachments": message.attachments,
        }
        try:
            return json.dumps(record, ensure_ascii=ascii_only).encode()
        except UnicodeEncodeError:  # a lone surrogate can only be written as an escape
            return json.dumps(record).encode()

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        path.write_bytes(b"\n".join(as_line(*row) for row in rows))
        sessions = list(read_sessions(path, skipped=Counter()))

    assert [s.external_id for s in sessions] == list(dict.fromkeys(session for session, _ in rows))
    found = [(s.external_id, m) for s in sessions for m in s.messages]
    expected = [row for s in sessions for row in rows if row[0] == s.external_id]
    assert [m.external_id for s in sessions for m in s.messages] == [
        str(number) for s in sessions for number in range(len(s.messages))
    ]
    for (_, out), (_, given_message) in zip(found, expected, strict=True):
        for field in ("role", "text", "speaker", "sent_at", "parent", "origin", "attachments"):
            assert getattr(out, field) == getattr(given_message, field)
