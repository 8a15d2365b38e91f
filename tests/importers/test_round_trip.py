"""What is exported as JSONL and taken in by an empty memory gives the same store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localmem.export import export_jsonl
from localmem.importers.run import import_files
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.types import NewMessage, NewSession, Origin, Role

INDIA = timezone(timedelta(hours=5, minutes=30))
TIME = datetime(2026, 3, 1, 9, 30, 0, 123456)


@pytest.fixture
def copied(tmp_path):
    """Export a memory and take it in by an empty one, which is returned."""
    opened = []

    def copy(memory):
        name = f"copy{len(opened)}"
        path = export_jsonl(memory, tmp_path / name, sorted(memory.sessions(), key=lambda s: s.id))
        other = Memory(tmp_path / name / "copy.db", HashEmbedder())
        opened.append(other)
        report = import_files([path], "auto", other.add)
        assert report.failures == []
        assert report.new_messages == report.messages
        return other

    yield copy
    for memory in opened:
        memory.close()


def contents(memory):
    """Everything that was said, by session in the order in which they came."""
    return [memory.whole(session.id) for session in sorted(memory.sessions(), key=lambda s: s.id)]


def rows(memory):
    """The rows themselves, without the ids that a file gives."""
    connection = memory._database.connection()
    return [
        connection.execute(
            "SELECT source, external_id, title, started_at, started_zone, ended_at, tags, archived, system, "
            "(SELECT external_id FROM message WHERE id = leaf_id) FROM session ORDER BY id"
        ).fetchall(),
        connection.execute(
            "SELECT s.external_id, t.number, m.position, m.role, m.speaker, m.text, m.sent_at, m.sent_zone, "
            "m.sent_at_inferred, m.external_id, m.parent, m.origin, m.attachments FROM message m "
            "JOIN turn t ON t.id = m.turn_id JOIN session s ON s.id = m.session_id ORDER BY s.id, m.position"
        ).fetchall(),
        connection.execute(
            "SELECT s.external_id, t.number, e.layer, e.body FROM layer_entry e "
            "JOIN turn t ON t.id = e.turn_id JOIN session s ON s.id = t.session_id ORDER BY s.id, t.number"
        ).fetchall(),
    ]


def test_every_field_comes_back(memory, copied):
    messages = (
        NewMessage(Role.USER, "Hi", "Ada", TIME.replace(tzinfo=INDIA), "m1", ""),
        NewMessage(Role.ASSISTANT, "no zone", "", TIME, "m2", "m1"),
        NewMessage(Role.ASSISTANT, "in UTC", "", TIME.replace(tzinfo=UTC), "m3", "m1", Origin.RECALLED),
        NewMessage(Role.USER, "", external_id="m4", parent="m3", attachments="a\0b \ud83d"),
        NewMessage(Role.USER, "without an id"),
    )
    memory.add(
        NewSession(
            "src",
            "s1",
            messages,
            title="T \ud83d",
            started_at=TIME,
            tags=("x", "y, z"),
            leaf="m3",
            archived=True,
            system="Be kind.",
        )
    )
    memory.add(NewSession("src", "s2", (NewMessage(Role.USER, "plain"),)))
    other = copied(memory)
    assert contents(other) == contents(memory)
    assert rows(other) == rows(memory)


@pytest.mark.parametrize("name", ["chatgpt", "claude", "openwebui", "lmstudio", "letta"])
def test_the_export_of_each_chat_program_comes_back(memory, copied, write, exports, name):
    import_files([write(exports[name]())], "auto", memory.add)
    assert rows(copied(memory)) == rows(memory)


def test_the_benchmarks_come_back(memory, copied, write, locomo, longmemeval):
    import_files([write(locomo, "a"), write(longmemeval, "b")], "auto", memory.add)
    assert rows(copied(memory)) == rows(memory)


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)
texts = st.text(max_size=30)
times = st.datetimes(min_value=datetime(1900, 1, 1), timezones=st.none() | st.sampled_from([UTC, INDIA]))


@st.composite
def sessions(draw):
    ids = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    messages = []
    for place, key in enumerate(ids):
        parent = draw(
            st.none() | st.sampled_from(["", *ids[:place]]) if place else st.sampled_from([None, ""])
        )
        # Either every message has a time or none has: a single unknown one is given a neighbour's.
        messages.append(
            NewMessage(
                draw(st.sampled_from(Role)),
                draw(texts),
                draw(texts),
                draw(times),
                key,
                parent,
                draw(st.sampled_from(Origin)),
                draw(texts),
            )
        )
    return NewSession(
        draw(names),
        draw(names),
        tuple(messages),
        title=draw(texts),
        started_at=draw(st.none() | times),
        tags=tuple(draw(st.lists(texts, max_size=2))),
        leaf=draw(st.none() | st.sampled_from(ids)),
    )


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(sessions(), min_size=1, max_size=3))
def test_whatever_a_memory_holds_comes_back(tmp_path_factory, given_sessions):
    folder = tmp_path_factory.mktemp("trip")
    with Memory(folder / "a.db", HashEmbedder()) as memory, Memory(folder / "b.db", HashEmbedder()) as other:
        for session in given_sessions:
            memory.add(session)
        path = export_jsonl(memory, folder, sorted(memory.sessions(), key=lambda s: s.id))
        import_files([path], "auto", other.add)
        assert rows(other) == rows(memory)
