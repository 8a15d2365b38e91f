from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localmem.disclosure.session_search import (
    best_of_queries,
    boosted,
    dense_scores,
    discretised,
    field_bm25,
    keyword_matches,
    lexical_scores,
    ranks,
    rrf,
    session_scores,
    top,
)
from localmem.index.postings import Postings, pack_terms
from localmem.index.tokens import query_terms, terms

VOCABULARY: dict[str, int] = {}


def field(*texts: str) -> Postings:
    rows = []
    for number, text in enumerate(texts):
        counts = Counter(VOCABULARY.setdefault(term, len(VOCABULARY)) for term in terms(text))
        rows.append((number, counts.total(), pack_terms(counts, counts.values())))
    return Postings.build(rows)


def ids(query: str) -> list[int]:
    return [VOCABULARY[term] for term in query_terms(query) if term in VOCABULARY]


def test_bm25_of_a_field_is_the_formula_worked_by_hand() -> None:
    # two units of 2 and 4 stems, 3 on average; "tea" in one of them: idf = ln(1 + 1.5 / 1.5) = ln 2
    scores = field_bm25(field("green tea", "bread oven flour yeast"), ids("tea"))
    # 1.9 / (1 + 0.9 * (0.6 + 0.4 * 2 / 3)) = 1.9 / 1.78
    assert scores.tolist() == pytest.approx([math.log(2) * 1.9 / 1.78, 0.0])


def test_bm25_counts_a_repeated_stem_once_more_but_less() -> None:
    # lengths 2 and 2, both at the average; idf = ln(1 + 0.5 / 2.5) = ln 1.2
    scores = field_bm25(field("baking bakes", "baked yeast"), ids("bake"))
    assert scores.tolist() == pytest.approx([math.log(1.2) * 2 * 1.9 / 2.9, math.log(1.2) * 1.9 / 1.9])


def test_each_field_has_its_own_frequencies_and_their_scores_add_up() -> None:
    query = ids("tea") or [VOCABULARY.setdefault("tea", len(VOCABULARY))]
    summary = field_bm25(field("green tea", "black tea"), query)  # in both: ln 1.2
    keywords = field_bm25(field("tea", "sugar"), query)  # in one: ln 2
    both = lexical_scores(summary, keywords)
    assert both.tolist() == pytest.approx([math.log(1.2) + math.log(2), math.log(1.2)])


@pytest.mark.parametrize("texts", [(), ("",), ("", "")])
def test_a_field_without_words_finds_nothing(texts: tuple[str, ...]) -> None:
    assert field_bm25(field(*texts), [0, 10_000]).tolist() == [0.0] * len(texts)


def test_cosines_of_normalised_vectors_are_dot_products() -> None:
    units = np.array([[0.6, 0.8], [1.0, 0.0]], np.float32)
    assert dense_scores(units, np.array([0.0, 1.0], np.float32)).tolist() == pytest.approx([0.8, 0.0])


def test_ranks_begin_at_one_break_ties_by_order_and_leave_out_what_is_no_hit() -> None:
    assert ranks(np.array([0.2, 0.0, 0.7, 0.2, -0.1])).tolist() == [2, 0, 1, 3, 0]


def test_scores_that_agree_to_six_decimals_are_equal() -> None:
    assert ranks(np.array([0.3, 0.3 + 1e-8, 0.300002, 1e-8])).tolist() == [2, 3, 1, 0]


def test_rrf_of_two_indexes_worked_by_hand() -> None:  # equation 2
    lexical, dense = np.array([1, 2, 0]), np.array([3, 1, 2])
    assert rrf([lexical, dense]).tolist() == pytest.approx(
        [0.5 / 61 + 0.5 / 63, 0.5 / 62 + 0.5 / 61, 0.5 / 62]
    )


def test_a_session_scores_its_best_turn_and_not_their_sum() -> None:  # equation 3
    units = np.array([0.010, 0.012, 0.011, 0.011])
    assert session_scores(units, np.array([0, 2, 0, 0]), 3).tolist() == [0.011, 0.0, 0.012]


def test_keywords_add_a_tenth_of_the_top_score_each() -> None:  # equation 4
    # s_max = 0.02, so a match is worth 0.002; five matches count as three
    scores = boosted(np.array([0.02, 0.015, 0.0, 0.016]), [0, 5, 1, 2])
    assert scores.tolist() == pytest.approx([0.02, 0.021, 0.002, 0.020])


def test_matches_are_discretised_to_four_levels() -> None:
    assert [discretised(count) for count in (0, 1, 2, 3, 4, 50)] == [0, 1, 2, 3, 3, 3]


@pytest.mark.parametrize(
    ("query", "keywords", "expected"),
    [
        ("Which hostel in Lisbon did I like?", ["Lisbon", "hostels", "Porto"], 1),  # exact: no stemming
        ("trip to southeast  asia", ["Southeast Asia", "Asia", "south"], 2),
        ("a budget of $2000", ["$2000 budget", "$2000"], 1),
        ("Lisbon, LISBON", ["lisbon", "Lisbon"], 1),
        ("what is the plan", ["the", "", "!"], 0),
        ("去年我在里斯本住哪里", ["里斯本"], 1),
        ("Zoë's café", ["zoë", "cafe\u0301"], 2),
        ("broken \ud800 text", ["text"], 1),
    ],
)
def test_a_keyword_matches_when_all_its_words_stand_in_the_query(
    query: str, keywords: list[str], expected: int
) -> None:
    assert keyword_matches(query, keywords) == expected


def test_a_session_takes_its_best_query() -> None:  # equation 5
    assert best_of_queries([np.array([0.01, 0.03]), np.array([0.02, 0.0])]).tolist() == [0.02, 0.03]


def test_the_top_is_in_order_without_what_is_no_hit() -> None:
    scores = np.array([0.1, 0.0, 0.3, 0.1])
    assert top(scores) == [2, 0, 3]
    assert top(scores, 2) == [2, 0]
    assert len(top(np.ones(30))) == 20
    assert top(np.zeros(0)) == []


def test_the_formulas_together_put_an_exact_name_before_a_near_meaning() -> None:
    summary = field("Trip ideas for spring", "A week in Lisbon was planned", "Bread recipes")
    lexical = lexical_scores(field_bm25(summary, ids("lisbon hotel")), np.zeros(3))
    unit_scores = rrf([ranks(lexical), ranks(np.array([0.9, 0.5, 0.1]))])
    sessions = session_scores(unit_scores, np.array([0, 1, 2]), 3)
    matches = [keyword_matches("Lisbon hotel", words) for words in (["trip"], ["Lisbon"], ["bread"])]
    assert top(best_of_queries([boosted(sessions, matches)])) == [1, 0, 2]


@given(st.lists(st.integers(0, 1000).map(lambda level: level / 1000), max_size=30), st.data())
def test_more_queries_and_more_keywords_never_lower_a_session(
    values: list[float], data: st.DataObject
) -> None:
    scores = np.array(values)
    matches = data.draw(st.lists(st.integers(0, 9), min_size=len(values), max_size=len(values)))
    raised = boosted(scores, matches)
    assert (raised >= scores).all()
    assert (best_of_queries([scores, raised]) == raised).all()
    assert sorted(rank for rank in ranks(scores).tolist() if rank) == list(
        range(1, int((scores > 0).sum()) + 1)
    )
