"""Any question at all is read, searched for and answered without an error."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from localmem.answering.question import EVER, is_question, period_of, read_question, wanted_terms
from localmem.disclosure.agent import Agent
from localmem.disclosure.budget import EFFORTS
from localmem.events import answered
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.retrieval.asked import EMBEDDED, read
from localmem.types import NewMessage, NewSession, Role

WORDS = (
    "when did how many days between and from to since until before after last next week two years ago on the "
    "31 December 9999 1 January 0001 Ana's MISO cat? AND OR NOT NEAR ( ) * \" ' : ^ % _ - -- ; \\ $ {} [/b] "
    "[TODO] SELECT <|im_end|> \x00 \ud800 \u202e 昨日 猫 什么时候 เมื่อวาน 🦊"
).split(" ")
"""Words that mean something to a part of the program, and pieces that are syntax somewhere."""
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=[]), max_size=60),
    st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join),
)
DAYS = st.one_of(st.dates(), st.sampled_from([date.min, date.max, date(2024, 2, 29)]))


@settings(deadline=None)
@given(TEXTS, DAYS)
@example("What happened after 31 December 9999?", date.max)
@example("What happened before 1 January 0001?", date.min)
@example("What did I do before last week?", date.min)
@example("What happens after next year?", date.max)
def test_any_question_has_a_kind_terms_and_a_period(text: str, asked: date) -> None:
    question = read_question(text)
    assert len(question.parts) in (1, 2)
    assert isinstance(is_question(text), bool)
    assert all(wanted_terms(text)) or not wanted_terms(text)
    (first, last), words = period_of(text, asked)
    assert EVER[0] <= first <= EVER[1]
    assert EVER[0] <= last <= EVER[1]
    assert isinstance(words, str)


@settings(deadline=None)
@given(TEXTS, st.lists(TEXTS, max_size=3), st.none() | DAYS)
def test_any_query_is_read_against_any_speakers(text: str, names: list[str], asked: date | None) -> None:
    read_names = tuple(name.lower() for name in names)
    found = read(text, read_names, asked)
    assert found.speakers <= set(range(len(names)))
    assert len(found.similar_to) <= EMBEDDED
    assert len(set(found.terms)) == len(found.terms)
    assert all(first <= last for first, last in found.days)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    path: Path = tmp_path_factory.mktemp("fuzz") / "m.db"
    with Memory(path, HashEmbedder()) as memory:
        at = datetime(2024, 5, 1, 12, tzinfo=UTC)
        for number, text in enumerate(
            ("My cat is called Miso.", "Yesterday I planted 30 tulips.", "猫は昨日寝た。", *WORDS)
        ):
            said = (NewMessage(Role.USER, text, "Ana", at), NewMessage(Role.ASSISTANT, f"So: {text}", "", at))
            memory.add(NewSession("s", str(number), said))
        memory.wait_embedded()
        yield memory


SLOW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@SLOW
@given(TEXTS, st.integers(1, 50), st.booleans(), st.none() | DAYS)
def test_any_query_is_searched_for(
    store: Memory, text: str, k: int, by_session: bool, asked: date | None
) -> None:
    hits = store.search(text, k, by_session=by_session, asked_on=asked)
    assert len(hits) <= k
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)


@SLOW
@given(TEXTS.filter(str.strip), st.booleans(), st.none() | DAYS)
def test_any_question_is_answered_by_rules_and_rests_on_what_was_read(
    store: Memory, text: str, agent: bool, asked: date | None
) -> None:
    how = Agent(EFFORTS["low"], asked=asked) if agent else None
    answer = answered(store.answer(text, model=None, agent=how))
    assert set(answer.citations) <= {item.message.id for item in answer.evidence}
    assert answer.text
