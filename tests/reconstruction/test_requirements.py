from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localmem.memory import Memory
from localmem.reconstruction.records import Records
from localmem.reconstruction.requirements import MOST, NeedKind, first_person, needs_of
from localmem.reconstruction.support import Support
from localmem.types import NewSession

SPEAKERS = ("ana", "ben lee")


def needs(question: str) -> list[tuple[str, str]]:
    return [(need.kind.value, need.text) for need in needs_of(question, SPEAKERS, date(2023, 12, 1))]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the cat called?", [("fact", "What is the cat called?")]),
        (
            "How many days did it take for me to receive the new lamp after I ordered it?",
            [("fact", "me to receive the new lamp"), ("fact", "I ordered new lamp")],
        ),
        (
            "How many days passed between the move and the party?",
            [("fact", "the move"), ("fact", "the party")],
        ),
        (
            "How many weeks before the wedding did I buy the rings?",
            [("fact", "the wedding"), ("fact", "I buy the rings")],
        ),
        ("Which happened first, the flood or the fire?", [("fact", "the flood"), ("fact", "the fire")]),
        (
            "Do Ana and Ben like chess?",
            [("fact", "Do Ana like chess?"), ("fact", "Do Ben like chess?")],
        ),
        (
            "What did Ana paint and draw?",
            [("fact", "What did Ana paint?"), ("fact", "What did Ana draw?")],
        ),
        ("What books has Ana read?", [("item", "What books has Ana read?")]),
        (
            "When did Ana go to Porto?",
            [("fact", "When did Ana go to Porto?"), ("bridge", "Porto"), ("time", "its day or time")],
        ),
        (
            "What did Ben cook on 3 June, 2023?",
            [("fact", "What did Ben cook on 3 June, 2023?"), ("time", "3 June, 2023")],
        ),
    ],
)
def test_a_question_is_split_by_its_words(question: str, expected: list[tuple[str, str]]) -> None:
    assert needs(question) == expected


@given(st.text(max_size=200))
def test_any_text_has_one_to_twelve_requirements(text: str) -> None:
    found = needs_of(text, SPEAKERS, date(2023, 12, 1))
    assert 1 <= len(found) <= MOST
    assert found == needs_of(text, SPEAKERS, date(2023, 12, 1))


@pytest.mark.parametrize(
    ("question", "person"),
    [
        ("What did Ben tell Ana?", "Ben"),
        ("Ana went where?", "Ana"),
        ("Where does my friend Rachel live?", "Rachel"),
        ("What happened in May?", None),
        ("What is it?", None),
        ("", None),
    ],
)
def test_the_first_person_is_a_speaker_or_a_name_inside_the_sentence(
    question: str, person: str | None
) -> None:
    assert first_person(question, SPEAKERS) == person


def test_a_time_is_met_by_what_was_said_in_it_although_its_words_alone_name_no_day(
    memory: Memory, said: Callable[..., NewSession]
) -> None:
    for day in (datetime(2026, 3, 17, tzinfo=UTC), datetime(2026, 6, 2, tzinfo=UTC)):
        memory.add(said("I finished reading a book.", session=str(day), at=day))
    memory.wait_embedded()
    records = Records(memory.retrieval)
    needs = needs_of("Which book have I finished reading since March?", (), records.asked_on)
    (when,) = (number for number, need in enumerate(needs) if need.kind is NeedKind.TIME)
    assert needs[when].text == "March"
    assert Support(records, needs).met[:, when].tolist() == [True, False]
