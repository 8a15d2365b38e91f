"""Arms: ways to choose records for a question from the same store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localmem.evals.datasets import Question
from localmem.index.lexical import Scores, bm25
from localmem.index.mirror import View
from localmem.index.tokens import query_terms
from localmem.memory import Memory

RRF_K = 60
"""The constant of reciprocal rank fusion (Cormack et al. 2009; APDMem, Appendix G)."""
RRF_DEPTH = 100
"""Length of the lists that plain RRF fuses."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What an arm kept for a question."""

    external_ids: tuple[str, ...]
    """In order of acquisition."""
    calls: int
    """Retrieval calls."""


Rows = NDArray[np.int64]
Arm = Callable[[Memory, Question, int], Chosen]
"""An arm gets the store, the question and how many records it may keep."""


def _bm25(memory: Memory, question: Question, records: int) -> Chosen:
    view = memory.retrieval.view()
    return _named(memory, view, _lexical_order(memory, view, question), records)


def _dense(memory: Memory, question: Question, records: int) -> Chosen:
    view = memory.retrieval.view()
    return _named(memory, view, _dense_order(memory, view, question), records)


def _rrf(memory: Memory, question: Question, records: int) -> Chosen:
    """BM25 and cosine of single messages, fused by reciprocal rank with equal weights: the plain hybrid."""
    view = memory.retrieval.view()
    gains = np.zeros(len(view.columns), np.float32)
    for order in (_lexical_order(memory, view, question), _dense_order(memory, view, question)):
        gains[order[:RRF_DEPTH]] += 1 / (RRF_K + np.arange(1, len(order[:RRF_DEPTH]) + 1))
    return _named(memory, view, _order(gains), records)


def _hybrid(memory: Memory, question: Question, records: int) -> Chosen:
    """The search that ``localmem search`` and ``ask`` use."""
    hits = memory.search(question.text, records, asked_on=question.asked_at and question.asked_at.date())
    return Chosen(tuple(hit.message.external_id for hit in hits), calls=1)


ARMS: dict[str, Arm] = {"bm25": _bm25, "dense": _dense, "rrf": _rrf, "hybrid": _hybrid}
"""By the name that ``--arm`` takes."""


def _lexical_order(memory: Memory, view: View, question: Question) -> Rows:
    matches = memory.retrieval.matches(view, query_terms(question.text))
    return _order(bm25(view.columns, matches))


def _dense_order(memory: Memory, view: View, question: Question) -> Rows:
    return _order(memory.retrieval.similarity(view, question.text).message)


def _order(scores: Scores) -> Rows:
    """Rows with a positive score, best first; equal ones by id."""
    rows = np.flatnonzero(scores > 0)
    return rows[np.lexsort((rows, -scores[rows]))]


def _named(memory: Memory, view: View, rows: Rows, records: int) -> Chosen:
    found = memory.retrieval.messages(view, rows[:records])
    return Chosen(tuple(message.external_id for _, message in found), calls=1)
