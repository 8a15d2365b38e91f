from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from localmem.answering.counting import items
from localmem.answering.draft import draft
from localmem.answering.question import EVER, period_of, read_question
from localmem.answering.sentences import Sentence, sentences_of
from localmem.types import Evidence, Message, Origin, Role

BEACH = "How many times have I gone to the beach?"
BOOKS = "How many books have I finished reading?"
APRIL, MAY, JUNE = (datetime(2026, month, 10, 9, tzinfo=UTC) for month in (4, 5, 6))
Said = tuple[str, datetime, int]
"""What was said, when, and in which session."""


def message(number: int, said: Said, speaker: str = "", role: Role = Role.USER) -> Message:
    text, at, session = said
    return Message(
        number,
        session,
        number,
        number // 2,
        role,
        speaker,
        text,
        at,
        False,
        f"#{number}",
        "s",
        Origin.SAID,
        "",
    )


def sentences(question: str, messages: Sequence[Message], rare: float = 1.0) -> list[Sentence]:
    """Those of some messages; the question's terms weigh the same, but its last weighs ``rare``."""
    asked = read_question(question).terms
    weights = {**dict.fromkeys(asked, 1.0), asked[-1]: rare}
    return sentences_of([Evidence(message, "raw", 0.5) for message in messages], weights)


def counted(question: str, *said: str | Said, asked: date | None = None) -> list[str]:
    """The texts of the items; a text alone is of a day and a session of its own."""
    whole: list[Said] = [
        (one, datetime(2026, 1, 1 + 3 * place, 9, tzinfo=UTC), place) if isinstance(one, str) else one
        for place, one in enumerate(said)
    ]
    messages = [message(number, one) for number, one in enumerate(whole)]
    read = replace(read_question(question), asked=asked)
    return [sentence.text for sentence in items(read, sentences(question, messages))]


def test_each_event_that_was_told_is_an_item() -> None:
    told = ["We went to the beach today.", "I was at the beach with Ana.", "I've been to the beach again!"]
    assert counted(BEACH, *told) == told


@pytest.mark.parametrize(
    "told",
    [
        "Have I gone to the beach?",
        "I want to go to the beach.",
        "I wanted to go to the beach.",
        "We planned to go to the beach.",
        "I hope I went to the right beach.",
        "We'll go to the beach, I booked it.",
        "I'd love to have gone to the beach.",
        "In May I may have gone to the beach.",
        "If we had gone to the beach it would have rained.",
        "I never went to the beach.",
        "We didn't go to the beach.",
        "We usually went to the beach.",
        "We went to the beach once or twice a year.",
        "We went to the beach every Sunday.",
        "I love going to the beach.",
        "I used to go to the beach.",
        "The beach is far away.",
        "You had a great day at the beach.",
    ],
)
def test_what_was_asked_planned_wished_denied_or_usual_is_no_item(told: str) -> None:
    assert counted(BEACH, told, "We went to the beach.") == ["We went to the beach."]


@pytest.mark.parametrize(
    "told",
    [
        "We went to the beach, and I want to stay.",
        "It never rained, so we went to the beach.",
        "I can't believe we went to the beach!",
        "We went to the beach because we couldn't sleep.",
        "We went to the beach in May.",
        "You should have seen us, we were at the beach!",
        "We were at the beach not far from here.",
        "Our day with you at the beach was great.",
        "Beach with the kids yesterday!",
    ],
)
def test_a_wish_or_denial_of_something_else_does_not_take_the_event_away(told: str) -> None:
    assert counted(BEACH, told) == [told]


def test_an_item_has_every_rare_term_and_not_only_frequent_ones() -> None:
    question = "How many times have I visited the old harbour museum?"
    messages = [
        message(0, ("I visited the old harbour yesterday.", APRIL, 1)),
        message(1, ("I visited the museum yesterday, the old harbour one.", MAY, 2)),
    ]
    (item,) = items(read_question(question), sentences(question, messages, rare=1.5))
    assert item.message.id == 1


def test_an_item_may_call_what_is_counted_by_its_name() -> None:
    told = ["I finished reading Night Ferry.", "I finished reading Small Weather."]
    assert counted(BOOKS, *told) == told
    assert counted(BOOKS, "I bought a book.", "I finished the bread.") == []


def test_the_verb_counts_in_every_form() -> None:
    question = "How many tournaments have I won?"
    assert counted(question, "I won my tournament.", "I watched a tournament.") == ["I won my tournament."]
    assert counted(
        "How many letters have I written?", "I wrote a letter.", "I write letters when I am sad."
    ) == ["I wrote a letter."]


def test_a_verb_in_the_present_tells_no_event() -> None:
    assert counted("How many letters have I written?", "I found that I write letters slowly.") == []


def test_an_item_covers_most_of_the_question() -> None:
    told = ["I received a parcel.", "I received a letter."]
    assert counted("How many letters have I received?", *told) == told[1:]


def test_what_the_assistant_says_is_no_item() -> None:
    reply = message(0, ("I went to the beach.", APRIL, 1), role=Role.ASSISTANT)
    assert items(read_question(BEACH), sentences(BEACH, [reply])) == []


def test_a_relative_period_counts_from_the_day_of_the_question() -> None:
    question, told = "How many times have I gone to the beach last month?", ("I went to the beach.", JUNE, 1)
    assert counted(question, told, asked=date(2026, 7, 2)) == [told[0]]
    assert counted(question, told, asked=date(2026, 8, 2)) == []


def test_only_the_person_asked_about_tells_items() -> None:
    question = "How many times has Katrin gone to the beach?"
    messages = [
        message(0, ("I went to the beach.", APRIL, 1), "Katrin"),
        message(1, ("Katrin, I went to the beach.", MAY, 2), "Gerda"),
    ]
    (item,) = items(read_question(question), sentences(question, messages))
    assert item.message.speaker == "Katrin"


def test_two_mentions_of_one_occasion_are_one_item() -> None:
    first = ("We went to the beach yesterday.", MAY, 1)
    assert counted(BEACH, first, ("The beach was great.", MAY, 1)) == [first[0]]
    assert counted(BEACH, first, ("We went to the beach on 9 May.", JUNE, 2)) == [first[0]]
    assert len(counted(BEACH, first, ("We went to the beach on 2 May.", MAY, 1))) == 2
    assert len(counted(BEACH, first, ("We went to the beach.", JUNE, 2))) == 2


def test_two_mentions_of_one_thing_are_one_item() -> None:
    first = ("I finished reading The Salt Orchard.", MAY, 1)
    again = ("Since I finished reading that Salt Orchard, I sleep badly.", JUNE, 2)
    assert counted(BOOKS, first, again) == [first[0]]
    assert counted(BOOKS, first, ("I finished reading it in the train.", MAY, 1)) == [first[0]]
    assert len(counted(BOOKS, first, ("I finished reading Small Weather.", MAY, 1))) == 2


@pytest.mark.parametrize(
    ("when", "texts"),
    [
        ("in 2026", ["May", "June"]),
        ("since May", ["May", "June"]),
        ("after May", ["June"]),
        ("before May", ["April"]),
        ("until May", ["April", "May"]),
        ("in May", ["May"]),
        ("last month", ["May"]),
        ("", ["April", "May", "June"]),
    ],
)
def test_the_period_that_the_question_names_bounds_the_items(when: str, texts: list[str]) -> None:
    april = APRIL.replace(year=2025) if when == "in 2026" else APRIL
    told = [
        ("I went to the beach, it was April.", april, 1),
        ("I went to the beach, it was May.", MAY, 2),
        ("I went to the beach, it was June.", JUNE, 3),
    ]
    told = [
        (text.split(",")[0] + f" number {place}.", at, session)
        for place, (text, at, session) in enumerate(told)
    ]
    names = dict(zip((text for text, _, _ in told), ("April", "May", "June"), strict=True))
    question = f"How many times have I gone to the beach {when}".strip() + "?"
    assert [names[text] for text in counted(question, *told, asked=date(2026, 6, 20))] == texts


def test_an_event_is_in_the_period_by_the_day_it_was_and_not_by_when_it_was_told() -> None:
    told = ("On 28 February we went to the beach.", APRIL, 1)
    assert counted("How many times have I gone to the beach since March?", told) == []
    assert counted("How many times have I gone to the beach in February?", told) == [told[0]]


def test_a_month_without_a_year_is_the_latest_that_has_begun() -> None:
    days, words = period_of("How many trips have I made since March?", date(2026, 1, 5))
    assert days == (date(2025, 3, 1), EVER[1])
    assert words == "March"


def test_units_of_time_are_not_counted_by_statements() -> None:
    question = "How many days did I spend camping?"
    found = sentences(question, [message(0, ("I spent some days camping.", MAY, 1))])
    assert items(read_question(question), found) == []
    assert draft(read_question(question), [found]).value == ""


def test_a_number_that_was_told_comes_before_what_can_be_counted() -> None:
    question = "How many tulips did we plant in the garden?"
    found = sentences(question, [message(0, ("We planted 40 tulips in the garden.", MAY, 1))])
    assert draft(read_question(question), [found]).value == "40"


def test_a_question_that_says_nothing_particular_counts_nothing() -> None:
    assert counted("How many times have I gone there?", "I went to the beach.", "I sold my car.") == []


def test_without_an_item_no_number_is_given() -> None:
    found = sentences(BEACH, [message(0, ("I want to go to the beach.", MAY, 1))])
    made = draft(read_question(BEACH), [found])
    assert made.value == ""
    assert "beach" in made.text
