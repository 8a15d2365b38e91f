"""What a chat's question requires: told with the reply, kept without a word of it, gone with the question."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from localmem.answering.dialogue import Dialogue, With
from localmem.answering.required import ITS_TIME, needs_kept, needs_to_keep
from localmem.events import Recalled, Replied
from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.types import NewSession, Origin, Requirement

Said = Callable[..., NewSession]
AT = datetime(2026, 3, 8, tzinfo=UTC)


def asked(dialogue: Dialogue, question: str, reply: str = "I do not know.") -> tuple[Replied, list[Recalled]]:
    events = list(dialogue.say(question, With(ScriptedModel([reply]))))
    assert isinstance(events[-1], Replied)
    return events[-1], [event for event in events if isinstance(event, Recalled)]


def test_a_reply_says_which_message_met_each_requirement_and_which_none_did(
    memory: Memory, said: Said
) -> None:
    message_id, *_ = memory.add(said("I adopted Miso in Lisbon.", "Lovely.", at=AT))
    memory.wait_embedded()
    question = "When did I adopt Miso in Lisbon with Bartholomew?"
    replied, (recalled,) = asked(memory.dialogue(), question)
    assert {n.text: n.met_by for n in replied.requirements} == {
        question: (message_id,),
        "Miso": (message_id,),
        "Lisbon": (message_id,),
        "Bartholomew": (),
        ITS_TIME: (),
    }
    assert recalled.requirements == replied.requirements


def test_what_memory_was_asked_and_does_not_hold_was_required_all_the_same(memory: Memory) -> None:
    replied, recalled = asked(memory.dialogue(), "What is my cat called?")
    assert (replied.requirements, recalled) == ((Requirement("What is my cat called?", ()),), [])


def test_of_what_is_not_held_as_a_whole_the_parts_that_are_held_are_named(memory: Memory, said: Said) -> None:
    message_id, *_ = memory.add(said("I adopted Miso in Lisbon.", "Lovely.", at=AT))
    memory.wait_embedded()
    replied, recalled = asked(memory.dialogue(), "Did I take Miso to Bartholomew or to Quillfeather?")
    assert recalled == []
    met = {need.text: need.met_by for need in replied.requirements}
    assert (met["Miso"], met["Bartholomew"]) == ((message_id,), ())


def test_what_asks_nothing_of_memory_requires_nothing(memory: Memory, said: Said) -> None:
    memory.add(said("My sourdough bread never rises.", "Warmth helps."))
    memory.wait_embedded()
    for text in ("Write a poem: my sourdough bread never rises", "What is the capital of France?"):
        replied, _ = asked(memory.dialogue(), text)
        assert replied.requirements == ()


def test_the_same_question_asked_before_is_no_answer(memory: Memory, said: Said) -> None:
    question = "What is my cat called?"
    for _ in range(2):
        replied, _ = asked(memory.dialogue(), question)
        memory.wait_embedded()
    message_id, *_ = memory.add(said("My cat is called Miso."))
    memory.wait_embedded()
    assert replied.requirements == (Requirement(question, ()),)
    replied, _ = asked(memory.dialogue(), question, "Your cat is called Miso.")
    assert replied.requirements == (Requirement(question, (message_id,)),)
    assert replied.citations == (message_id,)


def test_what_memory_answered_is_marked_and_is_no_evidence_for_the_next_answer(
    memory: Memory, said: Said
) -> None:
    memory.add(said("My cat is called Miso.", "Cute."))
    memory.wait_embedded()
    replied, _ = asked(memory.dialogue(), "What is my cat called?", "Your cat is called Miso.")
    assert replied.message is not None
    assert replied.message.origin is Origin.RECALLED
    memory.wait_embedded()
    _, (recalled,) = asked(memory.dialogue(), "What is my cat called?", "Your cat is called Miso.")
    assert replied.message.id not in {item.message.id for item in recalled.evidence}
    free, _ = asked(memory.dialogue(), "Good evening!", "Good evening.")
    assert free.message is not None
    assert free.message.origin is Origin.SAID


def test_a_stored_reply_has_its_requirements_without_a_word_of_the_question(
    memory: Memory, said: Said
) -> None:
    memory.add(said("I adopted Miso in Lisbon.", at=AT))
    memory.wait_embedded()
    question = "When did I adopt Miso with Bartholomew?"
    replied, _ = asked(memory.dialogue(), question, "In Lisbon.")
    assert replied.message is not None
    kept = memory.replies([replied.message.id])[replied.message.id]
    assert needs_kept(kept.needs, question) == replied.requirements
    bodies = [b for (b,) in memory._database.connection().execute("SELECT body FROM reply")]
    assert not [body for body in bodies if "Bartholomew" in body or "adopt" in body]


def test_a_forgotten_or_deleted_question_leaves_no_byte_in_the_reply_that_stays(
    memory: Memory, said: Said, tmp_path: Path
) -> None:
    memory.add(said("My cat is called Miso."))
    memory.wait_embedded()
    for name in ("Bartholomew", "Quillfeather"):
        dialogue = memory.dialogue()
        asked(dialogue, "Good evening!", "Good evening.")  # which the session is named after
        asked(dialogue, f"Did I tell {name} what my cat is called?", "Nobody was told.")
        question = dialogue.path()[2]
        if name == "Bartholomew":
            receipt = memory.forget(memory.select(message_id=question.id), prove=True)
            assert receipt.clean
        else:
            dialogue.delete(question.id)
            memory.empty_bin()
            memory.purge()
        held = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file()).lower()
        assert name.lower().encode() not in held
        assert len(memory.replies([m.id for m in dialogue.path()])) == 2


WORDS = st.text(alphabet="ab é😀", max_size=12)


@given(st.lists(WORDS, max_size=6), st.lists(st.integers(0, 5), max_size=6))
def test_what_is_put_together_of_a_questions_words_is_read_back(words: list[str], chosen: list[int]) -> None:
    question = "?".join(words)
    text = "".join(words[place] for place in chosen if place < len(words))
    kept = needs_to_keep([Requirement(text, (1,))], question)
    assert needs_kept(kept, question) == (Requirement(text or ITS_TIME, (1,)),)
    assert set("".join(map(str, kept[0].places))) <= set("0123456789")
