from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime

import numpy as np
import pytest

from localmem.memory import Memory
from localmem.reconstruction.completion import Action
from localmem.reconstruction.records import Records
from localmem.reconstruction.requirements import Need, NeedKind
from localmem.reconstruction.support import Support
from localmem.reconstruction.views import VIEWS, retriever
from localmem.types import NewMessage, NewSession, Role

Said = Callable[..., NewSession]


def rows(records: Records, view: str, cue: str | int, evidence: list[int], question: str = "") -> list[int]:
    found = VIEWS[view](records, question, cue, evidence)
    return [int(row) for row in found]


@pytest.fixture
def records(memory: Memory, said: Said) -> Records:
    for number in range(40):
        memory.add(said(f"small talk number {number}", session=f"talk{number}"))
    memory.add(said("we rented the Gruberhof cabin below Zellkogel for skiing", session="cabin"))
    memory.add(said("the Gruberhof cabin at Zellkogel burned down", session="fire"))
    memory.wait_embedded()
    return Records(memory.retrieval)


def test_links_lead_to_a_record_that_shares_rare_words_with_the_evidence_but_none_with_the_question(
    records: Records,
) -> None:
    question, cabin, fire = "Where did we go skiing?", 40, 41
    assert rows(records, "text", question, []) == [cabin]
    found = rows(records, "links", question, [cabin], question)
    assert next(row for row in found if row != cabin) == fire


def test_the_session_view_goes_outward_from_its_anchor(memory: Memory, said: Said) -> None:
    memory.add(said("a cat", "a dog", "a cow", "a hen", "a pig"))
    memory.add(said("another session", session="s2"))
    memory.wait_embedded()
    assert rows(Records(memory.retrieval), "session", 1, []) == [1, 2, 0, 3, 4]


def test_the_entity_view_takes_who_is_named_before_who_speaks(memory: Memory) -> None:
    said = [("Ana", "good morning"), ("Ben", "hello Ana"), ("Ben", "it rains")]
    messages = tuple(NewMessage(Role.USER, text, speaker=speaker, external_id=text) for speaker, text in said)
    memory.add(NewSession("test", "s1", messages))
    memory.wait_embedded()
    assert rows(Records(memory.retrieval), "entity", "Ana", []) == [1, 0]


def test_a_page_leaves_out_what_is_held_and_goes_no_further(records: Records) -> None:
    retrieve = retriever(records, "small talk", page=3)
    first = list(retrieve(Action("text", "small talk"), []))
    second = list(retrieve(Action("text", "small talk"), first))
    assert len(first) == len(second) == 3
    assert not set(first) & set(second)


def test_a_time_is_met_only_by_the_time_of_something_that_was_asked_about(memory: Memory) -> None:
    may, june = datetime(2023, 5, 3, tzinfo=UTC), datetime(2023, 6, 20, tzinfo=UTC)
    for name, text, day in [
        ("a", "The marathon was hard", may),
        ("b", "The marathon was hard again", june),
        ("c", "Soup for dinner", may),
    ]:
        memory.add(NewSession("test", name, (NewMessage(Role.USER, text, external_id=name, sent_at=day),)))
    memory.wait_embedded()
    needs = (
        Need(NeedKind.FACT, "the marathon"),
        Need(NeedKind.TIME, "in May 2023", (date(2023, 5, 1), date(2023, 5, 31))),
    )
    support = Support(Records(memory.retrieval), needs)
    assert np.array_equal(support.met, [[True, True], [True, False], [False, False]])
    assert support.missing([1]) == [needs[1]]
    assert support.missing([]) == list(needs)
