"""The judge of an evaluation: a rule where one is sure, else a model, else no verdict."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from localmem.errors import BadInput, ModelError
from localmem.evals.judging.protocol import PROTOCOLS, criterion_for
from localmem.evals.judging.rules import Ruling, by_rule
from localmem.models.protocols import ChatModel
from localmem.roles.judge import JUDGE, Criterion, judge

SECONDS = 120.0
"""Longest time for one verdict; a slower one is unscored."""

Label = Literal["CORRECT", "WRONG"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was decided of an answer."""

    verdict: Label | None
    """None: unscored, which is not wrong."""
    by: Literal["rule", "model"] | None
    """None: there was no model to ask."""
    reason: str

    def to_json(self) -> dict[str, str | None]:
        """As a log has it."""
        return {"verdict": self.verdict, "by": self.by, "reason": self.reason}


class Judge:
    """Judges by ``protocol`` with ``model``; None: what no rule decides is unscored.

    Temperature is 0, so the same answer to the same question is judged once, whoever gave it. Raises
    :class:`BadInput` for an unknown protocol.
    """

    def __init__(self, protocol: str, model: ChatModel | None) -> None:
        if protocol not in PROTOCOLS:
            raise BadInput(f"There is no judge protocol {protocol!r}. Protocols: {', '.join(PROTOCOLS)}.")
        self.protocol = protocol
        self.model = model
        self._seen: dict[tuple[Criterion, str, str, str], Verdict] = {}

    def verdict(self, question: str, category: str, reference: str, abstain: bool, answer: str) -> Verdict:
        """Judge ``answer``. ``abstain``: the right answer is that memory does not say."""
        ruling = self.rule(question, category, reference, abstain, answer)
        if ruling is not None:
            right, reason = ruling
            return Verdict("CORRECT" if right else "WRONG", "rule", reason)
        return self.by_model(question, category, reference, abstain, answer)

    def rule(self, question: str, category: str, reference: str, abstain: bool, answer: str) -> Ruling | None:
        """What a rule says of it; None: it cannot tell."""
        criterion = criterion_for(self.protocol, category, abstain)
        return by_rule(question, reference, abstain, answer, criterion)

    def by_model(self, question: str, category: str, reference: str, abstain: bool, answer: str) -> Verdict:
        """What the model says of it, whatever a rule would. A failed call is no verdict and is not kept."""
        if self.model is None:
            return Verdict(None, None, "no rule decides it, and no model is trusted to judge")
        criterion = criterion_for(self.protocol, category, abstain)
        key = (criterion, question, reference, answer)
        if key not in self._seen:
            try:
                reply = judge(self.model, question, reference, answer, criterion, deadline=SECONDS)
            except ModelError as error:
                return Verdict(None, "model", str(error))
            self._seen[key] = Verdict(reply.value.verdict, "model", f"criterion {criterion}")
        return self._seen[key]

    def prompts(self) -> dict[str, str]:
        """``sha256:...`` of the prompt and of every criterion that the protocol may use."""
        criteria = sorted(_CRITERIA[self.protocol])
        hashes = {f"judge.{c}": f"sha256:{hashlib.sha256(c.text.encode()).hexdigest()}" for c in criteria}
        return {"judge": JUDGE.version, **hashes}


_CRITERIA = {
    "longmemeval": frozenset(Criterion) - {Criterion.GENEROUS},
    "generous": frozenset((Criterion.GENEROUS, Criterion.PREFERENCE, Criterion.ABSTENTION)),
}
