from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from localmem.memory import Memory
from localmem.types import NewSession

Said = Callable[..., NewSession]


def texts(memory: Memory, query: str, k: int = 10, **filters: object) -> list[str]:
    return [hit.message.text for hit in memory.search(query, k, **filters)]  # type: ignore[arg-type]


def test_a_message_just_stored_is_found_by_the_next_query(memory: Memory, said: Said) -> None:
    for number in range(20):
        memory.add(said(f"a brand new word{number} story", session=f"s{number}"))
        assert texts(memory, f"brand new word{number} story", 1) == [f"a brand new word{number} story"]


def test_the_best_match_comes_first_and_says_how_it_was_found(memory: Memory, said: Said) -> None:
    memory.add(said("the cat sleeps", "cats need sleep", "my bicycle is red"))
    memory.wait_embedded()
    best = memory.search("red bicycle")[0]
    assert best.message.text == "my bicycle is red"
    assert set(best.views) >= {"lexical", "dense"}
    assert 0 < best.similarity <= 1


@pytest.mark.parametrize(
    "query", ["", "   ", "the and of", "zzqx", "a/b", '"x', "C++ (foo)", "AND", "\x00", "\ud800", "🙂", "ไทย"]
)
def test_an_odd_query_is_no_error(memory: Memory, said: Said, query: str) -> None:
    assert memory.search(query) == []
    memory.add(said("plain words", "C++ (foo) and 🙂 ไทย"))
    memory.wait_embedded()
    memory.search(query)


def test_a_very_long_query_and_a_k_above_the_store_are_answered(memory: Memory, said: Said) -> None:
    memory.add(said("tea with milk"))
    assert texts(memory, "tea " * 100_000, 1000) == ["tea with milk"]


def test_the_order_is_the_same_every_time_and_ties_go_by_id(memory: Memory, said: Said) -> None:
    for number in range(6):
        memory.add(said("the same sentence about tea", session=f"s{number}"))
    memory.wait_embedded()
    ids = [hit.message.id for hit in memory.search("tea")]
    assert ids == sorted(ids)
    assert ids == [hit.message.id for hit in memory.search("tea")]


def test_dates_bound_what_is_found(memory: Memory, said: Said) -> None:
    march, may = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC)
    memory.add(said("tea in march", session="a", at=march))
    memory.add(said("tea in may", session="b", at=may))
    assert texts(memory, "tea", after=datetime(2026, 4, 1)) == ["tea in may"]
    assert texts(memory, "tea", before=datetime(2026, 4, 1)) == ["tea in march"]
    assert texts(memory, "tea", after=march, before=may) == ["tea in march"]


def test_by_session_gives_the_best_message_of_each(memory: Memory, said: Said) -> None:
    memory.add(said("tea", "tea and tea", session="a"))
    memory.add(said("some tea", session="b"))
    hits = memory.search("tea", by_session=True)
    assert sorted(hit.message.session_id for hit in hits) == [1, 2]
