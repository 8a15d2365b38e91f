from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localmem.entries import Summary
from localmem.layers.grounding import Grounding
from localmem.layers.shorten import length, shortened
from localmem.layers.summary import WORDS, summarise
from localmem.types import Message, Origin, Role

Say = Callable[..., Message]


def test_a_turn_becomes_a_line_with_names_and_absolute_dates(say: Say) -> None:
    summary = summarise(
        [
            say("Hey Ben! I adopted a puppy called Miso from the shelter in Leeds last Friday.", "Ana"),
            say("Wow! I paid $300 for mine two years ago.", "Ben"),
        ]
    )
    assert summary.text == (
        "Ana adopted a puppy called Miso from the shelter in Leeds on 5 May 2023. "
        "Ben paid $300 for Ben's in 2021."
    )
    assert {"Miso", "Leeds", "5 May 2023", "2021", "$300"} <= set(summary.keywords)
    assert summary.tags[0] == "event"


def test_user_and_assistant_are_told_apart(say: Say) -> None:
    summary = summarise(
        [
            say("I have a budget of $2000 for a trip to Portugal. Any ideas?"),
            say("Sure! Consider Lisbon and Porto. Daily costs are $80-120.", by=Role.ASSISTANT),
        ]
    )
    assert "The user has a budget of $2000 for a trip to Portugal." in summary.text
    assert "The assistant" in summary.text
    assert "recommendation" in summary.tags
    assert {"Lisbon", "Portugal", "$2000"} <= set(summary.keywords)


def test_a_long_message_keeps_the_clause_that_tells(say: Say) -> None:
    text = (
        "It was a day like any other with nothing much to do in the house and rain all over the valley, "
        "but then Tom Baker called from Berlin about the 45 boxes, so that was that and the rest of the day "
        "was as quiet as all the days before it had been"
    )
    summary = summarise([say(text, "Ana")])
    assert "Tom Baker called from Berlin about the 45 boxes" in summary.text
    assert summary.text.startswith("Ana said:")
    assert length(summary.text) <= WORDS


@pytest.mark.parametrize(
    "text",
    [
        "Hi!",
        "我昨天去了北京，见到了小李。我们一起吃了三个包子，然后去看了长城，真的很开心，下个月还想再去一次。"
        * 3,
        "ذهبت إلى القاهرة مع صديقي أحمد في مارس ٢٠٢٣ وكانت رحلة رائعة",
        "```python\ndef f(x):\n    return x + 1\n```",
        "x=1;y=2;for(;;){}",
        "https://example.org/" + "a" * 5000,
        "\ud83d lone \udfff",
        "a\x00b",
        "🎉🎉🎉",
        "...",
        "word " * 200_000,
        "x" * 1_000_000,
        " " * 1_000_000,
        "我" * 300_000,
    ],
)
def test_any_script_and_size_has_a_summary_of_bounded_length(say: Say, text: str) -> None:
    summary = summarise([say(text)])
    assert bool(summary.text) == bool(text.strip())
    assert length(summary.text) <= WORDS + 1
    assert len(summary.text) < 1500
    assert len(summary.keywords) <= 8
    assert len(summary.tags) <= 5


def test_scripts_without_spaces_have_keywords(say: Say) -> None:
    assert "北京" in summarise([say("我昨天去了北京，北京很大。")]).keywords


def test_keywords_and_tags_are_as_many_as_the_paper_says(say: Say) -> None:
    summary = summarise(
        [
            say(
                "I plan to paint the kitchen with Eve, then repair the garden shed and bake cinnamon rolls.",
                "Ana",
            )
        ]
    )
    assert 5 <= len(summary.keywords) <= 8
    assert 3 <= len(summary.tags) <= 5
    assert "plan" in summary.tags


def test_nothing_to_say_is_an_empty_summary(say: Say) -> None:
    assert summarise([say("")]) == summarise([say(" \n ")]) == summarise([]) == Summary("")


def test_recalled_text_never_feeds_a_summary(say: Say) -> None:
    recalled = say("I have 3 cats in Rome.", origin=Origin.RECALLED, attachments="a photo of Rome")
    assert summarise([recalled]) == Summary("")
    assert "Rome" not in str(summarise([recalled, say("I like tea.")]))


def test_what_was_attached_is_told_as_shared(say: Say) -> None:
    summary = summarise([say("Look at this!", "Ana", attachments="a photo of a lake in Norway")])
    assert "Ana shared: a photo of a lake in Norway." in summary.text
    assert "attachment" in summary.tags


def test_a_date_is_never_cut_in_two() -> None:
    text = "Ana was away from 1 May 2023 to 7 May 2023 with Tom and Eve and many others"
    for words in range(4, 16):
        assert "2023" not in (cut := shortened(text, words, "Ana said:")) or "1 May 2023 to 7 May 2023" in cut


_WORDS = st.sampled_from(
    "I my went like Rome Tom yesterday last Friday 3 $40 the a cat. dog, and but you? we 7 May, because so - "
    ": ! 我去 two weeks ago in March 2021 sister's bought will".split(" ")
)


@given(st.lists(st.lists(_WORDS, max_size=40).map(" ".join), min_size=1, max_size=3))
def test_a_summary_says_nothing_that_the_guard_would_reject(texts: list[str]) -> None:
    at = datetime(2023, 5, 8, tzinfo=UTC)
    messages = [
        Message(i, 1, i, 0, Role.USER, ("Ana", "Ben")[i % 2], text, at, False, str(i), "s", Origin.SAID, "")
        for i, text in enumerate(texts)
    ]
    summary = summarise(messages)
    assert length(summary.text) <= WORDS + 1
    rejected = Grounding(messages).unsupported(summary.text)
    assert [one for one in rejected if one.kind not in ("date", "words")] == []
