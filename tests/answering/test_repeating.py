from __future__ import annotations

from itertools import accumulate

import pytest

from localmem.answering.repeating import TIMES, before_repeating
from localmem.events import AnswerDelta, Replied
from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel

BEGUN = "Miso is a friendly cat. She sleeps all day."


@pytest.mark.parametrize(
    "said", [" She is a good listener.", "\n- Feed the cat", " 猫 が 好きです、とても。 そう"]
)
def test_a_loop_is_noticed_at_its_fifth_time_and_said_once(said: str) -> None:
    assert before_repeating(BEGUN + said * (TIMES - 1)) is None
    assert before_repeating(BEGUN + said * TIMES) == BEGUN + said


def test_a_loop_is_noticed_wherever_a_piece_of_it_ends() -> None:
    texts = accumulate(BEGUN + " She is a good listener." * 8)
    found = next(once for text in texts if (once := before_repeating(text)) is not None)
    assert found.startswith(BEGUN)
    assert found.count("She is a good listener") == 1


def test_a_loop_from_the_first_word_on_is_said_once_too() -> None:
    assert before_repeating("I am sorry for that. " * TIMES) == "I am sorry for that."
    assert before_repeating("I am sorry for that. " * TIMES + "I am") == "I am sorry for that."


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ha ha ha ha ha ha ha ha ha ha ha ha",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        "-" * 400,
        "0, " * 100,
        "1. Buy milk\n2. Buy milk\n3. Buy milk\n4. Buy milk\n5. Buy milk\n6. Buy milk",
        "We sing hallelujah!\n" * (TIMES - 1),
        "Chapter I. " + " ".join(f"It was day {day} of the journey." for day in range(40)),
    ],
)
def test_what_may_be_meant_is_no_loop(text: str) -> None:
    assert all(before_repeating(text[:end]) is None for end in range(len(text) + 1))


def test_a_reply_that_repeats_itself_is_stopped_and_kept_once(memory: Memory) -> None:
    model = ScriptedModel([f"{BEGUN}" + " She is a good listener." * 60])
    events = list(memory.chat("Tell me of Miso", model=model))
    last = events[-1]
    assert isinstance(last, Replied)
    assert last.message is not None
    assert last.message.text == f"{BEGUN} She is a good listener."
    assert (last.stop_reason, last.stopped) == ("repeated", False)
    assert last.ledger.tokens_written < 40
    assert sum(isinstance(event, AnswerDelta) for event in events) < 40
