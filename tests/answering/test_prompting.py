from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localmem.answering.draft import draft
from localmem.answering.notes import Note, make_notes
from localmem.answering.prompting import ANSWER, DROPPED, REPLY_TOKENS, answer_prompt, chat_prompt
from localmem.answering.question import read_question
from localmem.answering.sentences import sentences_of
from localmem.errors import PromptTooLong
from localmem.models.scripted import ScriptedModel
from localmem.types import Evidence, Message, Origin, Role

WORDS = st.text(st.characters(codec="utf-8", categories=("L", "Nd", "Zs")), min_size=1, max_size=40)
TEXTS = st.lists(WORDS, min_size=1, max_size=60).map(" ".join).filter(str.strip)


def message(number: int, text: str, role: Role = Role.USER) -> Message:
    day = datetime(2024, 5, 1, tzinfo=UTC)
    return Message(
        number, 1, number, number // 2, role, "", text, day, False, f"#{number}", "s", Origin.SAID, ""
    )


def notes_of(texts: list[str], question: str) -> tuple[list[Note], object]:
    evidence = [Evidence(message(number, text), "raw", 0.5) for number, text in enumerate(texts)]
    sentences = sentences_of(evidence, {"boat": 1.0})
    rule = draft(read_question(question), [sentences])
    return make_notes(sentences, rule), rule


def read_by(model: ScriptedModel, prompt: list, max_tokens: int) -> None:
    """The model itself refuses a prompt that does not fit."""
    list(model.stream(prompt, max_tokens=max_tokens))


@given(texts=st.lists(TEXTS, min_size=1, max_size=12), question=TEXTS, window=st.integers(512, 4096))
@settings(max_examples=60, deadline=None)
def test_an_answers_prompt_never_exceeds_the_window(texts, question, window):
    model = ScriptedModel(lambda _: "yes", context=window)
    notes, rule = notes_of(texts, question)
    prompt = answer_prompt(model, question, notes, rule)
    if prompt is not None:
        read_by(model, prompt, ANSWER.max_tokens)


@given(
    history=st.lists(TEXTS, max_size=80),
    texts=st.lists(TEXTS, max_size=6),
    text=TEXTS,
    window=st.integers(512, 4096),
)
@settings(max_examples=60, deadline=None)
def test_a_chats_prompt_never_exceeds_the_window(history, texts, text, window):
    model = ScriptedModel(lambda _: "yes", context=window)
    past = [
        message(number, said, Role.ASSISTANT if number % 2 else Role.USER)
        for number, said in enumerate(history)
    ]
    notes = notes_of(texts, text)[0] if texts else []
    try:
        prompt = chat_prompt(model, past, text, notes)
    except PromptTooLong:
        assert model.count(chat_prompt(ScriptedModel(context=10**6), [], text, [])) + REPLY_TOKENS > window
        return
    read_by(model, prompt, REPLY_TOKENS)
    assert prompt[-1].text.endswith(text)


def conversation(exchanges: int) -> list[Message]:
    return [
        message(number, f"{number} " + "word " * 48, Role.ASSISTANT if number % 2 else Role.USER)
        for number in range(2 * exchanges)
    ]


def test_a_full_chat_begins_the_same_for_several_turns():
    model = ScriptedModel(context=2048)
    firsts = [chat_prompt(model, conversation(n), "and then?", [])[1].text for n in range(20, 36)]
    assert len(set(firsts)) == 1 + (36 - 20) // DROPPED


def test_a_full_chat_keeps_at_least_half_of_what_fits():
    for window in range(700, 4000, 100):
        model = ScriptedModel(context=window)
        for exchanges in range(1, 40):
            kept = (len(chat_prompt(model, conversation(exchanges), "and then?", [])) - 2) // 2
            room = (window - REPLY_TOKENS - 50) // 100
            assert kept >= min(exchanges, room // 2 - 1)


def test_a_message_longer_than_the_window_is_refused_with_advice():
    with pytest.raises(PromptTooLong, match="larger window: localmem models list"):
        chat_prompt(ScriptedModel(context=512), [], "word " * 200, [])
