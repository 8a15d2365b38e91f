from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localmem.evals.metrics import complete_evidence_recall, evidence_recall, gold_hit

IDS = st.lists(st.sampled_from("abcdefgh"), unique=True)


@pytest.mark.parametrize(
    ("kept", "gold", "expected"),
    [
        ("abc", "a", (1, 1, 1)),
        ("abc", "ad", (1, 1 / 2, 0)),
        ("abc", "xyz", (0, 0, 0)),
        ("", "a", (0, 0, 0)),
        ("abcd", "abd", (1, 1, 1)),
        ("ab", "abcd", (1, 2 / 4, 0)),
    ],
)
def test_metrics_agree_with_fractions_worked_by_hand(
    kept: str, gold: str, expected: tuple[float, float, float]
) -> None:
    assert (
        gold_hit(kept, gold),
        evidence_recall(kept, gold),
        complete_evidence_recall(kept, gold),
    ) == expected


@given(IDS, IDS.filter(bool))
def test_the_three_metrics_bound_each_other(kept: list[str], gold: list[str]) -> None:
    recall = evidence_recall(kept, gold)
    assert recall == len(set(kept) & set(gold)) / len(set(gold))
    assert complete_evidence_recall(kept, gold) <= recall <= gold_hit(kept, gold)
