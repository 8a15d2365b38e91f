from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import localmem.layers.queue
from localmem.entries import Bullet, Content, Entry, Grade, Layer, Maker, Scope, Summary
from localmem.layers.bullets import facts, notes
from localmem.layers.queue import SummaryQueue
from localmem.layers.summary import summarise
from localmem.store import Database, SessionStore, migrations
from localmem.store.layers import LayerStore
from localmem.types import Message, NewMessage, NewSession, Origin, Role
from localmem.writing import Writer

Said = Callable[..., NewSession]
MAKER = Maker("sha256:model", "sha256:prompt")


def write(database: Database, session: NewSession) -> int:
    Writer(database, SessionStore(database)).add(session)
    (session_id,) = (s.id for s in SessionStore(database).sessions() if s.external_id == session.external_id)
    return session_id


def messages(database: Database, session_id: int, turn: int | None = None) -> list[Message]:
    return [m for m in SessionStore(database).messages(session_id) if turn in (None, m.turn)]


def change(database: Database, sql: str, *values: object) -> None:
    with database.atomic() as connection:
        connection.execute(sql, values)


def build_all(database: Database, session_id: int) -> None:
    """Every layer of a session, by rule."""
    layers = LayerStore(database)
    read = messages(database, session_id)
    with database.atomic():
        layers.put(Scope(Layer.FACTS, session_id, None), facts(read), read)
        for turn in {message.turn for message in read}:
            here = messages(database, session_id, turn)
            layers.put(Scope(Layer.NOTES, session_id, turn), notes(here), here)


def everything(database: Database) -> list[Entry]:
    layers = LayerStore(database)
    return [
        entry
        for session in SessionStore(database).sessions()
        for layer in Layer
        for entry in layers.entries(layer, session.id)
    ]


def test_a_stored_message_has_its_summary_at_once(database: Database, said: Said) -> None:
    session = write(database, said("I moved to Leeds in 2021.", "Nice!", "I like tea."))
    first, second = LayerStore(database).entries(Layer.SUMMARY, session)
    assert isinstance(first.content, Summary)
    assert "Leeds in 2021" in first.content.text
    assert first.messages == tuple(m.id for m in messages(database, session, 0))
    assert (first.grade, first.maker, first.scope.turn, second.scope.turn) == (Grade.EXTRACTIVE, None, 0, 1)
    assert LayerStore(database).waiting() == 0


def test_a_reply_gives_its_turn_a_new_summary(database: Database) -> None:
    writer = Writer(database, SessionStore(database))
    with database.atomic():
        session = SessionStore(database).open_session(NewSession("s", "s", ()))
    writer.append(session, [NewMessage(Role.USER, "I moved to Leeds.")])
    (before,) = LayerStore(database).entries(Layer.SUMMARY, session)
    writer.append(session, [NewMessage(Role.ASSISTANT, "Leeds has 50 parks.")])
    (after,) = LayerStore(database).entries(Layer.SUMMARY, session)
    assert "50 parks" in str(after.content)
    assert after.id > before.id
    assert len(after.messages) == 2


@pytest.mark.parametrize(("origin", "stay"), [(Origin.SAID, 0), (Origin.RECALLED, 1)])
def test_a_message_that_joins_takes_what_was_made_without_it(
    database: Database, said: Said, origin: Origin, stay: int
) -> None:
    session = write(database, said("I moved to Leeds.", "b", "I like tea."))
    build_all(database, session)
    layers = LayerStore(database)
    Writer(database, SessionStore(database)).append(session, [NewMessage(Role.ASSISTANT, "c", origin=origin)])
    assert len(layers.entries(Layer.FACTS, session)) == stay
    assert len(layers.entries(Layer.NOTES, session, 1)) == stay
    assert len(layers.entries(Layer.NOTES, session, 0)) == 1


CONTENTS: list[tuple[Layer, int | None, Content]] = [
    (Layer.SUMMARY, 0, Summary("\ud83d \x00 [b]", ("a", "é"), ("我",))),
    (Layer.NOTES, 0, (Bullet("one", (1,)), Bullet("two \udfff", (1, 2)))),
    (Layer.FACTS, None, (Bullet("one", (2,)),)),
    (Layer.FACTS, None, ()),
]


@pytest.mark.parametrize(("layer", "turn", "content"), CONTENTS)
def test_an_entry_comes_out_as_it_went_in(
    database: Database, said: Said, layer: Layer, turn: int | None, content: Content
) -> None:
    session = write(database, said("a", "b"))
    read = messages(database, session)
    identity = LayerStore(database).replace(Scope(layer, session, turn), content, read, MAKER)
    (entry,) = LayerStore(database).entries(layer, session)
    assert (entry.id, entry.content, entry.maker, entry.grade) == (identity, content, MAKER, Grade.MODEL)
    assert entry.messages == (1, 2)


def test_empty_never_made_waiting_and_failed_are_told_apart(database: Database, said: Said) -> None:
    layers = LayerStore(database)
    session = write(database, said("", ""))
    (summary,) = layers.entries(Layer.SUMMARY, session)
    assert summary.content == Summary("")
    assert layers.entries(Layer.NOTES, session) == []
    assert layers.failures(session) == []
    scope = Scope(Layer.NOTES, session, 0)
    layers.failed(scope, "it wrote nothing", messages(database, session), MAKER, rejected=2)
    (failure,) = layers.failures(session)
    assert (failure.scope, failure.maker, failure.reason) == (scope, MAKER, "it wrote nothing")
    rules, model = layers.counts()[1], layers.counts()[0]
    assert (rules.layer, rules.model, rules.entries, rules.empty) == (Layer.SUMMARY, None, 1, 1)
    assert (model.layer, model.model, model.failures, model.rejected) == (Layer.NOTES, MAKER.model, 1, 2)
    assert model.rejection_rate == 1.0
    assert rules.rejection_rate is None


def test_a_fallback_leaves_the_models_failure_to_be_seen_and_its_success_clears_it(
    database: Database, said: Said
) -> None:
    layers = LayerStore(database)
    session = write(database, said("I moved to Leeds.", "Nice!"))
    read = messages(database, session)
    scope = Scope(Layer.FACTS, session, None)
    layers.failed(scope, "no answer", read, MAKER)
    assert layers.replace(scope, facts(read), read) is not None
    assert len(layers.failures(session)) == len(layers.entries(Layer.FACTS, session)) == 1
    layers.replace(scope, (Bullet("Leeds", (read[0].id,)),), read, MAKER, rejected=1)
    assert layers.failures(session) == []
    (count,) = [count for count in layers.counts() if count.layer is Layer.FACTS]
    assert (count.entries, count.accepted, count.rejected, count.rejection_rate) == (1, 1, 1, 0.5)


@pytest.mark.parametrize(
    "meanwhile",
    [
        "UPDATE message SET text = 'changed' WHERE position = 0",
        "DELETE FROM message WHERE position = 0",
        "DELETE FROM session",
        "INSERT INTO message "
        "(session_id, turn_id, position, role, speaker, text, external_id, origin, attachments) "
        "VALUES (1, 1, 9, 'user', '', 'new', 'x', 'said', '')",
    ],
)
def test_what_was_made_from_messages_that_changed_meanwhile_is_not_stored(
    database: Database, said: Said, meanwhile: str
) -> None:
    layers = LayerStore(database)
    session = write(database, said("a", "b"))
    read = messages(database, session)
    change(database, meanwhile)
    for layer, turn in ((Layer.SUMMARY, 0), (Layer.NOTES, 0), (Layer.FACTS, None)):
        scope = Scope(layer, session, turn)
        content: Content = Summary("x") if layer is Layer.SUMMARY else ()
        assert layers.replace(scope, content, read, MAKER) is None
        layers.failed(scope, "why", read, MAKER)
    assert all(entry.maker is None for entry in everything(database))
    assert layers.failures(session) == []


def test_a_bullet_must_rest_on_what_was_read(database: Database, said: Said) -> None:
    session = write(database, said("a", "b"))
    read = messages(database, session)
    with pytest.raises(ValueError, match="was not read"):
        LayerStore(database).put(Scope(Layer.NOTES, session, 0), (Bullet("x", (99,)),), read)


def test_recalled_messages_are_no_source_and_change_nothing(database: Database) -> None:
    writer = Writer(database, SessionStore(database))
    recalled = NewMessage(Role.ASSISTANT, "You moved to Leeds.", origin=Origin.RECALLED)
    session = write(database, NewSession("s", "s", (NewMessage(Role.USER, "Where do I live?"),)))
    build_all(database, session)
    before = everything(database)
    (message_id,) = writer.append(session, [recalled])
    change(database, "UPDATE message SET text = 'You moved to York.' WHERE id = ?", message_id)
    change(database, "DELETE FROM message WHERE id = ?", message_id)
    assert everything(database) == before
    only = write(database, NewSession("s", "t", (recalled,)))
    (entry,) = LayerStore(database).entries(Layer.SUMMARY, only)
    assert (entry.content, entry.messages) == (Summary(""), ())


def test_a_recalled_message_that_becomes_said_counts(database: Database) -> None:
    said_one = NewMessage(Role.USER, "Where do I live?")
    recalled = NewMessage(Role.ASSISTANT, "You moved to Leeds.", origin=Origin.RECALLED)
    session = write(database, NewSession("s", "s", (said_one, recalled)))
    build_all(database, session)
    change(database, "UPDATE message SET origin = 'said' WHERE origin = 'recalled'")
    assert everything(database) == []
    assert SummaryQueue(database).make_next() == 1
    assert "Leeds" in str(everything(database)[0].content)


def test_a_summary_from_a_window_goes_with_any_message_of_the_window(database: Database, said: Said) -> None:
    layers = LayerStore(database)
    session = write(database, said("a", "b", "c", "d", "e", "f"))
    window = [m for m in messages(database, session) if m.turn < 2]
    layers.replace(Scope(Layer.SUMMARY, session, 1), Summary("model"), window, MAKER)
    change(database, "DELETE FROM message WHERE id = ?", window[0].id)
    assert [e.scope.turn for e in layers.entries(Layer.SUMMARY, session)] == [2]
    assert layers.waiting() == 2


TEXTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["I moved to Leeds in 2021.", "Nice!", "I paid $30 last Friday.", "", "我去了北京。", "Why?"]
        ),
        st.sampled_from(list(Role)),
        st.sampled_from([Origin.SAID, Origin.SAID, Origin.SAID, Origin.RECALLED]),
    ),
    min_size=1,
    max_size=9,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(sessions=st.lists(TEXTS, min_size=1, max_size=3), data=st.data())
def test_changing_one_message_takes_exactly_the_entries_made_from_it(
    tmp_path_factory: pytest.TempPathFactory, sessions: list[Any], data: st.DataObject
) -> None:
    database = Database(tmp_path_factory.mktemp("layers") / "memory.db")
    try:
        layers = LayerStore(database)
        for number, texts in enumerate(sessions):
            new = tuple(NewMessage(role, text, origin=origin) for text, role, origin in texts)
            build_all(database, write(database, NewSession("s", str(number), new)))
        everyone = [m for s in SessionStore(database).sessions() for m in messages(database, s.id)]
        chosen = data.draw(st.sampled_from(everyone))
        if data.draw(st.booleans()):  # a model has read two turns for one of the summaries
            window = [
                m
                for m in everyone
                if (m.session_id, m.turn - chosen.turn) in ((chosen.session_id, 0), (chosen.session_id, -1))
            ]
            scope = Scope(Layer.SUMMARY, chosen.session_id, chosen.turn)
            layers.replace(scope, Summary("model"), window, MAKER)
        before = everything(database)
        assert layers.waiting() == 0
        delete = data.draw(st.booleans())
        if delete:
            change(database, "DELETE FROM message WHERE id = ?", chosen.id)
        else:
            change(database, "UPDATE message SET text = 'I sold 7 boats.' WHERE id = ?", chosen.id)
        kept = [entry for entry in before if chosen.id not in entry.messages]
        turns = {(m.session_id, m.turn) for m in everyone if m != chosen or not delete}
        kept = [e for e in kept if e.scope.turn is None or (e.scope.session_id, e.scope.turn) in turns]
        assert everything(database) == kept
        while SummaryQueue(database).make_next():
            pass
        assert {e.id for e in kept} <= {e.id for e in everything(database)}
        summaries = [e for e in everything(database) if e.scope.layer is Layer.SUMMARY]
        assert {(e.scope.session_id, e.scope.turn) for e in summaries} == turns
        for entry in summaries:
            if entry.id not in {e.id for e in before}:
                read = messages(database, entry.scope.session_id, entry.scope.turn)
                assert entry.content == summarise(read)
        connection = database.connection()
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    finally:
        database.close()


@pytest.mark.parametrize("gone", ["session", "turn", "message"])
def test_deleting_all_leaves_nothing_of_the_layers(database: Database, said: Said, gone: str) -> None:
    session = write(database, said("I moved to Leeds.", "b", "c", "d"))
    build_all(database, session)
    LayerStore(database).failed(Scope(Layer.NOTES, session, 0), "why", messages(database, session, 0), MAKER)
    change(database, f"DELETE FROM {gone}")
    for table in ("layer_source", "layer_due", "layer_failure"):
        assert database.connection().execute(f"SELECT count(*) FROM {table}").get == 0, table
    left = everything(database)
    assert [e for e in left if e.messages or e.scope.turn is not None] == []


def test_a_message_cannot_go_without_its_entries(database: Database, said: Said) -> None:
    write(database, said("a", "b"))
    change(database, "DROP TRIGGER layer_source_deleted")
    with pytest.raises(apsw.ConstraintError):
        change(database, "DELETE FROM message WHERE position = 0")


def test_a_turn_that_no_rule_can_read_is_a_failure_that_is_seen_and_tried_again(
    database: Database, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(read: object) -> Summary:
        raise RuntimeError("no rule for this")

    layers = LayerStore(database)
    monkeypatch.setattr(localmem.layers.queue, "summarise", broken)
    session = write(database, said("a", "b"))
    assert [failure.reason for failure in layers.failures(session)] == ["RuntimeError: no rule for this"]
    assert (layers.waiting(), layers.counts()[0].failures) == (0, 1)
    monkeypatch.undo()
    change(database, "DELETE FROM message WHERE position = 1")
    assert layers.failures(session) == []
    assert SummaryQueue(database).make_next() == 1
    assert len(layers.entries(Layer.SUMMARY, session)) == 1


def test_an_older_file_gets_its_summaries_bit_by_bit(
    tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "old.db"
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:3])
        old = Database(path)
        with old.atomic():
            sessions = SessionStore(old)
            session = sessions.open_session(said("a"))
            sessions.append(
                session, [NewMessage(Role(r), f"I ate {n} figs.") for n in range(300) for r in Role]
            )
        old.close()
    database = Database(path)
    queue = SummaryQueue(database)
    assert queue.pending() == 300
    assert queue.make_next() == localmem.layers.queue.BATCH
    database.close()
    database = Database(path)
    queue = SummaryQueue(database)
    assert queue.pending() == 300 - localmem.layers.queue.BATCH
    write(database, said("new", session="other"))
    assert queue.pending() == 300 - localmem.layers.queue.BATCH
    assert [queue.make_next() for _ in range(2)] == [300 - localmem.layers.queue.BATCH, 0]
    assert len(LayerStore(database).entries(Layer.SUMMARY, session)) == 300
    database.close()


def test_missing_lists_what_a_model_has_not_made_and_not_failed_at(database: Database, said: Said) -> None:
    layers = LayerStore(database)
    session = write(database, said("a", "b", "c", "d"))
    other = write(database, said("e", session="other"))
    scopes = [
        Scope(Layer.SUMMARY, other, 0),
        Scope(Layer.SUMMARY, session, 0),
        Scope(Layer.SUMMARY, session, 1),
    ]
    assert layers.missing(Layer.SUMMARY, MAKER) == scopes
    layers.replace(scopes[1], Summary("x"), messages(database, session, 0), MAKER)
    layers.failed(scopes[2], "why", messages(database, session, 1), MAKER)
    assert layers.missing(Layer.SUMMARY, MAKER) == scopes[:1]
    assert layers.missing(Layer.SUMMARY, MAKER, session) == []
    better = Maker("sha256:better", MAKER.prompt)
    assert layers.missing(Layer.SUMMARY, better, session) == scopes[1:]
    assert layers.missing(Layer.FACTS, MAKER) == [
        Scope(Layer.FACTS, other, None),
        Scope(Layer.FACTS, session, None),
    ]
    layers.replace(Scope(Layer.FACTS, other, None), (), messages(database, other), MAKER)
    assert layers.missing(Layer.FACTS, MAKER, other) == []


def test_one_turn_can_be_read_alone(database: Database, said: Said) -> None:
    session = write(database, said("a", "b", "c", "d"))
    (entry,) = LayerStore(database).entries(Layer.SUMMARY, session, 1)
    assert entry.scope.turn == 1


def test_facts_belong_to_a_session_and_the_others_to_a_turn() -> None:
    with pytest.raises(ValueError, match="facts"):
        Scope(Layer.FACTS, 1, 0)
    with pytest.raises(ValueError, match="notes"):
        Scope(Layer.NOTES, 1, None)


def test_stored_bodies_are_plain_json(database: Database, said: Said) -> None:
    write(database, said("I moved to Leeds."))
    body = database.connection().execute("SELECT body FROM layer_entry").get
    assert json.loads(body)[0] == "The user moved to Leeds."
