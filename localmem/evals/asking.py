"""Ask a conversation's questions of a store made for it: one line of the log for each."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localmem.disclosure.budget import Budget, Meter
from localmem.disclosure.metered import Metered
from localmem.entries import Layer
from localmem.errors import BadInput
from localmem.evals.answerer import PROMPT_TOKENS, Answerer, Material, line_of, of_notes, of_records, organise
from localmem.evals.arms import ARMS, ORGANISED, Chosen, Setting
from localmem.evals.crew import NOBODY, Crew
from localmem.evals.datasets import Case, Question
from localmem.evals.judging import Judge, Panel
from localmem.evals.limits import Limits
from localmem.evals.log import Line
from localmem.evals.peers import PEERS, Peer, filled
from localmem.memory import Memory
from localmem.models.catalog import ModelRole
from localmem.models.protocols import Embedder, Sampling
from localmem.types import Ledger, Message

NO_LIMIT = Budget(steps=0, calls=0, records=0, model_tokens=10**12, seconds=1e9)
"""For what is done before any question is asked."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What an evaluation works with; made where the questions are asked."""

    embedder: Embedder
    crew: Crew = NOBODY
    panel: Panel | None = None
    """Judges whether evidence suffices; None: nobody does."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How questions are asked. It can be sent to another process."""

    arm: str
    limits: Limits
    without: frozenset[str] = frozenset()
    """Tools of the controller, ``notes`` or ``draft``."""
    warm: bool = False
    """Whether all layers are made before the first question (APDMem: warm), or when they are read."""
    answers: bool = False
    """Whether the answerer words answers and the judge marks them."""
    protocol: str = "generous"
    prompt_tokens: int = PROMPT_TOKENS
    sampling: Sampling | None = None
    """Of the answerer."""
    replay: Mapping[str, Sequence[str]] | None = None
    """Evidence of another run by question, as external ids, in place of the arm's own search."""


def ask_case(plan: Plan, case: Case, questions: Sequence[Question], resources: Resources) -> Iterator[Line]:
    """Yield ``{"store": ...}``, what the store cost, then the result of each question."""
    with (
        tempfile.TemporaryDirectory(prefix="localmem-eval-") as folder,
        Memory(Path(folder) / "memory.db", resources.embedder) as memory,
        _peer(plan, case, resources) as peer,
    ):
        asker = _Asker(plan, case, memory, resources, peer)
        yield {"store": asker.prepare()}
        for question in questions:
            yield asker.ask(question)


def _peer(plan: Plan, case: Case, resources: Resources) -> AbstractContextManager[Peer | None]:
    """Somebody else's store with the same messages, where the arm is one; filling it is in no figure."""
    if plan.arm not in PEERS or plan.replay is not None:
        return nullcontext()
    return filled(plan.arm, case.sessions, resources.embedder)


class _Asker:
    def __init__(
        self, plan: Plan, case: Case, memory: Memory, resources: Resources, peer: Peer | None
    ) -> None:
        crew = resources.crew
        self._peer = peer
        self._panel = resources.panel if plan.answers else None
        self._plan = plan
        self._case = case
        self._memory = memory
        self._crew = crew
        self._setting = Setting(plan.limits, crew, plan.without - {"notes", "draft"})
        answerer = crew.members.get(ModelRole.ANSWERER) if plan.answers else None
        self._answerer = (
            None if answerer is None else Answerer(answerer.model, plan.prompt_tokens, plan.sampling)
        )
        self._judge = Judge(plan.protocol, crew.model(ModelRole.JUDGE)) if plan.answers else None
        self._by_id: dict[str, Message] = {}
        self._session: dict[int, str] = {}

    def prepare(self) -> dict[str, Any]:
        """Fill the store; what that cost, offline (APDMem 4.2)."""
        started = time.perf_counter()
        memory, ledger = self._memory, Ledger()
        for session in self._case.sessions:
            memory.add(session)
        memory.wait_embedded()
        if self._plan.warm:
            model = self._crew.model(ModelRole.SUMMARISER)
            metered = None if model is None else Metered(model, Meter(NO_LIMIT, ledger), None)
            for layer in (Layer.SUMMARY, Layer.FACTS, Layer.NOTES):
                for _ in memory.builder(metered).build(layer):
                    pass
                if metered is not None:  # where the model failed the rules stand in, as they do on first read
                    for _ in memory.builder(None).build(layer):
                        pass
            memory.wait_embedded()
        self._session = {session.id: session.external_id for session in memory.sessions()}
        self._by_id = {m.external_id: m for session in self._session for m in memory.messages(session)}
        return {
            "source": self._case.questions[0].source,
            "sessions": len(self._session),
            "messages": len(self._by_id),
            "seconds": round(time.perf_counter() - started, 3),
            "layers": "warm" if self._plan.warm else "cold",
            "model_tokens": _tokens(ledger),
        }

    def ask(self, question: Question) -> Line:
        """One question: its evidence, and with models an answer and a verdict."""
        started = time.perf_counter()
        chosen = self._chosen(question)
        seconds = time.perf_counter() - started
        ledger = chosen.disclosed.ledger if chosen.disclosed else Ledger()
        answer = None
        if self._answerer is not None:
            answer = self._answerer.answer(question, self._material(question, chosen))
        return {
            "id": question.id,
            "source": question.source,
            "question": question.text,
            "category": question.category,
            "reference": question.reference,
            "abstain": question.abstain,
            "gold": sorted(question.gold),
            "gold_sessions": sorted(question.gold_sessions),
            "kept": [message.external_id for message in chosen.messages],
            "opened": self._opened(chosen),
            "calls": chosen.calls,
            "completion_calls": chosen.completion_calls,
            "messages": len(self._by_id),
            "sessions": len(self._session),
            "depth": self._depth(chosen),
            "steps": chosen.disclosed and ledger.steps,
            "stop_reason": chosen.disclosed and chosen.disclosed.stop_reason,
            "seconds": round(seconds, 6),
            "online": {
                **{f"tokens_{name}": count for name, count in _tokens(ledger).items()},
                "calls": ledger.model_calls,
                "seconds": round(seconds, 6),
            },
            "answer": answer,
            "verdict": self._verdict(question, answer),
            "suff": self._sufficiency(question, chosen),
        }

    def _chosen(self, question: Question) -> Chosen:
        replay = self._plan.replay
        if replay is None and self._peer is not None:
            found = self._peer.search(question.text, self._plan.limits.records)
            return Chosen(tuple(self._by_id[external] for external in found), calls=1)
        if replay is None:
            return ARMS[self._plan.arm](self._memory, question, self._setting)
        if question.id not in replay:
            raise BadInput(f"The run that evidence is taken from has no question {question.id}.")
        return Chosen(tuple(self._by_id[external] for external in replay[question.id]), calls=0)

    def _material(self, question: Question, chosen: Chosen) -> Material | None:
        """What the answerer reads: notes and draft of the arms that organise, else the records."""
        messages, arm, without = chosen.messages, self._plan.arm, self._plan.without
        if arm not in ORGANISED or without >= {"notes", "draft"}:
            return of_records(messages, newest=arm == "full-context")
        organised = organise(self._memory, question, messages)
        if organised is None:
            return None
        if "notes" in without:
            return of_records(messages, hint=organised.hint)
        return of_notes(organised, draft="draft" not in without)

    def _verdict(self, question: Question, answer: Mapping[str, Any] | None) -> dict[str, Any] | None:
        if self._judge is None or answer is None or answer["text"] is None:
            return None
        verdict = self._judge.verdict(
            question.text, question.category, question.reference, question.abstain, answer["text"]
        )
        return verdict.to_json()

    def _sufficiency(self, question: Question, chosen: Chosen) -> dict[str, Any] | None:
        if self._panel is None or question.abstain:
            return None
        evidence = map(line_of, chosen.messages)
        return self._panel.judge(question.text, question.reference, evidence).to_json()

    def _opened(self, chosen: Chosen) -> list[str]:
        ids = chosen.disclosed.sessions if chosen.disclosed else (m.session_id for m in chosen.messages)
        return [self._session[i] for i in dict.fromkeys(ids)]

    def _depth(self, chosen: Chosen) -> dict[str, int]:
        """Sessions by the finest layer they were opened at; what no controller opened was read as it is."""
        if chosen.disclosed:
            return dict(chosen.disclosed.ledger.depth)
        return {"raw": len({message.session_id for message in chosen.messages})}


def _tokens(ledger: Ledger) -> dict[str, int]:
    return {"read": ledger.tokens_read, "reused": ledger.tokens_reused, "written": ledger.tokens_written}
