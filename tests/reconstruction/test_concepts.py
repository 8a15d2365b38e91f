from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localmem.reconstruction.concepts import Context, members
from localmem.reconstruction.requirements import MOST
from localmem.reconstruction.selection import KEPT, Selection, prefilter, sanitize

ROWS = st.lists(st.integers(0, 63), max_size=12)


def naive(rows: list[int], attributes: int) -> set[tuple[int, int]]:
    """Every concept, by closing every set of attributes."""
    found = set()
    for wanted in range(1 << attributes):
        extent = sum(1 << place for place, row in enumerate(rows) if row & wanted == wanted)
        intent = (1 << attributes) - 1
        for place in members(extent):
            intent &= rows[place]
        found.add((extent, intent))
    return found


@given(ROWS)
def test_the_concepts_are_those_of_the_definition_each_once_in_lectic_order(rows: list[int]) -> None:
    concepts = [(concept.extent, concept.intent) for concept in Context(rows, 6).concepts()]
    assert len(concepts) == len(set(concepts))
    assert set(concepts) == naive(rows, 6)
    reversed_bits = [int(f"{intent:06b}"[::-1], 2) for _, intent in concepts]
    assert reversed_bits == sorted(reversed_bits)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 63), min_size=1, max_size=12))
def test_the_concepts_agree_with_the_concepts_package(rows: list[int]) -> None:
    package = pytest.importorskip("concepts")
    objects, attributes = [f"o{n}" for n in range(len(rows))], [f"a{n}" for n in range(6)]
    table = [tuple(bool(row >> n & 1) for n in range(6)) for row in rows]
    theirs = {
        (
            sum(1 << objects.index(o) for o in concept.extent),
            sum(1 << attributes.index(a) for a in concept.intent),
        )
        for concept in package.Context(objects, attributes, table).lattice
    }
    assert {(c.extent, c.intent) for c in Context(rows, 6).concepts()} == theirs


def test_twelve_requirements_have_at_most_4096_concepts_and_may_have_all_of_them() -> None:
    worst = [((1 << MOST) - 1) ^ (1 << n) for n in range(MOST)]  # each candidate lacks one requirement
    assert len(list(Context(worst, MOST).concepts())) == 2**MOST


@given(st.lists(st.integers(0, 2**MOST - 1), max_size=50))
@settings(max_examples=40, deadline=None)
def test_the_prefilter_covers_each_requirement_before_it_covers_any_twice(rows: list[int]) -> None:
    kept = prefilter(rows, MOST)
    assert len(kept) == len(set(kept)) == min(KEPT, len(rows))
    coverable = 0
    for row in rows:
        coverable |= row
    covered = 0
    for place in kept:
        if covered == coverable:
            break
        assert rows[place] & ~covered, "it repeats what is covered while something is open"
        covered |= rows[place]
    assert covered == coverable or len(kept) == KEPT


def test_candidates_that_meet_nothing_come_last_in_their_order() -> None:
    assert prefilter([0, 0b1, 0, 0b1], 1) == [1, 3, 0, 2]
    assert prefilter([0, 0, 0], 2, most=2) == [0, 1]
    assert prefilter([], 3) == []


def test_the_candidate_that_meets_more_together_comes_first() -> None:
    assert prefilter([0b001, 0b010, 0b110, 0b100], 3, most=2) == [2, 0]


@pytest.mark.parametrize(
    ("selection", "kept"),
    [
        (Selection([2, 0]), [2, 0]),
        (Selection([2, 9, -1, 2]), [2]),
        (Selection([9], {0: [7, 3], 1: [3], 2: [1]}), [3, 1]),
        (Selection([], {0: [5]}), [0, 1, 2]),
        (Selection([]), [0, 1, 2]),
    ],
)
def test_a_selection_is_checked_then_read_by_coverage_then_replaced_by_the_head(
    selection: Selection, kept: list[int]
) -> None:
    assert sanitize(selection, offered=5) == kept


def test_of_no_notes_none_are_selected() -> None:
    assert sanitize(Selection([0, 1]), offered=0) == []
