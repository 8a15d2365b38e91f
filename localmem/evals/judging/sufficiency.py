"""LLM-Suff@Set: does a set of evidence support the whole reference answer (BFR, Appendices M and O)?

Judges see the question, the reference and the records' text, in an order of chance: no arm, no budget, no
answer, no ids. Two of them judge apart; where they differ or one gave nothing, a third decides.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from localmem.errors import BadInput, ModelError
from localmem.evals.statistics.agreement import kappa
from localmem.models.catalog import ModelRole
from localmem.models.protocols import ChatModel
from localmem.roles.judge import neutral
from localmem.roles.task import Task, call

SECONDS = 300.0
"""Longest time for one label: a set of 60 records is a long prompt."""

Label = Literal["sufficient", "insufficient", "uncertain"]

PARTS = Task("suff_parts", ModelRole.JUDGE, max_tokens=24)
"""Looks for each part of the reference in the evidence."""
READER = Task("suff_reader", ModelRole.JUDGE, max_tokens=24)
"""Answers from the evidence and compares with the reference."""
ADJUDICATOR = Task("suff_adjudicator", ModelRole.JUDGE, max_tokens=24)
"""Decides where the two differ."""


class _Labelled(BaseModel):
    label: Label


@dataclass(frozen=True, slots=True)
class Seat:
    """A judge: a prompt and the model that reads it."""

    task: Task
    model: ChatModel

    @property
    def name(self) -> str:
        """In logs: the prompt's name and the model's."""
        return f"{self.task.name} {self.model.name}"


@dataclass(frozen=True, slots=True)
class Sufficiency:
    """The label of an evidence set."""

    verdict: Label | None
    """None: missing. It and ``uncertain`` are no part of a rate."""
    by: tuple[str, ...]
    """Names of the judges that were asked, ``rule`` for a set without records."""

    def to_json(self) -> dict[str, Any]:
        """As a log has it."""
        return {"verdict": self.verdict, "by": list(self.by)}


class Panel:
    """Two judges and an adjudicator, which differ in prompt or model.

    Each distinct (question, reference, evidence set) is judged once, whichever arms found it and in whatever
    order. ``seed`` shuffles the records. Raises :class:`BadInput` when two seats are the same.
    """

    def __init__(self, first: Seat, second: Seat, adjudicator: Seat, seed: int = 0) -> None:
        seats = (first, second, adjudicator)
        if len({(seat.task.version, seat.model.fingerprint) for seat in seats}) < len(seats):
            raise BadInput(
                "Two sufficiency judges have the same prompt and model: give one another of either."
            )
        self._seats = seats
        self._seed = seed
        self._judged: dict[str, Sufficiency] = {}
        self._pairs: list[tuple[Label, Label]] = []

    @classmethod
    def of(cls, model: ChatModel, seed: int = 0) -> Panel:
        """Three prompts for one model."""
        return cls(Seat(PARTS, model), Seat(READER, model), Seat(ADJUDICATOR, model), seed)

    def judge(self, question: str, reference: str, evidence: Iterable[str]) -> Sufficiency:
        """Label the texts of a set of records."""
        texts = sorted(set(evidence))
        key = evidence_hash(question, reference, texts)
        if key not in self._judged:
            self._judged[key] = self._labelled(key, question, reference, texts)
        return self._judged[key]

    def prompts(self) -> dict[str, str]:
        """``sha256:...`` by name of the prompt."""
        return {seat.task.name: seat.task.version for seat in self._seats}

    def lines(self) -> list[str]:
        """For people to read: how far the two judges agree."""
        agreed = sum(one == other for one, other in self._pairs)
        beyond = kappa([one for one, _ in self._pairs], [other for _, other in self._pairs])
        told = "undefined" if beyond is None else f"{beyond:.2f}"
        return [
            f"Suff@Set: {len(self._judged)} distinct evidence sets; two judges agree on {agreed} of "
            f"{len(self._pairs)}, kappa {told}"
        ]

    def _labelled(self, key: str, question: str, reference: str, texts: list[str]) -> Sufficiency:
        if not texts:
            return Sufficiency("insufficient", ("rule",))
        random.Random(f"{self._seed} {key}").shuffle(texts)
        material = {
            "question": neutral(question),
            "reference": neutral(reference),
            "evidence": "\n".join(f"- {neutral(text)}" for text in texts),
        }
        first, second, adjudicator = self._seats
        asked = (first.name, second.name)
        one, other = _label(first, material), _label(second, material)
        if one is not None and other is not None:
            self._pairs.append((one, other))
        if one == other:
            return Sufficiency(one, asked)
        return Sufficiency(_label(adjudicator, material), (*asked, adjudicator.name))


def evidence_hash(question: str, reference: str, texts: Sequence[str]) -> str:
    """``sha256:...`` of a question and a set of evidence, in canonical JSON."""
    canonical = json.dumps([question, reference, sorted(set(texts))], separators=(",", ":"))
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"


def _label(seat: Seat, material: dict[str, str]) -> Label | None:
    """A judge's label; None when it gave none. A set too long for its window is never cut."""
    try:
        return call(seat.task, seat.model, _Labelled, cancel=None, deadline=SECONDS, **material).value.label
    except ModelError:
        return None
