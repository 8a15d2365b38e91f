from __future__ import annotations

from collections.abc import Callable

from localmem.layers.bullets import FACTS, LONGEST, NOTES, facts, notes
from localmem.layers.grounding import Grounding
from localmem.layers.shorten import length
from localmem.types import Message, Origin, Role

Say = Callable[..., Message]


def test_notes_are_atomic_and_name_their_message(say: Say) -> None:
    question = say(
        "I moved to Leeds last Friday, and I found a job at a bakery. Which office takes my form for Leeds?",
        "Ana",
    )
    reply = say("Register at the town hall within 14 days.", by=Role.ASSISTANT)
    assert [(bullet.text, bullet.messages) for bullet in notes([question, reply])] == [
        ("Ana moved to Leeds on 5 May 2023", (question.id,)),
        ("Ana found a job at a bakery.", (question.id,)),
        ("Ana asked: Which office takes Ana's form for Leeds?", (question.id,)),
        ("The assistant said: Register at the town hall within 14 days.", (reply.id,)),
    ]


def test_notes_of_small_talk_are_none(say: Say) -> None:
    assert notes([say("Hey!", "Ana"), say("Wow, thanks!", "Ben")]) == ()


def test_a_pasted_book_gives_a_bounded_number_of_notes(say: Say) -> None:
    bullets = notes([say("\n".join(f"Chapter {n} is about topic {n}." for n in range(5000)))])
    assert len(bullets) == NOTES
    assert all(length(b.text) <= LONGEST for b in notes([say("The endless word goes on and on " * 10_000)]))


def test_facts_are_chosen_by_content_and_told_in_order(say: Say) -> None:
    filler = [say("Sounds good!", "Ana", turn=n) for n in range(50)]
    first = say("I was born in Oslo in 1990.", "Ana", turn=50)
    second = say("You could visit Porto for $90.", by=Role.ASSISTANT, turn=50)
    third = say("I prefer trains.", "Ana", turn=51)
    bullets = facts([*filler, first, second, third])
    assert [bullet.text for bullet in bullets] == [
        "Ana was born in Oslo in 1990.",
        "The assistant recommended: You could visit Porto for $90.",
        "Ana prefers trains.",
    ]
    assert [bullet.messages for bullet in bullets] == [(m.id,) for m in (first, second, third)]


def test_a_long_session_has_25_facts_and_no_two_the_same(say: Say) -> None:
    messages = [say(f"I bought {n} red apples in town number {n}.", turn=n) for n in range(2, 400)]
    repeated = [
        say("In 2019 I bought my blue bicycle in Ghent from Tom Baker for $300.", turn=n)
        for n in range(400, 410)
    ]
    bullets = facts([*messages, *repeated])
    assert len(bullets) == FACTS
    assert sum("Ghent" in bullet.text for bullet in bullets) == 1


def test_recalled_messages_feed_neither(say: Say) -> None:
    recalled = say("I was born in Oslo in 1990.", origin=Origin.RECALLED)
    assert notes([recalled]) == facts([recalled]) == ()


def test_what_the_rules_write_passes_the_guard(say: Say) -> None:
    messages = [
        say("Any hostels? I'm allergic to nuts and I leave next Monday at 7:30 am.", turn=0),
        say("**Lisbon Lounge** has beds for $25. I suggest the 2nd floor!", by=Role.ASSISTANT, turn=0),
        say("My brother Tom pays half, so we'll be three.", turn=1),
    ]
    grounding = Grounding(messages)
    for bullet in [*facts(messages), *notes(messages)]:
        assert grounding.unsupported(bullet.text) == []
