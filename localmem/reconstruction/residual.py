"""RSC: learned residual set completion (BFR, Appendix L): a query vector for what the evidence lacks.

The paper names no training signal. Ours needs no annotation: three messages that follow each other in a
session stand for question, evidence held and evidence missing. A ridge regression learns to make the third
vector of the first two, from the very store that is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localmem.reconstruction.completion import Action, State
from localmem.reconstruction.records import Records
from localmem.reconstruction.schedules import TEXT_KEEP

EXAMPLES = 1000
"""Triples trained on at most, drawn with the seed."""
PENALTY = 10.0
"""Of the ridge regression, on vectors of length 1."""
CALLS = 3
"""Retrieval calls, as in the paper's comparison."""

Matrix = NDArray[np.float32]


def train(records: Records, seed: int, examples: int = EXAMPLES) -> Matrix:
    """The map from (question, mean of the evidence) to the residual query, shape (2 d, d)."""
    after = records.columns.after.astype(np.int64)
    first = np.flatnonzero(records.allowed & (after >= 0))
    first = first[after[after[first]] >= 0]
    if len(first) > examples:
        first = np.sort(np.random.default_rng(seed).choice(first, examples, replace=False))
    second = after[first]
    given = np.hstack([records.vectors(first), records.vectors(second)])
    wanted = records.vectors(after[second])
    gram = given.T @ given + np.float32(PENALTY) * np.eye(given.shape[1], dtype=np.float32)
    return np.asarray(np.linalg.solve(gram, given.T @ wanted), np.float32)


def residual(weights: Matrix, question: Matrix, evidence: Matrix) -> Matrix:
    """The residual query, of length 1: the question's vector plus what the map expects."""
    mean = evidence.mean(axis=0) if len(evidence) else np.zeros_like(question)
    made = question + np.concatenate([question, mean]) @ weights
    return np.asarray(made / max(float(np.linalg.norm(made)), 1e-9), np.float32)


@dataclass(frozen=True, slots=True)
class Residual:
    """The residual query again and again, made anew from the evidence of each round."""

    question: str
    keep: int = TEXT_KEEP

    def actions(self, state: State) -> Sequence[Action]:
        """One call a round."""
        return [Action("residual", self.question)]

    def retain(self, state: State, found: Mapping[int, Action]) -> Sequence[int]:
        """In order of retrieval."""
        return list(found)

    def enough(self, state: State) -> bool:
        """Never: the budget ends it."""
        return False


@dataclass(frozen=True, slots=True)
class ResidualView:
    """The view of :class:`Residual`: records along the residual query."""

    weights: Matrix

    def __call__(
        self, records: Records, question: str, cue: str | int, evidence: Sequence[int]
    ) -> NDArray[np.int64]:
        """Rows by inner product with the query, best first."""
        held = records.vectors(np.array(evidence, np.int64))
        return records.ordered(records.along(residual(self.weights, records.vector(str(cue)), held)))
