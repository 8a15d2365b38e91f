"""Arms: ways to choose records for a question from the same store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from localmem.evals.baselines.chain import chains
from localmem.evals.baselines.cues import follow_cues
from localmem.evals.datasets import Question
from localmem.evals.limits import Limits
from localmem.memory import Memory
from localmem.reconstruction.reconstruct import Policy, reconstruct
from localmem.reconstruction.records import Records
from localmem.reconstruction.residual import Matrix, train

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
    """Retrieval calls, the first search included."""
    completion_calls: int = 0
    """Those of them that complete a set, as the paper counts."""


Rows = NDArray[np.int64]
Arm = Callable[[Memory, Question, Limits], Chosen]
"""An arm gets the store, the question and what it may spend."""
Rank = Callable[[Records, str], Rows]
"""Rows for a question, best first."""


def lexical(records: Records, question: str) -> Rows:
    """BM25 of single messages.

    As ``mem0-flat``: Mem0 (Chhikara et al. 2025) with "BM25-lite over the turn pool" (BFR, Appendix E),
    without its extracted facts and their updates.
    """
    return records.ordered(records.words(question))


def dense(records: Records, question: str) -> Rows:
    """Cosine of single messages.

    As ``amem-flat``: A-Mem (Xu et al. 2025) with "dense top-k over the same pool without note evolution"
    (BFR, Appendix E), so without its notes, links and their updates.
    """
    return records.ordered(records.meaning(question))


def rrf(records: Records, question: str) -> Rows:
    """BM25 and cosine of single messages, fused by reciprocal rank with equal weights: the plain hybrid.

    As ``rag-raw``: the baseline of APDMem that "retrieves directly from raw messages", its pipeline of
    Appendix G over messages in place of summaries, without keyword boost.
    """
    gains = np.zeros(len(records), np.float32)
    for order in (lexical(records, question), dense(records, question)):
        gains[order[:RRF_DEPTH]] += 1 / (RRF_K + np.arange(1, len(order[:RRF_DEPTH]) + 1))
    return records.ordered(gains)


def everything(records: Records, question: str) -> Rows:
    """``full-context``: the whole history in order; what reading everything would find."""
    return np.flatnonzero(records.allowed)


def _ranked(rank: Rank, memory: Memory, question: Question, limits: Limits) -> Chosen:
    records = _records(memory, question)
    rows = rank(records, question.text)
    return _named(records, rows if rank is everything else rows[: limits.records], calls=1)


def _hybrid(memory: Memory, question: Question, limits: Limits) -> Chosen:
    """The search that ``localmem search`` and ``ask`` use."""
    asked_on = question.asked_at and question.asked_at.date()
    hits = memory.search(question.text, limits.records, asked_on=asked_on)
    return Chosen(tuple(hit.message.external_id for hit in hits), calls=1)


def _layers(memory: Memory, question: Question, limits: Limits) -> Chosen:
    """``rag-layers``: sessions by their summaries, then their messages.

    APDMem's non-agentic RAG retrieves the best L0 sessions and opens their other layers (Table 4). Those
    turns come first whose summaries matched, then the rest, session by session. Left out: facts and notes as
    evidence; a record is a message.
    """
    matched: list[str] = []
    rest: list[str] = []
    for hit in memory.search_sessions([question.text]):
        turns = {turn: place for place, turn in enumerate(hit.turns)}
        messages = memory.messages(hit.session_id)
        for message in sorted(messages, key=lambda message: turns.get(message.turn, len(turns))):
            (matched if message.turn in turns else rest).append(message.external_id)
    return Chosen(tuple([*matched, *rest][: limits.records]), calls=1)


def _com(memory: Memory, question: Question, limits: Limits) -> Chosen:
    records = _records(memory, question)
    return _named(records, chains(question.text, records, limits.records), calls=1)


def _mragent(memory: Memory, question: Question, limits: Limits) -> Chosen:
    records = _records(memory, question)
    rows, calls = follow_cues(question.text, records, limits.records)
    return _named(records, rows, calls)


def _reconstructed(policy: Policy, memory: Memory, question: Question, limits: Limits) -> Chosen:
    records = _records(memory, question)
    residual = _trained(memory, limits.seed) if policy is Policy.RSC and len(records) else None
    made = reconstruct(question.text, records, policy, limits.budget, keep=limits.keep, residual=residual)
    return _named(records, made.rows, made.calls + 1, made.calls)


@lru_cache(maxsize=1)
def _trained(memory: Memory, seed: int) -> Matrix:
    """The map of ``rsc``, made once for the store that is asked."""
    return train(Records(memory.retrieval), seed)


ARMS: dict[str, Arm] = {
    "bm25": partial(_ranked, lexical),
    "dense": partial(_ranked, dense),
    "rrf": partial(_ranked, rrf),
    "hybrid": _hybrid,
    "mem0-flat": partial(_ranked, lexical),
    "amem-flat": partial(_ranked, dense),
    "com-flat": _com,
    "mragent-flat": _mragent,
    "rag-raw": partial(_ranked, rrf),
    "rag-layers": _layers,
    "full-context": partial(_ranked, everything),
    **{policy.value: partial(_reconstructed, policy) for policy in Policy},
}
"""By the name that ``--arm`` takes."""

UNRANKED = frozenset({"full-context"})
"""Arms whose first records are no better than their last, so that they have no ``at_k``."""


def _records(memory: Memory, question: Question) -> Records:
    return Records(memory.retrieval, asked_on=question.asked_at and question.asked_at.date())


def _named(
    records: Records, rows: Rows | list[int] | tuple[int, ...], calls: int, completing: int = 0
) -> Chosen:
    found = records.fetch(int(row) for row in rows)
    return Chosen(tuple(message.external_id for message in found), calls, completing)
