"""What the probes found, kept in the home by model hash, and which roles a model is trusted with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from localmem.models.catalog import ModelRole
from localmem.models.jsonfile import read_json, write_json
from localmem.probing.items import PROBED, version
from localmem.roles.trust import Trust

THRESHOLDS = {
    ModelRole.SUMMARISER: 0.75,
    ModelRole.CONTROLLER: 0.85,
    ModelRole.ANSWERER: 0.6,
    ModelRole.JUDGE: 0.9,
}
"""Least share of the items that a role needs.

Summariser: each summary is checked against its messages and an extractive one stands in, so one in four
may fail before the idle time is wasted. Controller: a wrong choice costs a step and its tokens, and several
are made for each question. Answerer: each answer is checked and the rule's stands in; below this the
reader waits for nothing about every other time. Judge: its errors are errors of the reported figure, and
differences of a few points are what an evaluation is for.
"""
_FILE = "probes.json"


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one role's probe."""

    passed: int
    items: int
    seconds: float

    @property
    def score(self) -> float:
        """Share of items passed, 0 to 1."""
        return self.passed / self.items


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a model serves a role, or its rule does."""

    role: ModelRole
    threshold: float
    result: Result | None
    """None: not probed, or with other items or prompts than today's."""
    forced: bool

    @property
    def trusted(self) -> bool:
        """The model serves. One that was not probed may word answers, which are checked; nothing else."""
        if self.forced:
            return True
        if self.result is None:
            return self.role is ModelRole.ANSWERER
        return self.result.score >= self.threshold

    @property
    def reason(self) -> str:
        """Why, in words for a ledger or a table."""
        if self.result is None:
            why = "not probed"
        else:
            side = "reaches" if self.result.score >= self.threshold else "is below"
            why = f"its probe's {self.result.score:.2f} {side} {self.threshold:.2f}"
        return f"forced, {why}" if self.forced else why

    @property
    def trust(self) -> Trust:
        """The same in short."""
        return Trust(self.trusted, self.forced, self.reason)


class Results:
    """The file of results in a home."""

    def __init__(self, home: Path) -> None:
        self._path = home / _FILE

    def save(self, fingerprint: str, role: ModelRole, result: Result) -> None:
        """Keep a result, in place of an earlier one of the same model and role."""
        known = read_json(self._path)
        known.setdefault(fingerprint, {})[role.value] = {
            "passed": result.passed,
            "items": result.items,
            "seconds": round(result.seconds, 1),
            "version": version(role),
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_json(self._path, known)

    def standing(self, fingerprint: str, role: ModelRole, *, forced: bool = False) -> Standing:
        """How a model stands in a role. The notes go by the controller's probe (one backbone, APDMem 3.3)."""
        probed = ModelRole.CONTROLLER if role is ModelRole.NOTES else role
        if probed not in PROBED:
            raise ValueError(f"{role} is not a chat model's role")
        kept = read_json(self._path).get(fingerprint, {}).get(probed.value)
        result = None
        if kept is not None and kept["version"] == version(probed):
            result = Result(kept["passed"], kept["items"], kept["seconds"])
        return Standing(role, THRESHOLDS[probed], result, forced)
