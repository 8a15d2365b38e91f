"""Policy ``agent``: progressive disclosure from question to answer, as events (APDMem 3.2, 3.3)."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from localmem.answering.accounting import note_forced, opened_ledger
from localmem.answering.answer import NOTHING_FOUND, STOPPED, conclude
from localmem.answering.prompting import ANSWER
from localmem.answering.question import Question, read_question
from localmem.disclosure import tracing
from localmem.disclosure.budget import EFFORTS, Budget, Meter
from localmem.disclosure.by_model import ByModel
from localmem.disclosure.controller import Controller, Decide
from localmem.disclosure.coverage import Coverage
from localmem.disclosure.metered import Calibrate, Metered
from localmem.disclosure.reading import Reader
from localmem.disclosure.reflection import NoveltyReflection
from localmem.disclosure.sessions import FindSessions, FoundSession
from localmem.disclosure.state import LIMITS, Limits, State
from localmem.disclosure.tools import Desk
from localmem.disclosure.twin import Twin
from localmem.errors import BadInput
from localmem.events import Answered, Event, Recalled, StepTaken
from localmem.models.catalog import ModelRole
from localmem.models.protocols import ChatModel
from localmem.reconstruction.records import Records
from localmem.retrieval.search import EVIDENCE, HybridSearch
from localmem.roles.trust import TRUSTED, Trust
from localmem.steps import DEPTH
from localmem.store import Database, SessionStore
from localmem.store.traces import StoredTrace, TraceStore
from localmem.types import Answer

POLICY = "agent"
ANSWER_PROMPT = 700
"""Tokens of rules, examples and notes that wording an answer reads; set aside from the budget."""


@dataclass(frozen=True, slots=True)
class Agent:
    """How to answer with a controller: which models take part, and what it may cost."""

    budget: Budget = EFFORTS["medium"]
    controller: ChatModel | None = None
    """None: its deterministic twin."""
    trust: Trust = TRUSTED
    """In the controller's model; without it the twin decides."""
    summariser: ChatModel | None = None
    """Makes facts and notes that are missing; None: rules."""
    calibrate: Calibrate | None = None
    """Predicts the seconds of a model's calls; None: only deadlines hold them."""
    asked: date | datetime | None = None
    """When the question is asked; None: on the day of the newest message."""
    decide: Decide | None = None
    """Another controller in place of model and twin."""
    without_session: int | None = None
    """Id of a session that is not searched: the chat in which the question was asked."""
    limits: Limits = LIMITS
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True)
class Store:
    """The parts of a memory that an answer needs."""

    database: Database
    search: HybridSearch
    sessions: SessionStore
    traces: TraceStore
    find: FindSessions


def disclose(
    question: str | StoredTrace,
    store: Store,
    agent: Agent,
    model: ChatModel | None,
    trust: Trust,
    cancel: threading.Event | None = None,
) -> Iterator[Event]:
    """Answer a question, or go on with the answer that a trace was kept of; the last event is ``Answered``.

    ``model`` words the answer. Raises :class:`BadInput` for an empty question and for a trace of another
    policy.
    """
    saved = question if isinstance(question, StoredTrace) else None
    text = saved.question if saved else str(question)
    if not text.strip():
        raise BadInput("The question is empty.")
    if saved and saved.body["policy"] != POLICY:
        raise BadInput(f"Trace {saved.id} is of policy {saved.body['policy']}; only {POLICY} can be resumed.")
    run = _Run(read_question(text), saved, store, agent, model, cancel)
    yield from run.steps()
    yield from run.answer(trust)


class _Run:
    """One answer under way."""

    def __init__(
        self,
        question: Question,
        saved: StoredTrace | None,
        store: Store,
        agent: Agent,
        model: ChatModel | None,
        cancel: threading.Event | None,
    ) -> None:
        self._store = store
        self._agent = agent
        self._cancel = cancel
        self._ledger = ledger = opened_ledger(store.sessions)
        self._meter = meter = Meter(agent.budget, ledger, agent.clock)
        self._model = None if model is None else self._metered(model, counts=False)
        if self._model is not None:
            meter.keep(self._model.predict(ANSWER_PROMPT, ANSWER.max_tokens))
        asked = tracing.day_or_time(saved.body["asked"]) if saved else agent.asked
        day = asked.date() if isinstance(asked, datetime) else asked
        records = Records(store.search, EVIDENCE, day)
        self._question = question = replace(question, asked=records.asked_on)
        asked = asked or records.asked_on or date.today()
        self._state = State(question, asked, agent.limits)
        self._coverage = Coverage(question, records, store.sessions)
        summariser = None if agent.summariser is None else self._metered(agent.summariser)
        self._reader = Reader(store.database, self._coverage.relevance, ledger, summariser, cancel)
        self._controller = self._controlled(records)
        self._earlier: list[StepTaken] = []
        if saved is None:
            self._trace = store.traces.open(question.text, {"policy": POLICY, "asked": asked.isoformat()})
        else:
            self._trace = saved.id
            steps = tracing.resume(self._state, ledger, saved.steps, self._reader)
            self._earlier = [StepTaken(step, replayed=True) for step in steps]

    def steps(self) -> Iterator[Event]:
        """Run the controller; each step is saved before it is told, and before the next begins."""
        yield from self._earlier
        for step in self._controller.run():
            body = tracing.step_to_json(step, self._question.text, self._ledger)
            self._store.traces.add_step(self._trace, step.number, body)
            yield StepTaken(step)

    def answer(self, trust: Trust) -> Iterator[Event]:
        """Draft, notes and answer from the evidence (APDMem 3.3)."""
        self._meter.release()
        found = self._coverage.gathered(self._state.evidence)
        self._enter_what_was_opened(len(found.evidence))
        needs = self._coverage.requirements(self._state.evidence)
        yield Recalled(found.evidence, needs)
        reason = self._controller.stop_reason
        nothing = Answer(
            text=NOTHING_FOUND,
            abstained=True,
            citations=(),
            evidence=found.evidence,
            notes=(),
            requirements=needs,
            policy=POLICY,
            stop_reason=reason,
            trace=self._trace,
            ledger=self._ledger,
        )
        model = None if reason == STOPPED else self._model
        made = yield from conclude(nothing, self._question, found, model, trust, self._cancel)
        made = replace(made, requirements=self._coverage.timed(made.requirements, made.citations))
        limit, asked = self._agent.budget.steps, self._state.asked.isoformat()
        self._store.traces.finish(self._trace, made, {"asked": asked, "limit": limit})
        yield Answered(made)

    def _find(
        self,
        queries: Sequence[str],
        limit: int = 20,
        after: datetime | None = None,
        before: datetime | None = None,
    ) -> Sequence[FoundSession]:
        """What the search finds, but for the session that is left out."""
        left_out = self._agent.without_session
        if left_out is None:
            return self._store.find(queries, limit, after, before)
        found = self._store.find(queries, limit + 1, after, before)
        return [one for one in found if one.session_id != left_out][:limit]

    def _controlled(self, records: Records) -> Controller:
        twin = Twin(self._coverage, records.columns.names)
        reflect = NoveltyReflection(self._coverage)
        decide, decompose = self._agent.decide or twin, twin.decompose
        desk = Desk(self._find, self._reader, decompose, reflect, self._meter)
        agent, model = self._agent, self._agent.controller
        if model is not None and not agent.trust.trusted:
            self._ledger.fallbacks.append(f"controller: {agent.trust.reason}")
        elif model is not None and agent.decide is None:
            note_forced(self._ledger, ModelRole.CONTROLLER, agent.trust)
            decide = by_model = ByModel(
                self._metered(model),
                self._ledger,
                twin,
                twin.decompose,
                reflect,
                self._reader.relevance,
                self._cancel,
            )
            desk = Desk(self._find, self._reader, by_model.decompose, by_model.reflect, self._meter)
        averages = self._store.traces.seconds_by_tool()
        return Controller(self._state, decide, desk, averages, self._cancel)

    def _metered(self, model: ChatModel, *, counts: bool = True) -> Metered:
        calibration = self._agent.calibrate(model) if self._agent.calibrate else None
        return Metered(model, self._meter, calibration, counts=counts)

    def _enter_what_was_opened(self, records: int) -> None:
        drilled = self._state.drilled
        finest = Counter(max(levels, key=DEPTH.index).value for levels in drilled.values())
        opened = {level.value for levels in drilled.values() for level in levels}
        ledger = self._ledger
        ledger.records = records
        ledger.sessions_opened = len(drilled)
        ledger.layers = tuple(level.value for level in DEPTH if level.value in opened)
        ledger.depth = {level.value: finest[level.value] for level in DEPTH if finest[level.value]}
