from __future__ import annotations

from collections.abc import Callable

import pytest

from localmem.layers.sentences import sentences_of
from localmem.layers.voice import addressee_of, dated, stated
from localmem.types import Message, Role

Say = Callable[..., Message]


def told(message: Message, *others: Message) -> list[str]:
    to = addressee_of(message, [message, *others])
    return [stated(dated(sentence), to) for sentence in sentences_of(message)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I went to Rome.", "Ana went to Rome."),
        ("I like tea.", "Ana likes tea."),
        ("I really love it when I fly.", "Ana really loves it when Ana flies."),
        ("I don't eat fish.", "Ana doesn't eat fish."),
        ("I don’t eat fish.", "Ana doesn't eat fish."),
        ("I'm ill and I've been in bed.", "Ana is ill and Ana has been in bed."),
        ("I'll call my mother.", "Ana will call Ana's mother."),
        ("I'd love a dog.", "Ana would love a dog."),
        ("I'd been there.", "Ana had been there."),
        ("I have two dogs, and I need to walk them.", "Ana has two dogs, and Ana needs to walk them."),
        ("I can swim, but I watch and pass.", "Ana can swim, but Ana watches and pass."),
        ("Tom gave me his book.", "Tom gave Ana his book."),
        ("The house is mine.", "The house is Ana's."),
        ("My sister and I moved.", "Ana's sister and Ana moved."),
        ("I never do what I am told.", "Ana never does what Ana is told."),
        ("Should I stay or can I go.", "Should Ana stay or can Ana go."),
        ("i think i went home", "Ana thinks Ana went home"),
        ("Lost my job as a banker.", "Ana lost Ana's job as a banker."),
        ("Hey Tom, I moved.", "Ana moved."),
        ("By the way, I am vegan.", "Ana is vegan."),
        ("It was fun.", "Ana said: It was fun."),
        ("World War I ended.", "Ana said: World War I ended."),
        ("It is 5mm (US I/9).", "Ana said: It is 5mm (US I/9)."),
        ("I saw it and we left.", "Ana said: Ana saw it and we left."),
        ("What is it?", "Ana asked: What is it?"),
        ("I was here yesterday.", "Ana was here on 7 May 2023."),
        ("I met Eve last Friday.", "Ana met Eve on 5 May 2023."),
        ("I slept badly last night.", "Ana slept badly on the night of 7 May 2023."),
        ("I was away last week.", "Ana was away from 1 May 2023 to 7 May 2023."),
        ("I travel next month.", "Ana travels in June 2023."),
        ("I have lived here since March.", "Ana has lived here since March 2023."),
        ("I fly in two weeks.", "Ana flies on 22 May 2023."),
        ("I missed the last Friday.", "Ana missed the last Friday (5 May 2023)."),
        ("I was born on 3 May 1990.", "Ana was born on 3 May 1990."),
    ],
)
def test_a_sentence_stands_alone(say: Say, text: str, expected: str) -> None:
    assert told(say(text, "Ana")) == [expected]


def test_who_is_spoken_to_is_named_beside_you(say: Say) -> None:
    ana, ben = say("You should rest. Did you sleep?", "Ana"), say("No.", "Ben")
    assert told(ana, ben) == ["Ana told Ben: You should rest.", "Ana asked Ben: Did you sleep?"]


def test_a_user_without_a_name_is_the_user(say: Say) -> None:
    assert told(say("I am vegan. My dog is not.")) == ["The user is vegan.", "The user's dog is not."]


def test_the_assistants_words_stay_its_own(say: Say) -> None:
    reply = say("I recommend Rome. You could try Lisbon. It is warm.", by=Role.ASSISTANT)
    assert told(reply, say("Where to?")) == [
        "The assistant recommends Rome.",
        "The assistant recommended: You could try Lisbon.",
        "The assistant said: It is warm.",
    ]


def test_without_a_time_relative_dates_stay(say: Say) -> None:
    assert told(say("I ran yesterday.", "Ana", at=None)) == ["Ana ran yesterday."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Who came. He left!", ["Dr. Who came.", "He left!"]),
        ("我去了北京。很好！", ["我去了北京。", "很好！"]),
        ("Hello\n- **one**\n2. [two](http://x)\n# three", ["Hello", "one", "two", "three"]),
        ('He said "go!" Then he left', ['He said "go!"', "Then he left"]),
        ("Look:\n```python\nx = 1\ny = 2\n```\nNice", ["Look:", "python code: x = 1 y = 2", "Nice"]),
        ("```\nopen", ["code: open"]),
        (" \n ", []),
    ],
)
def test_text_is_cut_into_sentences_without_markup(say: Say, text: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in sentences_of(say(text))] == expected


@pytest.mark.parametrize("unit", ["[", "](", " ", "```", "a. ", "\n ", "* ", "1) ", "'", "I ", "you ", "x"])
def test_reading_takes_time_in_proportion_to_the_text(say: Say, unit: str) -> None:
    """A pattern that backtracks would need hours for this."""
    for sentence in sentences_of(say(unit * 100_000))[:50]:
        stated(dated(sentence), None)
