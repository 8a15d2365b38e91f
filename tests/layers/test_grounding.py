from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localmem.entries import Bullet, Summary
from localmem.layers.grounding import Grounding, Kind, coverage
from localmem.types import Message, Origin, Role

Say = Callable[..., Message]

CARRIED = [
    # numbers
    ("I have 3 cats.", "Ana has three cats."),
    ("I have three cats.", "Ana has 3 cats."),
    ("I have a cat.", "Ana has one cat."),
    ("My twelve students passed.", "12 students of Ana passed."),
    ("We sold twenty-five tickets.", "Ana sold 25 tickets."),
    ("We sold two hundred and fifty tickets.", "Ana sold 250 tickets."),
    ("The rent is $1,200.", "Ana pays a rent of 1200 dollars."),
    ("The rent is $1.2k.", "Ana's rent is $1,200."),
    ("It has 2 million users.", "Ana's app has 2,000,000 users."),
    ("I came third.", "Ana came 3rd."),
    ("Both dogs are ill.", "Ana's two dogs are ill."),
    ("I bought a dozen eggs.", "Ana bought 12 eggs."),
    ("It takes 5-7 days.", "It takes 5 to 7 days."),
    ("I saved 20 percent.", "Ana saved 20%."),
    ("The train leaves at 3 pm.", "Ana's train leaves at 15:00."),
    ("The train leaves at 3:30 p.m.", "Ana's train leaves at 3:30 pm."),
    ("The train leaves at 15:30.", "Ana's train leaves at 3:30 pm."),
    ("We eat at noon.", "Ana eats at 12 pm."),
    ("I read ٣ books.", "Ana read 3 books."),
    ("I'm fifteen.", "Ana is 15."),
    # dates
    ("I ran a race last Friday.", "Ana ran a race on 5 May 2023."),
    ("I ran a race last Friday.", "Ana ran a race on May 5th, 2023."),
    ("I ran a race last Friday.", "Ana ran a race on 2023-05-05."),
    ("I ran a race last Friday.", "Ana ran a race on 5/5/2023."),
    ("I ran a race last Friday.", "Ana ran a race in May 2023."),
    ("I ran a race last Friday.", "Ana ran a race, May 2023."),
    ("I ran a race last Friday.", "Ana ran a race in 2023."),
    ("I went yesterday.", "Ana went on 7 May 2023."),
    ("I went yesterday.", "Ana went on Sunday."),
    ("I moved two years ago.", "Ana moved in 2021."),
    ("I moved two years ago.", "Ana moved two years ago."),
    ("I start next month.", "Ana starts in June 2023."),
    ("I was away last week.", "Ana was away from 1 May 2023 to 7 May 2023."),
    ("I was away last week.", "Ana was away in May 2023."),
    ("It is on 12 March 2024.", "It is on 12.3.2024."),
    ("It is on 12 March 2024.", "It is on the 12th of March 2024."),
    ("I was born in 1990.", "Ana was born in 1990."),
    ("I like tea.", "On 8 May 2023, Ana said that tea is good."),
    ("I came today.", "Ana came on 8 May 2023."),
    # names
    ("I met Tom in Paris.", "Ana met Tom in Paris."),
    ("i met tom in paris.", "Ana met Tom in Paris."),
    ("I read Tom's book.", "Tom wrote the book that Ana read."),
    ("I went to the Rockies.", "Ana has seen a Rocky mountain."),
    ("We saw the Smiths.", "Ana saw Smith."),
    ("I live in São Paulo.", "Ana lives in Sao Paulo."),
    ("I went dancing.", "Dancing is what Ana did."),
    ("I like GPUs.", "Ana likes a GPU."),
    ("I like tea.", "The User Ana likes tea."),
    # people speak for themselves
    ("I plan a trip to Rome.", "The user plans a trip to Rome."),
    ("Я видела Анну в Москве.", "Ana: Анну в Москве."),
    ("我昨天去了北京，见到了小李。", "去了北京，见到了小李。"),
    ("ذهبت إلى القاهرة مع صديقي", "ذهبت إلى القاهرة"),
    ("", ""),
]

INVENTED = [
    ("I have three cats.", "Ana has four cats.", Kind.NUMBER, "four"),
    ("I have three cats.", "Ana has 4 cats.", Kind.NUMBER, "4"),
    ("I have cats.", "Ana has 2 cats.", Kind.NUMBER, "2"),
    ("I have two cats.", "Ana has one cat.", Kind.NUMBER, "one"),
    ("We sold twenty-five tickets.", "Ana sold twenty tickets.", Kind.NUMBER, "twenty"),
    ("The rent is $1,200.", "The rent is $1,300.", Kind.NUMBER, "$1,300"),
    ("20 people came.", "Ana saved 20%.", Kind.NUMBER, "20%"),
    ("20 people came.", "Ana paid $20.", Kind.NUMBER, "$20"),
    ("I came third.", "Ana came second.", Kind.NUMBER, "second"),
    ("I ran on 7 May.", "Ana ran 7 miles.", Kind.NUMBER, "7"),
    ("The train leaves at 3 pm.", "Ana's train leaves at 3 am.", Kind.NUMBER, "3 am"),
    ("The train leaves at 3:30.", "Ana's train leaves at 4:30.", Kind.NUMBER, "4:30"),
    ("Meet me at 3.", "Ana meets at 3 pm.", Kind.NUMBER, "3 pm"),
    ("I ran a race last Friday.", "Ana ran a race on 4 May 2023.", Kind.DATE, "4 May 2023"),
    ("I ran a race last Friday.", "Ana ran a race on 2023-05-12.", Kind.DATE, "2023-05-12"),
    ("I ran a race last Friday.", "Ana ran a race in April 2023.", Kind.DATE, "April 2023"),
    ("I ran a race last Friday.", "Ana ran a race in 2022.", Kind.DATE, "2022"),
    ("I ran a race last Friday.", "Ana ran a race, May 2022.", Kind.DATE, "May 2022"),
    ("I ran a race last month.", "Ana ran a race on 3 April 2023.", Kind.DATE, "3 April 2023"),
    (
        "I ran a race last week.",
        "Ana ran from 1 May 2023 to 9 May 2023.",
        Kind.DATE,
        "1 May 2023 to 9 May 2023",
    ),
    ("I ran a race.", "Ana ran a race on 8 May 2023.", Kind.DATE, "8 May 2023"),
    ("I ran a race.", "Ana ran a race yesterday.", Kind.DATE, "yesterday"),
    ("I met Tom.", "Ana met Tim.", Kind.NAME, "Tim"),
    ("I met Tom.", "Robert met Tom.", Kind.NAME, "Robert"),
    ("I met Tom in Paris.", "Ana met Tom in London.", Kind.NAME, "London"),
    ("I met Tom.", "Ana met Tom Baker.", Kind.NAME, "Baker"),
    ("I met Tom.", "Ana met Tom on a Tuesday.", Kind.NAME, "Tuesday"),
    ("I use Linux.", "Ana uses MacOS.", Kind.NAME, "MacOS"),
    ("我昨天去了北京。", "小李在上海买了三只猫。", Kind.WORDS, ""),
    ("I went to Cairo.", "ذهبت إلى القاهرة", Kind.WORDS, ""),
]


@pytest.mark.parametrize(("source", "derived"), CARRIED)
def test_what_the_message_says_in_other_words_may_stand(say: Say, source: str, derived: str) -> None:
    assert Grounding([say(source, "Ana")]).unsupported(derived) == []


@pytest.mark.parametrize(("source", "derived", "kind", "text"), INVENTED)
def test_what_the_message_does_not_say_is_found(
    say: Say, source: str, derived: str, kind: Kind, text: str
) -> None:
    found = Grounding([say(source, "Ana")]).unsupported(derived)
    assert [one.kind for one in found] == [kind]
    assert text in found[0].text
    assert found[0].text in str(found[0])


def exchange(say: Say) -> Grounding:
    return Grounding(
        [
            say("Can you recommend a place in Portugal? I am vegan."),
            say("Stay in a Lisbon hostel for $80 and eat sardines.", by=Role.ASSISTANT),
        ]
    )


@pytest.mark.parametrize(
    "told",
    [
        "The user plans to stay in a Lisbon hostel.",
        "The user eats sardines.",
        "User wants to visit Lisbon in Portugal.",
        "On 8 May 2023, the user said that sardines are eaten in a hostel.",
        "The user is vegan. The user eats sardines.",
    ],
)
def test_the_assistants_words_are_no_facts_about_the_user(say: Say, told: str) -> None:
    assert Kind.SPEAKER in {one.kind for one in exchange(say).unsupported(told)}


@pytest.mark.parametrize(
    "told",
    [
        "The assistant recommended a Lisbon hostel for $80.",
        "The user was told to stay in a Lisbon hostel.",
        "The user asked for a place in Portugal.",
        "The user is vegan.",
        "The user wants a place in Portugal. The assistant suggested sardines.",
        "A Lisbon hostel costs $80.",
    ],
)
def test_who_said_it_may_be_told(say: Say, told: str) -> None:
    assert exchange(say).unsupported(told) == []


def test_a_named_user_is_a_user_too(say: Say) -> None:
    grounding = Grounding([say("Any idea?", "Ana"), say("Adopt a parrot.", by=Role.ASSISTANT)])
    assert [one.kind for one in grounding.unsupported("Ana adopts a parrot.")] == [Kind.SPEAKER]


def test_what_a_user_tells_of_another_user_stands(say: Say) -> None:
    grounding = Grounding([say("You adopted a parrot, Ben!", "Ana"), say("Yes!", "Ben")])
    assert grounding.unsupported("Ben adopted a parrot.") == []


def test_a_relative_date_counts_from_the_message_that_said_it(say: Say) -> None:
    later = datetime(2023, 6, 1, tzinfo=UTC)
    grounding = Grounding([say("I ran yesterday.", "Ana"), say("I swam yesterday.", "Ana", at=later)])
    assert grounding.unsupported("Ana swam on 31 May 2023 and ran on 7 May 2023.") == []
    assert grounding.unsupported("Ana swam on 30 May 2023.") != []


def test_without_a_time_only_absolute_dates_are_known(say: Say) -> None:
    grounding = Grounding([say("I ran on 7 May 2021, not yesterday.", "Ana", at=None)])
    assert grounding.unsupported("Ana ran on 2021-05-07.") == []
    assert grounding.unsupported("Ana ran on 7 May 2023.") != []


def test_recalled_messages_carry_nothing(say: Say) -> None:
    grounding = Grounding([say("I have 3 cats.", "Ana", origin=Origin.RECALLED), say("Hi.", "Ana")])
    assert [one.text for one in grounding.unsupported("Ana has 3 cats.")] == ["3"]


def test_attachments_carry_what_they_show(say: Say) -> None:
    grounding = Grounding([say("Look!", "Ana", attachments="a photo of 3 cats in Rome")])
    assert grounding.unsupported("Ana shared a photo of three cats in Rome.") == []


@given(st.text(), st.text())
def test_any_text_is_judged_without_an_error(source: str, derived: str) -> None:
    message = Message(
        1, 1, 0, 0, Role.USER, "", source, datetime(2023, 5, 8, tzinfo=UTC), False, "1", "s", Origin.SAID, ""
    )
    Grounding([message]).unsupported(derived)


def test_coverage_counts_what_reaches_the_summary(say: Say) -> None:
    messages = [say("I met Tom and Eve in Paris last Friday and paid $30 for 2 crêpes.", "Ana")]
    summary = Summary("Ana met Tom on 5 May 2023.", keywords=("Paris", "$30"))
    found = coverage(summary, messages)
    assert (found.numbers, found.dates, found.names) == ((1, 2), (1, 1), (2, 3))
    assert found.share == pytest.approx(4 / 6)
    assert coverage([Bullet("Eve", (1,))], messages).names == (1, 3)
    assert coverage(summary, [say("no particulars")]).share is None
