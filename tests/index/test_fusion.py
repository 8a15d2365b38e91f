from __future__ import annotations

import numpy as np
import pytest

from localmem.index.fusion import ranked, reciprocal_rank_fusion


def test_fused_scores_are_sums_of_reciprocal_ranks() -> None:
    ids, scores = reciprocal_rank_fusion([np.array([7, 3]), np.array([3, 9])])
    assert ids.tolist() == [3, 7, 9]
    assert scores.tolist() == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62])


def test_nothing_fused_is_nothing() -> None:
    ids, scores = reciprocal_rank_fusion([])
    assert (ids.tolist(), scores.tolist()) == ([], [])


def test_equal_scores_are_ordered_by_id() -> None:
    assert ranked(np.array([9, 2, 5]), np.array([1.0, 1.0, 2.0]), 3).tolist() == [5, 2, 9]
