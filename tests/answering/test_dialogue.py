from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from localmem.answering.dialogue import Dialogue, With
from localmem.errors import BadInput
from localmem.events import AnswerDelta, Recalled, Replied
from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.types import Message, NewMessage, NewSession, Role

Said = Callable[..., NewSession]


def texts(dialogue: Dialogue) -> list[str]:
    return [message.text for message in dialogue.path()]


def message(dialogue: Dialogue, text: str) -> Message:
    return next(m for m in dialogue.path() if m.text == text)


def say(dialogue: Dialogue, text: str, *, reply: str, replaces: int | None = None) -> ScriptedModel:
    model = ScriptedModel([reply])
    list(dialogue.say(text, With(model), replaces=replaces))
    return model


@pytest.fixture(params=["kept", "private"])
def dialogue(memory: Memory, request: pytest.FixtureRequest) -> Dialogue:
    return memory.dialogue() if request.param == "kept" else memory.private_dialogue()


def test_what_is_said_goes_on_after_what_was_said(dialogue: Dialogue) -> None:
    say(dialogue, "one", reply="1")
    model = say(dialogue, "two", reply="2")
    assert texts(dialogue) == ["one", "1", "two", "2"]
    assert [m.text for m in model.history[0]][1:] == ["one", "1", "two"]
    assert dialogue.versions() == {}


def test_an_edited_message_is_another_version_and_the_old_one_can_be_shown_again(dialogue: Dialogue) -> None:
    say(dialogue, "one", reply="1")
    say(dialogue, "tow", reply="?")
    old = message(dialogue, "tow").id
    model = say(dialogue, "two", reply="2", replaces=old)
    assert texts(dialogue) == ["one", "1", "two", "2"]
    assert "tow" not in [m.text for m in model.history[0]]
    new = message(dialogue, "two").id
    assert dialogue.versions() == {new: [old, new]}
    dialogue.show(old)
    assert texts(dialogue) == ["one", "1", "tow", "?"]
    say(dialogue, "three", reply="3")
    assert texts(dialogue) == ["one", "1", "tow", "?", "three", "3"]
    dialogue.show(new)
    assert texts(dialogue) == ["one", "1", "two", "2"]


def test_the_very_first_message_can_be_edited(dialogue: Dialogue) -> None:
    say(dialogue, "one", reply="1")
    model = say(dialogue, "uno", reply="1!", replaces=message(dialogue, "one").id)
    assert texts(dialogue) == ["uno", "1!"]
    assert [m.text for m in model.history[0]][1:] == ["uno"]


def test_another_reply_is_a_version_beside_the_first_and_the_model_is_told_to_differ(
    dialogue: Dialogue,
) -> None:
    say(dialogue, "tell a joke", reply="A cow.")
    say(dialogue, "explain", reply="No.")
    first = message(dialogue, "A cow.").id
    model = ScriptedModel(["A duck."])
    list(dialogue.answer_again(first, With(model)))
    assert texts(dialogue) == ["tell a joke", "A duck."]
    prompt = [m.text for m in model.history[0]]
    assert prompt[1:3] == ["tell a joke", "A cow."]
    assert "different way" in prompt[3]
    second = message(dialogue, "A duck.").id
    assert dialogue.versions() == {second: [first, second]}
    dialogue.show(first)
    assert texts(dialogue) == ["tell a joke", "A cow.", "explain", "No."]


def test_the_same_reply_again_is_not_stored_twice(dialogue: Dialogue) -> None:
    say(dialogue, "hello", reply="Hello.")
    *_, last = dialogue.answer_again(message(dialogue, "Hello.").id, With(ScriptedModel(["Hello."])))
    assert isinstance(last, Replied)
    assert (last.message, last.stop_reason) == (None, "unchanged")
    assert texts(dialogue) == ["hello", "Hello."]


def test_a_message_that_got_no_reply_can_be_answered(dialogue: Dialogue) -> None:
    with pytest.raises(RuntimeError):
        list(dialogue.say("anybody?", With(ScriptedModel([RuntimeError("dead")]))))
    list(dialogue.answer_again(message(dialogue, "anybody?").id, With(ScriptedModel(["Here."]))))
    assert texts(dialogue) == ["anybody?", "Here."]


def test_it_can_be_taken_up_at_any_turn_and_what_came_later_stays(dialogue: Dialogue) -> None:
    say(dialogue, "one", reply="1")
    say(dialogue, "two", reply="2")
    later = message(dialogue, "2").id
    dialogue.go_on_from(message(dialogue, "1").id)
    assert texts(dialogue) == ["one", "1"]
    model = say(dialogue, "other", reply="!")
    assert [m.text for m in model.history[0]][1:] == ["one", "1", "other"]
    assert texts(dialogue) == ["one", "1", "other", "!"]
    dialogue.show(later)
    assert texts(dialogue) == ["one", "1", "two", "2"]


def test_what_followed_a_deleted_message_follows_the_one_before_it(dialogue: Dialogue) -> None:
    say(dialogue, "one", reply="1")
    say(dialogue, "two", reply="2")
    dialogue.delete(message(dialogue, "1").id)
    assert texts(dialogue) == ["one", "two", "2"]
    dialogue.delete(message(dialogue, "2").id)
    dialogue.delete(message(dialogue, "one").id)
    assert texts(dialogue) == ["two"]
    say(dialogue, "three", reply="3")
    assert texts(dialogue) == ["two", "three", "3"]


def test_deleting_the_end_of_a_branch_does_not_turn_to_another(dialogue: Dialogue) -> None:
    say(dialogue, "one", reply="1")
    dialogue.go_on_from(message(dialogue, "one").id)
    say(dialogue, "more", reply="m")
    dialogue.show(dialogue.path()[0].id)
    assert texts(dialogue) == ["one", "more", "m"]
    dialogue.delete(message(dialogue, "m").id)
    assert texts(dialogue) == ["one", "more"]


def test_the_persons_system_prompt_follows_the_programs_own(dialogue: Dialogue) -> None:
    dialogue.system = "Answer in rhyme."
    model = say(dialogue, "hello", reply="Hi.")
    system = model.history[0][0]
    assert (system.role, system.text.splitlines()[-1]) == ("system", "Answer in rhyme.")
    dialogue.system = ""
    assert say(dialogue, "bye", reply="Bye.").history[0][0].text == system.text.split("\n\n")[0]


def test_what_is_attached_is_read_with_the_message_now_and_later(dialogue: Dialogue) -> None:
    model = ScriptedModel(["A list.", "Yes."])
    list(dialogue.say("What is this?", With(model), attachments="eggs\nmilk"))
    assert model.history[0][-1].text == "What is this?\n\nAttached:\neggs\nmilk"
    list(dialogue.say("Sure?", With(model)))
    assert "eggs" in model.history[1][1].text
    assert [m.attachments for m in dialogue.path()] == ["eggs\nmilk", "", "", ""]


@pytest.mark.parametrize("wrong", ["edit", "again", "show", "go_on_from", "delete"])
def test_a_message_that_is_gone_is_refused_in_words(dialogue: Dialogue, wrong: str) -> None:
    say(dialogue, "one", reply="1")
    by = With(ScriptedModel())
    with pytest.raises(BadInput, match="not there any more"):
        match wrong:
            case "edit":
                list(dialogue.say("x", by, replaces=99))
            case "again":
                list(dialogue.answer_again(99, by))
            case _:
                getattr(dialogue, wrong)(99)


def test_only_the_users_own_words_can_be_edited(dialogue: Dialogue) -> None:
    say(dialogue, "one", reply="1")
    with pytest.raises(BadInput, match="said yourself"):
        list(dialogue.say("x", With(ScriptedModel()), replaces=message(dialogue, "1").id))


def test_nothing_of_a_private_chat_reaches_the_file_and_memory_is_recalled(
    memory: Memory, said: Said, tmp_path: Path
) -> None:
    memory.add(said("My cat is called Miso.", "Cute."))
    memory.wait_embedded()

    def files() -> dict[str, bytes]:
        found = (path for path in tmp_path.iterdir() if not path.name.endswith("-shm"))  # lock bytes
        return {path.name: path.read_bytes() for path in found}

    before = files()
    dialogue = memory.private_dialogue()
    events = list(dialogue.say("What is my cat called?", With(ScriptedModel(["Your cat is called Miso."]))))
    assert any(isinstance(event, Recalled) for event in events)
    assert any(isinstance(event, AnswerDelta) for event in events)
    dialogue.system = "Be brief."
    list(dialogue.answer_again(dialogue.path()[-1].id, With(ScriptedModel(["Miso, of course."]))))
    dialogue.delete(dialogue.path()[-1].id)
    assert files() == before
    assert dialogue.session_id is None
    assert memory.counts() == (1, 2)


def test_a_reply_keeps_what_it_cited_and_cost_without_what_memory_said(memory: Memory, said: Said) -> None:
    memory.add(said("My dentist is Dr Brook.", "Noted."))
    memory.wait_embedded()
    *_, last = memory.chat("Who is my dentist?", model=ScriptedModel(["It is Dr Zebulon."]))
    assert isinstance(last, Replied)
    assert last.message is not None
    kept = memory.replies([last.message.id])[last.message.id]
    assert kept.citations == last.citations != ()
    assert (kept.ledger.records, kept.stop_reason) == (last.ledger.records, "end")
    assert (len(last.ledger.fallbacks), kept.ledger.fallbacks, kept.ledger.fallbacks_before) == (1, [], 1)


def test_every_message_of_a_history_with_strange_parents_is_in_reach(memory: Memory) -> None:
    messages = (
        NewMessage(Role.USER, "a", external_id="a", parent="nowhere"),
        NewMessage(Role.ASSISTANT, "b", external_id="b", parent="c"),
        NewMessage(Role.USER, "c", external_id="c", parent="c"),
    )
    memory.add(NewSession("odd", "s", messages))
    assert texts(memory.dialogue(memory.sessions()[0].id)) == ["a", "b", "c"]


def test_a_branch_of_an_earlier_turn_begins_a_turn_of_its_own(memory: Memory) -> None:
    dialogue = memory.dialogue()
    say(dialogue, "one", reply="1")
    say(dialogue, "two", reply="2")
    list(dialogue.answer_again(message(dialogue, "1").id, With(ScriptedModel(["eins"]))))
    assert dialogue.session_id is not None
    turns = [(m.text, m.turn) for m in memory.messages(dialogue.session_id)]
    assert turns == [("one", 0), ("1", 0), ("two", 1), ("2", 1), ("eins", 2)]


def test_on_a_branch_too_what_followed_a_deleted_message_stays_on_its_branch(dialogue: Dialogue) -> None:
    say(dialogue, "one", reply="1")
    say(dialogue, "uno", reply="1!", replaces=message(dialogue, "one").id)
    say(dialogue, "due", reply="2!")
    dialogue.delete(message(dialogue, "uno").id)
    assert texts(dialogue) == ["1!", "due", "2!"]
    dialogue.delete(message(dialogue, "due").id)
    assert texts(dialogue) == ["1!", "2!"]
