"""Policy ``fixed``: evidence reconstruction from question to answer, as events (BFR)."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date

from localmem.answering.accounting import note_forced, opened_ledger, spent, taken
from localmem.answering.answer import NOTHING_FOUND, STOPPED, conclude
from localmem.answering.question import Kind, Question, read_question
from localmem.errors import BadInput
from localmem.events import Answered, Event, Recalled
from localmem.models.catalog import ModelRole
from localmem.models.protocols import ChatModel
from localmem.reconstruction import completion
from localmem.reconstruction.by_model import ByModel
from localmem.reconstruction.complementary import KEEP
from localmem.reconstruction.evidence import found
from localmem.reconstruction.reconstruct import LEAST, Policy, Reconstruction, reconstruct
from localmem.reconstruction.records import Records
from localmem.reconstruction.support import timed
from localmem.retrieval.search import EVIDENCE, HybridSearch
from localmem.roles.trust import TRUSTED, Trust
from localmem.store import SessionStore
from localmem.store.layers import LayerStore
from localmem.store.traces import TraceStore
from localmem.types import Answer, Ledger, Retrieval

POLICY = "fixed"
_MAIN = completion.Budget()
RECORDS = _MAIN.records + LEAST
"""Messages taken as evidence at most."""
RECORDS_TO_COUNT = _MAIN.steps * KEEP + LEAST
"""The same for a question that counts: no link takes the place of one of the search's best, any of which may
be an instance."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """How to answer by reconstruction: which model takes part, and what it may cost."""

    calls: int = _MAIN.calls + 1
    """Retrieval calls at most, the first search included."""
    records: int | None = None
    """Messages taken as evidence at most; None: :data:`RECORDS`, :data:`RECORDS_TO_COUNT` for a count."""
    controller: ChatModel | None = None
    """Splits the question and selects from the first search; None: rules."""
    trust: Trust = TRUSTED
    """In the controller; without it rules decide."""
    asked_on: date | None = None
    """The day relative dates count from; None: the day of the newest message."""


FIXED = Fixed()


@dataclass(frozen=True, slots=True)
class Store:
    """The parts of a memory that an answer needs."""

    search: HybridSearch
    sessions: SessionStore
    layers: LayerStore
    traces: TraceStore


def answer(
    text: str,
    store: Store,
    fixed: Fixed,
    model: ChatModel | None,
    trust: Trust,
    cancel: threading.Event | None = None,
) -> Iterator[Event]:
    """Answer a question from memory; the last event is :class:`Answered`.

    With ``model`` None, or one that is not trusted, the answer is the rule's. Raises
    :class:`BadInput` for an empty question.
    """
    if not text.strip():
        raise BadInput("The question is empty.")
    started = time.perf_counter()
    records = Records(store.search, EVIDENCE, fixed.asked_on)
    question = replace(read_question(text), asked=records.asked_on)
    ledger = opened_ledger(store.sessions)
    ledger.layers = ("raw",)
    made = _reconstructed(question, records, store, fixed, ledger, cancel)
    gathered = found(question, [(message, "raw") for message in made.messages], records)
    spent(ledger, "search", started)
    ledger.seconds["search"] -= ledger.seconds.get("controller", 0.0)
    ledger.retrieval_calls = made.calls + 1
    taken(ledger, gathered.evidence)
    yield Recalled(gathered.evidence, made.requirements)
    stopped = cancel is not None and cancel.is_set()
    nothing = Answer(
        text=NOTHING_FOUND,
        abstained=True,
        citations=(),
        evidence=gathered.evidence,
        notes=(),
        requirements=made.requirements,
        policy=POLICY,
        stop_reason=STOPPED if stopped else made.stop_reason,
        trace=0,
        ledger=ledger,
        rounds=_retrievals(text, made, records, {message.id for message in made.messages}),
    )
    outcome = yield from conclude(nothing, question, gathered, None if stopped else model, trust, cancel)
    met = timed(made.needs, outcome.requirements, outcome.citations, records)
    outcome = replace(outcome, requirements=met)
    rounds = [_to_json(one) for one in outcome.rounds]
    yield Answered(replace(outcome, trace=store.traces.save(text, outcome, {"rounds": rounds})))


def _reconstructed(
    question: Question,
    records: Records,
    store: Store,
    fixed: Fixed,
    ledger: Ledger,
    cancel: threading.Event | None,
) -> Reconstruction:
    most = fixed.records or (RECORDS_TO_COUNT if question.kind is Kind.COUNT else RECORDS)
    by_model = None
    if fixed.controller is not None and not fixed.trust.trusted:
        ledger.fallbacks.append(f"controller: {fixed.trust.reason}")
    elif fixed.controller is not None:
        note_forced(ledger, ModelRole.CONTROLLER, fixed.trust)
        by_model = ByModel(fixed.controller, ledger, store.layers, cancel)
    return reconstruct(
        question.text,
        records,
        Policy.FIXED,
        completion.Budget(_MAIN.steps, fixed.calls - 1, most),
        most=most,
        decompose=None if by_model is None else by_model.decompose,
        select=None if by_model is None else by_model.select,
    )


def _retrievals(
    text: str, made: Reconstruction, records: Records, kept: Collection[int]
) -> tuple[Retrieval, ...]:
    """Each retrieval call, the first search included, with rows as ids of messages."""
    ids = records.columns.ids

    def named(rows: Iterable[int]) -> tuple[int, ...]:
        return tuple(i for i in (int(ids[row]) for row in rows) if i in kept)

    calls = [Retrieval("pool", text, named(made.rows[: made.composed]))]
    for one in made.rounds:
        for place, action in enumerate(one.actions):
            cue = action.cue if isinstance(action.cue, str) else int(ids[action.cue])
            new = (row for row, by in zip(one.added, one.by, strict=True) if by == place)
            calls.append(Retrieval(action.view, cue, named(new)))
    return tuple(calls)


def _to_json(call: Retrieval) -> dict[str, object]:
    """A call as a trace keeps it: a text as cue is null. It is the question, which the trace has."""
    return {"view": call.view, "cue": None if isinstance(call.cue, str) else call.cue, "new": call.new}
