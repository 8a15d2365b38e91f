from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from localmem.answering.dialogue import With
from localmem.entries import Layer
from localmem.errors import BadInput
from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.types import NewMessage, NewSession, Role

Said = Callable[..., NewSession]


def found(memory: Memory, query: str) -> list[str]:
    return [hit.message.text for hit in memory.search(query)]


def test_a_deleted_session_is_found_nowhere_and_comes_back_as_it_was(memory: Memory, said: Said) -> None:
    at = datetime(2026, 3, 1, 9, tzinfo=UTC)
    memory.add(said("My cat is called Miso.", "lone \ud800", session="cats", at=at))
    memory.add(said("I own a dog.", "Nice.", session="dogs"))
    memory.wait_embedded()
    cats = next(s for s in memory.sessions() if s.external_id == "cats")
    memory.desk.rename(cats.id, "The [cat]")
    memory.desk.tag(cats.id, ["pets", "pets", "home"])
    memory.desk.set_system(cats.id, "Purr.")
    memory.layer(cats.id, Layer.FACTS)
    before = [(m.text, m.turn, m.position, m.sent_at) for m in memory.messages(cats.id)]

    memory.delete_session(cats.id)
    assert "My cat is called Miso." not in found(memory, "cat Miso")
    assert memory.counts() == (1, 2)
    with pytest.raises(BadInput):
        memory.session(cats.id)

    back = memory.undo_delete()
    assert found(memory, "cat Miso")[0] == "My cat is called Miso."
    session = memory.session(back)
    assert (session.title, session.tags, session.external_id) == ("The [cat]", ("pets", "home"), "cats")
    assert session.started_at == cats.started_at
    assert memory.desk.system(back) == "Purr."
    assert [(m.text, m.turn, m.position, m.sent_at) for m in memory.messages(back)] == before
    memory.wait_embedded()
    assert memory.layer(back, Layer.SUMMARY)
    assert memory.pending() == 0


def test_deletions_are_taken_back_one_by_one_the_last_first(memory: Memory, said: Said) -> None:
    memory.add(said("alpha", session="a"))
    memory.add(said("beta", session="b"))
    for session in memory.sessions():
        memory.delete_session(session.id)
    memory.undo_delete()
    memory.undo_delete()
    assert {s.external_id for s in memory.sessions()} == {"a", "b"}
    with pytest.raises(BadInput, match="nothing to bring back"):
        memory.undo_delete()


def test_what_left_the_bin_cannot_be_brought_back_and_its_text_is_in_no_table(
    memory: Memory, said: Said
) -> None:
    memory.add(said("My cat is called Miso."))
    memory.delete_session(memory.sessions()[0].id)
    assert memory.empty_bin() == 1
    with pytest.raises(BadInput, match="nothing to bring back"):
        memory.undo_delete()
    assert memory.empty_bin() == 0


def test_a_deleted_message_comes_back_to_its_place_with_its_reply(memory: Memory) -> None:
    dialogue = memory.dialogue()
    for text in ("one", "two", "three"):
        list(dialogue.say(text, With(ScriptedModel([f"re {text}"]))))
    reply = next(m for m in dialogue.path() if m.text == "re two")
    dialogue.delete(reply.id)
    assert "re two" not in found(memory, "re two")
    assert memory.undo_delete() == dialogue.session_id
    assert [m.text for m in dialogue.path()] == ["one", "re one", "two", "re two", "three", "re three"]
    back = next(m for m in dialogue.path() if m.text == "re two")
    assert back.turn == reply.turn
    assert memory.replies([back.id])[back.id].stop_reason == "end"


def test_a_deleted_message_whose_place_was_taken_comes_back_as_another_version(memory: Memory) -> None:
    dialogue = memory.dialogue()
    list(dialogue.say("one", With(ScriptedModel(["first"]))))
    dialogue.delete(dialogue.path()[-1].id)
    list(dialogue.answer_again(dialogue.path()[-1].id, With(ScriptedModel(["second"]))))
    memory.undo_delete()
    assert [m.text for m in dialogue.path()] == ["one", "first"]
    (versions,) = dialogue.versions().values()
    texts = {m.id: m.text for m in memory.messages(dialogue.session_id or 0)}
    assert {texts[v] for v in versions} == {"first", "second"}


def test_a_message_of_a_session_that_is_gone_too_says_so(memory: Memory) -> None:
    dialogue = memory.dialogue()
    list(dialogue.say("one", With(ScriptedModel(["1"]))))
    dialogue.delete(dialogue.path()[-1].id)
    assert dialogue.session_id is not None
    memory.delete_session(dialogue.session_id)
    memory.empty_bin()
    with pytest.raises(BadInput):
        memory.undo_delete()


def test_a_session_that_was_imported_again_meanwhile_stays_and_nothing_is_lost_by_undo(
    memory: Memory, said: Said
) -> None:
    memory.add(said("alpha"))
    memory.delete_session(memory.sessions()[0].id)
    memory.add(said("alpha"))
    with pytest.raises(BadInput, match="imported again"):
        memory.undo_delete()
    assert found(memory, "alpha") == ["alpha"]


def test_what_does_not_exist_cannot_be_deleted_named_or_tagged(memory: Memory) -> None:
    for act in (
        lambda: memory.delete_session(9),
        lambda: memory.desk.rename(9, "x"),
        lambda: memory.desk.tag(9, []),
        lambda: memory.desk.archive(9),
        lambda: memory.desk.system(9),
    ):
        with pytest.raises(BadInput, match="no session 9"):
            act()


def test_a_chat_goes_on_after_its_first_message_was_deleted(memory: Memory) -> None:
    memory.add(NewSession("chat", "x", (NewMessage(Role.USER, "a"), NewMessage(Role.ASSISTANT, "b"))))
    dialogue = memory.dialogue(memory.sessions()[0].id)
    first, last = dialogue.path()
    dialogue.delete(last.id)
    dialogue.delete(first.id)
    list(dialogue.say("again", With(ScriptedModel(["ok"]))))
    assert [m.text for m in dialogue.path()] == ["again", "ok"]
    memory.undo_delete()
    memory.undo_delete()
    assert {m.text for m in memory.messages(dialogue.session_id or 0)} == {"a", "b", "again", "ok"}
