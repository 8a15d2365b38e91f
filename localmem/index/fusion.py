"""Rank fusion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from localmem.index.postings import Ids

RRF_K = 60
"""The constant of reciprocal rank fusion (Cormack et al. 2009)."""


def ranked(ids: Ids, scores: NDArray[np.float64], depth: int) -> Ids:
    """The ``depth`` best ids, best first; equal scores by id."""
    return ids[np.lexsort((ids, -scores))[:depth]]


def reciprocal_rank_fusion(lists: Sequence[Ids], k: int = RRF_K) -> tuple[Ids, NDArray[np.float64]]:
    """Fuse ranked lists with equal weights: score(d) = sum over lists of 1 / (k + rank of d).

    Returns ids ascending and their scores. APDMem, Appendix G.
    """
    if not lists:
        return np.empty(0, np.int64), np.empty(0)
    ids, where = np.unique(np.concatenate(lists), return_inverse=True)
    gains = np.concatenate([1.0 / (k + np.arange(1, len(ranking) + 1)) for ranking in lists])
    return ids.astype(np.int64), np.bincount(where, weights=gains, minlength=len(ids)).astype(np.float64)
