from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from localmem.errors import BadInput, ModelCrashed, PromptTooLong
from localmem.events import AnswerDelta, Fallback, NotesMade, Recalled, Replied, Stored
from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.types import NewSession, Role

Said = Callable[..., NewSession]


def chat_texts(memory: Memory) -> list[tuple[str, str]]:
    session = next(s for s in memory.sessions() if s.source == "chat")
    return [(m.role.value, m.text) for m in memory.messages(session.id)]


def test_the_users_message_is_committed_before_the_model_starts(memory: Memory) -> None:
    events = memory.chat("Hello", model=ScriptedModel([ModelCrashed("dead")]))
    first = next(events)
    assert isinstance(first, Stored)
    assert chat_texts(memory) == [("user", "Hello")]
    with pytest.raises(ModelCrashed):
        list(events)
    assert chat_texts(memory) == [("user", "Hello")]


def test_a_reply_is_streamed_and_stored_and_the_session_goes_on(memory: Memory) -> None:
    model = ScriptedModel(["Hi, how are you?", "Good to hear."])
    events = list(memory.chat("Hello there", model=model))
    session_id = events[0].message.session_id  # type: ignore[union-attr]
    assert "".join(e.text for e in events if isinstance(e, AnswerDelta)) == "Hi, how are you?"
    list(memory.chat("Fine, thanks", model=model, session_id=session_id))
    assert [text for _, text in chat_texts(memory)] == [
        "Hello there",
        "Hi, how are you?",
        "Fine, thanks",
        "Good to hear.",
    ]
    assert [m.text for m in model.history[1]][1:] == ["Hello there", "Hi, how are you?", "Fine, thanks"]
    assert memory.session(session_id).title == "Hello there"


def test_a_stopped_reply_is_kept_and_marked(memory: Memory) -> None:
    cancel = threading.Event()
    written = []
    for event in memory.chat("Count", model=ScriptedModel(["one two three four"]), cancel=cancel):
        if isinstance(event, AnswerDelta):
            written.append(event.text)
            if len(written) == 2:
                cancel.set()
    assert isinstance(event, Replied)
    assert event.stopped
    assert chat_texts(memory)[-1] == ("assistant", "one two")


def test_a_reply_whose_reader_went_away_is_kept(memory: Memory) -> None:
    events = memory.chat("Count", model=ScriptedModel(["one two three four"]))
    for event in events:
        if isinstance(event, AnswerDelta):
            break
    events.close()  # type: ignore[attr-defined]
    assert chat_texts(memory)[-1] == ("assistant", "one")


def test_earlier_chats_are_recalled_and_cited_and_the_current_one_is_not(memory: Memory, said: Said) -> None:
    memory.add(said("My cat is called Miso.", "Cute.", at=datetime(2026, 3, 1, tzinfo=UTC)))
    memory.wait_embedded()
    model = ScriptedModel(["Your cat is called Miso.", "Miso."])
    events = list(memory.chat("What is my cat called?", model=model))
    recalled = next(e for e in events if isinstance(e, Recalled))
    assert "My cat is called Miso." in {item.message.text for item in recalled.evidence}
    assert "1 March 2026" in model.history[0][-1].text
    replied = events[-1]
    assert isinstance(replied, Replied)
    assert set(replied.citations) <= {item.message.id for item in recalled.evidence}
    assert replied.citations
    session_id = replied.message.session_id  # type: ignore[union-attr]
    again = list(memory.chat("My cat, what was it called?", model=model, session_id=session_id))
    for event in again:
        if isinstance(event, Recalled):
            assert session_id not in {item.message.session_id for item in event.evidence}


def test_a_question_about_memory_is_answered_from_it_whatever_the_model_invents(
    memory: Memory, said: Said
) -> None:
    memory.add(said("My dentist is Dr Brook.", "Noted.", at=datetime(2026, 3, 1, tzinfo=UTC)))
    memory.wait_embedded()
    events = list(memory.chat("Who is my dentist?", model=ScriptedModel(["It is Dr Zebulon."])))
    fallback = next(e for e in events if isinstance(e, Fallback))
    assert "Zebulon" in fallback.reason
    assert "Dr Brook" in chat_texts(memory)[-1][1]
    assert isinstance(events[-1], Replied)
    assert events[-1].citations


def test_the_time_between_two_events_is_computed_in_the_chat_too(memory: Memory, said: Said) -> None:
    memory.add(said("I adopted Miso yesterday.", "Lovely.", at=datetime(2026, 3, 8, tzinfo=UTC)))
    memory.add(said("Miso had her operation today.", session="s2", at=datetime(2026, 3, 18, tzinfo=UTC)))
    memory.wait_embedded()
    asked = "How many days passed between the day I adopted Miso and her operation?"
    list(memory.chat(asked, model=ScriptedModel(["It was 3 days."])))
    assert chat_texts(memory)[-1][1].startswith("11 days: from 7 March 2026 to 18 March 2026.")


def test_a_request_for_something_new_is_left_to_the_model(memory: Memory, said: Said) -> None:
    memory.add(said("My sourdough bread never rises.", "Warmth helps."))
    memory.wait_embedded()
    model = ScriptedModel(["Flour, water, salt and time."])
    list(memory.chat("Write a poem: my sourdough bread never rises", model=model))
    assert chat_texts(memory)[-1][1] == "Flour, water, salt and time."
    assert "My sourdough bread never rises." in model.history[0][-1].text


def test_small_talk_recalls_nothing(memory: Memory, said: Said) -> None:
    memory.add(said("My cat is called Miso.", "Cute."))
    events = list(memory.chat("Good evening!", model=ScriptedModel(["Good evening."])))
    assert not any(isinstance(e, Recalled | NotesMade) for e in events)


def test_old_exchanges_leave_the_prompt_before_it_overflows(memory: Memory) -> None:
    model = ScriptedModel(["ok"] * 12, context=600)
    session_id = None
    for _ in range(12):
        events = list(memory.chat("word " * 40, model=model, session_id=session_id))
        session_id = events[0].message.session_id  # type: ignore[union-attr]
    assert max(model.count(prompt) for prompt in model.history) + 400 <= 600
    assert model.history[-1][0].role == "system"
    assert model.history[-1][1].role == "user"


def test_a_message_too_long_for_the_model_is_stored_and_refused_with_the_reason(memory: Memory) -> None:
    with pytest.raises(PromptTooLong):
        list(memory.chat("word " * 10_000, model=ScriptedModel(["ok"])))
    ((role, text),) = chat_texts(memory)
    assert (role, len(text)) == (Role.USER.value, 50_000)


def test_an_empty_message_is_refused_and_makes_no_session(memory: Memory) -> None:
    with pytest.raises(BadInput):
        list(memory.chat(" \n", model=ScriptedModel(["ok"])))
    assert memory.sessions() == []
