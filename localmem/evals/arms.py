"""Arms: ways to choose records for a question from the same store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from localmem.disclosure.agent import Agent
from localmem.disclosure.budget import EFFORTS
from localmem.disclosure.state import LIMITS
from localmem.evals.baselines.chain import chains
from localmem.evals.baselines.cues import follow_cues
from localmem.evals.crew import NOBODY, Crew
from localmem.evals.datasets import Question
from localmem.evals.limits import Limits
from localmem.events import Answered, StepTaken
from localmem.memory import Memory
from localmem.models.catalog import ModelRole
from localmem.reconstruction.reconstruct import Policy, reconstruct
from localmem.reconstruction.records import Records
from localmem.reconstruction.residual import Matrix, train
from localmem.types import Ledger, Message

RRF_K = 60
"""The constant of reciprocal rank fusion (Cormack et al. 2009; APDMem, Appendix G)."""
RRF_DEPTH = 100
"""Length of the lists that plain RRF fuses."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What an arm may spend and use."""

    limits: Limits
    crew: Crew = NOBODY
    without: frozenset[str] = frozenset()
    """Tools that the controller may not use."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What an arm kept for a question."""

    messages: tuple[Message, ...]
    """In order of acquisition."""
    calls: int
    """Retrieval calls, the first search included."""
    completion_calls: int = 0
    """Those of them that complete a set, as the paper counts."""
    disclosed: Disclosed | None = None
    """How a controller came to it; None: there was none."""


@dataclass(frozen=True, slots=True)
class Disclosed:
    """A controller's way to its evidence."""

    sessions: tuple[int, ...]
    """Drilled, in order."""
    ledger: Ledger
    stop_reason: str


Rows = NDArray[np.int64]
Arm = Callable[[Memory, Question, Setting], Chosen]
"""An arm gets the store, the question and what it may spend and use."""
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


def _ranked(rank: Rank, memory: Memory, question: Question, setting: Setting) -> Chosen:
    records = _records(memory, question)
    rows = rank(records, question.text)
    return _named(records, rows if rank is everything else rows[: setting.limits.records], calls=1)


def _hybrid(memory: Memory, question: Question, setting: Setting) -> Chosen:
    """The search that ``localmem search`` and ``ask`` use."""
    asked_on = question.asked_at and question.asked_at.date()
    hits = memory.search(question.text, setting.limits.records, asked_on=asked_on)
    return Chosen(tuple(hit.message for hit in hits), calls=1)


def _layers(memory: Memory, question: Question, setting: Setting) -> Chosen:
    """``rag-layers``: sessions by their summaries, then their messages.

    APDMem's non-agentic RAG retrieves the best L0 sessions and opens their other layers (Table 4). Those
    turns come first whose summaries matched, then the rest, session by session. Left out: facts and notes as
    evidence; a record is a message.
    """
    matched: list[Message] = []
    rest: list[Message] = []
    for hit in memory.search_sessions([question.text]):
        turns = {turn: place for place, turn in enumerate(hit.turns)}
        messages = memory.messages(hit.session_id)
        for message in sorted(messages, key=lambda message: turns.get(message.turn, len(turns))):
            (matched if message.turn in turns else rest).append(message)
    return Chosen(tuple([*matched, *rest][: setting.limits.records]), calls=1)


def _com(memory: Memory, question: Question, setting: Setting) -> Chosen:
    records = _records(memory, question)
    return _named(records, chains(question.text, records, setting.limits.records), calls=1)


def _mragent(memory: Memory, question: Question, setting: Setting) -> Chosen:
    records = _records(memory, question)
    rows, calls = follow_cues(question.text, records, setting.limits.records)
    return _named(records, rows, calls)


def _reconstructed(policy: Policy, memory: Memory, question: Question, setting: Setting) -> Chosen:
    records = _records(memory, question)
    limits = setting.limits
    residual = _trained(memory, limits.seed) if policy is Policy.RSC and len(records) else None
    made = reconstruct(question.text, records, policy, limits.budget, keep=limits.keep, residual=residual)
    return _named(records, made.rows, made.calls + 1, made.calls)


def _agent(memory: Memory, question: Question, setting: Setting) -> Chosen:
    """Policy ``agent``; its limits are the effort ``high``, where none are given: T_max is the paper's."""
    crew, given = setting.crew, setting.limits.budget
    budget = EFFORTS["high"]
    if given is not None:
        budget = budget.but(steps=given.steps, calls=given.calls, records=given.records)
    agent = Agent(
        budget,
        controller=crew.model(ModelRole.CONTROLLER),
        trust=crew.trust(ModelRole.CONTROLLER),
        summariser=crew.model(ModelRole.SUMMARISER),
        calibrate=crew.calibrate,
        asked=question.asked_at,
        limits=replace(LIMITS, without=setting.without),
    )
    drilled: dict[int, None] = {}
    for event in memory.answer(question.text, model=None, agent=agent):
        if isinstance(event, StepTaken):
            drilled |= {one.session_id: None for call in event.step.calls for one in call.opened}
        elif isinstance(event, Answered):
            answer = event.answer
    messages = tuple(item.message for item in answer.evidence)
    disclosed = Disclosed(tuple(drilled), answer.ledger, answer.stop_reason)
    return Chosen(messages, answer.ledger.retrieval_calls, disclosed=disclosed)


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
    "agent": _agent,
}
"""By the name that ``--arm`` takes."""

ORGANISED = frozenset({"fixed", "agent"})
"""Arms whose evidence goes to the answerer as notes and a draft; that of the others goes as it is."""

UNRANKED = frozenset({"full-context"})
"""Arms whose first records are no better than their last, so that they have no ``at_k``."""


def _records(memory: Memory, question: Question) -> Records:
    return Records(memory.retrieval, asked_on=question.asked_at and question.asked_at.date())


def _named(
    records: Records, rows: Rows | list[int] | tuple[int, ...], calls: int, completing: int = 0
) -> Chosen:
    return Chosen(tuple(records.fetch(int(row) for row in rows)), calls, completing)
