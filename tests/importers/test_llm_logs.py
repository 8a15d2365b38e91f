"""llm's logs.db: the older tables, the newer ones, and a file that has both."""

from __future__ import annotations

import sqlite3
from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localmem.errors import ImportFailed
from localmem.importers import detect, read_sessions
from localmem.types import Role

OLDER = """
    CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
    CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, prompt_json TEXT,
        options_json TEXT, response TEXT, response_json TEXT, conversation_id TEXT, duration_ms INTEGER,
        datetime_utc TEXT);
    INSERT INTO conversations VALUES ('c1', 'Capitals', 'm');
    INSERT INTO responses (id, prompt, system, response, conversation_id, datetime_utc) VALUES
        ('r2', 'And Norway?', NULL, 'Oslo.', 'c1', '2026-03-01T09:31:00.000000+00:00'),
        ('r1', 'Capital of Sweden?', 'Be brief.', 'Stockholm.', 'c1', '2026-03-01T09:30:00'),
        ('r3', 'Asked once', NULL, NULL, NULL, '2026-03-02T10:00:00.000000');
"""
FRAGMENTS = """
    CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT);
    CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
    CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
    CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, "order" INTEGER);
    INSERT INTO fragments VALUES (1, 'h', 'a fragment'), (2, 'i', 'before it');
    INSERT INTO prompt_fragments VALUES ('r1', 1, 1), ('r1', 2, 0);
    INSERT INTO attachments VALUES ('a', 'image/png', 'map.png', NULL, NULL);
    INSERT INTO prompt_attachments VALUES ('r1', 'a', 0);
"""
NEWER = """
    CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT, forked_from TEXT,
        datetime_utc TEXT);
    CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT,
        tip_message_hash TEXT, model TEXT, datetime_utc TEXT);
    CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT, provider_metadata TEXT);
    CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT,
        tool_name TEXT, text TEXT, payload TEXT);
    INSERT INTO threads VALUES ('t1', 'Rivers', 'm4', NULL, '2026-03-01T09:30:00+00:00'),
        ('t2', 'Fork', 'm5', 't1', '2026-03-03T09:30:00+00:00');
    INSERT INTO turns VALUES ('x', 't1', NULL, 'm2', 'm', '2026-03-01T09:30:00+00:00'),
        ('y', 't1', 'm2', 'm4', 'm', '2026-03-01T09:40:00+00:00'),
        ('z', 't2', 'm2', 'm5', 'm', '2026-03-03T09:30:00+00:00');
    INSERT INTO messages VALUES ('m0', NULL, 'system', NULL), ('m1', 'm0', 'user', NULL),
        ('m2', 'm1', 'assistant', NULL), ('m3', 'm2', 'user', NULL), ('m4', 'm3', 'assistant', NULL),
        ('m5', 'm2', 'user', NULL);
    INSERT INTO parts (message_hash, position, type, text, payload) VALUES
        ('m0', 0, 'text', 'Be brief.', NULL), ('m1', 0, 'text', 'Longest river?', NULL),
        ('m2', 1, 'text', 'The Nile.', NULL), ('m2', 0, 'reasoning', 'hm', NULL),
        ('m3', 0, 'text', NULL, '{"text_ref": [{"literal": "Read: "}, {"fragment": 1}]}'),
        ('m4', 0, 'text', 'Read it.', NULL), ('m5', 0, 'text', 'And the second?', NULL),
        ('m5', 1, 'attachment', NULL, '{"attachment": {"id": "a"}}');
"""


@pytest.fixture
def logs(tmp_path):
    def make(*scripts):
        path = tmp_path / "some.file"
        path.unlink(missing_ok=True)
        connection = sqlite3.connect(path)
        for script in scripts:
            connection.executescript(script)
        connection.close()
        return path

    return make


def said(session):
    return [(m.role, m.text) for m in session.messages]


def test_responses_of_a_conversation_come_in_order_of_time_with_prompt_and_reply(read, logs, skipped):
    path = logs(OLDER)
    assert detect(path).name == "llm"
    first, second = read(path)
    assert (first.source, first.external_id, first.title) == ("llm", "c1", "Capitals")
    assert said(first) == [
        (Role.USER, "Capital of Sweden?"),
        (Role.ASSISTANT, "Stockholm."),
        (Role.USER, "And Norway?"),
        (Role.ASSISTANT, "Oslo."),
    ]
    assert first.messages[0].external_id == "r1:prompt"
    assert first.messages[0].sent_at == datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    assert (second.external_id, said(second)) == ("r3", [(Role.USER, "Asked once")])
    assert skipped == {"system prompt": 1, "message without text": 1}


def test_fragments_and_attachments_of_a_prompt_are_its_attachments(read, logs):
    assert read(logs(OLDER, FRAGMENTS))[0].messages[0].attachments == "before it\na fragment\nmap.png"


def test_a_thread_is_walked_up_from_its_tip(read, logs, skipped):
    first, fork = read(logs(NEWER, FRAGMENTS))
    assert (first.source, first.external_id, first.title, first.leaf) == ("llm", "t1", "Rivers", "m4")
    assert [text for _, text in said(first)] == [
        "Longest river?",
        "The Nile.",
        "Read: a fragment",
        "Read it.",
    ]
    minutes = [m.sent_at.minute for m in first.messages]
    assert minutes == [30, 30, 40, 40]
    assert [text for _, text in said(fork)] == ["Longest river?", "The Nile.", "And the second?"]
    assert [m.sent_at.day for m in fork.messages] == [1, 1, 3]
    assert fork.messages[2].attachments == "[attachment]"
    assert skipped == {"system message": 2, "reasoning": 2}


def test_a_file_that_was_upgraded_has_both_and_both_are_read(read, logs):
    assert [s.external_id for s in read(logs(OLDER, NEWER, FRAGMENTS))] == ["c1", "r3", "t1", "t2"]


def test_messages_in_a_circle_and_a_tip_that_is_not_there_lose_nothing(read, logs):
    path = logs(
        NEWER,
        "UPDATE messages SET parent_hash = 'm4' WHERE hash = 'm0';"
        "UPDATE threads SET tip_message_hash = 'gone' WHERE id = 't2'",
    )
    first, fork = read(path)
    assert len(first.messages) == 4
    assert "And the second?" in [text for _, text in said(fork)]


CELLS = [
    *(("responses", column) for column in ("id", "prompt", "response", "conversation_id", "datetime_utc")),
    *(("conversations", column) for column in ("id", "name")),
    *(("threads", column) for column in ("id", "name", "tip_message_hash")),
    *(("turns", column) for column in ("thread_id", "tip_message_hash", "datetime_utc")),
    *(("messages", column) for column in ("hash", "parent_hash", "role")),
    *(("parts", column) for column in ("message_hash", "type", "text", "payload")),
]
VALUES = (
    st.none() | st.integers(-5, 5) | st.floats() | st.binary(max_size=5) | st.sampled_from(["", "m1", "m4"])
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from(CELLS), VALUES, st.integers(1, 6)), max_size=4),
    st.lists(st.tuples(st.integers(100, 60_000), st.integers(0, 255)), max_size=3),
)
def test_a_damaged_database_is_an_error_or_messages(logs, changes, flips):
    path = logs(OLDER, NEWER, FRAGMENTS)
    connection = sqlite3.connect(path)
    for (table, column), value, row in changes:
        connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE rowid = ?", (value, row))
    connection.commit()
    connection.close()
    raw = bytearray(path.read_bytes())
    for place, value in flips:
        raw[place % len(raw)] = value
    path.write_bytes(raw)
    try:
        sessions = list(read_sessions(path, "llm", skipped=Counter()))
    except ImportFailed as error:
        sessions = [str(error)]
    assert sessions
    assert not isinstance(sessions[0], str) or str(path) in sessions[0]


def test_the_database_is_not_written_to(read, logs):
    path = logs(OLDER)
    before = path.read_bytes()
    path.chmod(0o400)
    read(path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["some.file"]


def test_another_database_is_no_known_format(read, logs):
    with pytest.raises(ImportFailed, match=r"no known format|not UTF-8"):
        read(logs("CREATE TABLE log (id INTEGER)"))
    with pytest.raises(ImportFailed, match="not a SQLite database with `responses`"):
        read(logs("CREATE TABLE log (id INTEGER)"), "llm")


def test_a_database_that_is_cut_short_is_refused(read, logs):
    path = logs(OLDER, NEWER)
    path.write_bytes(path.read_bytes()[:9000])
    with pytest.raises(ImportFailed, match=r"some\.file"):
        read(path, "llm")


def test_text_that_is_no_utf8_is_refused(read, logs):
    path = logs(OLDER, "UPDATE responses SET response = CAST(x'ff41' AS TEXT)")
    with pytest.raises(ImportFailed, match="cannot be read"):
        read(path)
