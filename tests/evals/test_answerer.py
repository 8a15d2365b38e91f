from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from localmem.errors import ModelCrashed
from localmem.evals.answerer import REFUSAL, Answerer, of_notes, of_records, organise
from localmem.evals.datasets import Question
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.models.scripted import ScriptedModel
from localmem.types import Message, NewMessage, NewSession, Role

QUESTION = Question(
    "q", "c", "Where did Ines plant the quince?", "4 single-hop", frozenset(), frozenset(),
    datetime(2024, 5, 2), "by the well", False,
)  # fmt: skip


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    texts = ["I planted a quince by the well.", "The wall fell down.", "long " * 3000]
    said = tuple(
        NewMessage(Role.USER, text, "Ines", datetime(2024, 3, day + 1, tzinfo=UTC), f"m{day}")
        for day, text in enumerate(texts)
    )
    with Memory(tmp_path / "memory.db", HashEmbedder()) as memory:
        memory.add(NewSession("c", "s", said))
        memory.wait_embedded()
        yield memory


@pytest.fixture
def messages(memory: Memory) -> list[Message]:
    return memory.messages(memory.sessions()[0].id)


def asked(model: ScriptedModel) -> str:
    return model.history[-1][-1].text


def test_records_are_read_in_order_of_time_with_day_and_speaker(messages: list[Message]) -> None:
    model = ScriptedModel(["by the well\nand more"])
    answer = Answerer(model).answer(QUESTION, of_records([messages[1], messages[0]]))
    assert answer["text"] == "by the well"
    lines = asked(model).splitlines()
    assert lines[1] == "- 1 March 2024, Ines: I planted a quince by the well."
    assert lines[2] == "- 2 March 2024, Ines: The wall fell down."
    assert "asked on 2 May 2024" in asked(model)


def test_no_prompt_is_longer_than_it_may_be_and_the_first_records_stay(messages: list[Message]) -> None:
    model = ScriptedModel(["x"])
    many = [messages[0], *[messages[1]] * 500]
    answer = Answerer(model, prompt_tokens=400).answer(QUESTION, of_records(many))
    assert answer["prompt_tokens"] <= 400
    assert "quince by the well" in asked(model)
    assert answer["prompt_tokens"] > 350


def test_of_a_whole_history_the_newest_records_stay(messages: list[Message]) -> None:
    model = ScriptedModel(["x"])
    Answerer(model, prompt_tokens=300).answer(
        QUESTION, of_records([*[messages[0]] * 500, messages[1]], newest=True)
    )
    assert "The wall fell down" in asked(model)


def test_a_record_too_long_for_any_prompt_keeps_no_other_away(messages: list[Message]) -> None:
    model = ScriptedModel(["x"])
    answer = Answerer(model, prompt_tokens=400).answer(QUESTION, of_records([messages[2], messages[0]]))
    assert "quince by the well" in asked(model)
    assert "long long" not in asked(model)
    assert answer["prompt_tokens"] <= 400


def test_nothing_that_fits_is_a_refusal_without_a_call(messages: list[Message]) -> None:
    model = ScriptedModel()
    for material in (None, of_records([messages[2]]), of_records([])):
        answer = Answerer(model, prompt_tokens=400).answer(QUESTION, material)
        assert (answer["text"], answer["abstained"], answer["prompt_tokens"]) == (REFUSAL, True, 0)


def test_a_model_that_says_there_is_no_information_abstains(messages: list[Message]) -> None:
    answer = Answerer(ScriptedModel(["No information."])).answer(QUESTION, of_records(messages[:1]))
    assert answer["abstained"]


def test_an_answer_that_the_model_could_not_give_has_no_text(messages: list[Message]) -> None:
    answer = Answerer(ScriptedModel([ModelCrashed("it is gone")])).answer(QUESTION, of_records(messages[:1]))
    assert answer["text"] is None
    assert answer["fallback"] == "it is gone"


def test_notes_and_draft_are_what_the_question_is_about(memory: Memory, messages: list[Message]) -> None:
    organised = organise(memory, QUESTION, messages)
    assert organised is not None
    assert "by the well" in organised.draft
    model = ScriptedModel(["x", "x"])
    Answerer(model).answer(QUESTION, of_notes(organised))
    assert "(Hint: " in asked(model)
    Answerer(model).answer(QUESTION, of_notes(organised, draft=False))
    assert "(Hint: " not in asked(model)


def test_records_that_say_nothing_of_it_are_not_organised(memory: Memory, messages: list[Message]) -> None:
    other: Any = Question(
        "q", "c", "Which opera does Bela sing?", "x", frozenset(), frozenset(), None, "", False
    )
    assert organise(memory, other, messages[1:2]) is None
