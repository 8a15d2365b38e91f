from __future__ import annotations

import pytest

from localmem.errors import BadInput
from localmem.evals.limits import PAPER, POINTS, at_point
from localmem.reconstruction.completion import Budget
from localmem.reconstruction.schedules import MULTI_KEEP, TEXT_KEEP


def test_the_points_are_named_by_their_calls_and_the_last_one_has_more_records() -> None:
    assert at_point("C0") == Budget(steps=3, calls=0, records=30)
    assert at_point("C6") == Budget(steps=6, calls=6, records=30)
    assert at_point("C9") == Budget(steps=9, calls=9, records=50)
    with pytest.raises(BadInput, match="C5"):
        at_point("C5")


def test_what_the_paper_reports_can_be_reached_with_these_budgets_and_keeps() -> None:
    for (arm, point), (calls, records) in PAPER.items():
        budget = at_point(point)
        assert calls <= POINTS[point]
        rounds = min(budget.steps, budget.calls if arm != "bfr-mv" else -(-budget.calls // 3))
        keep = MULTI_KEEP if arm == "bfr-mv" else TEXT_KEEP
        assert records <= 10 + min(budget.records, rounds * keep)
