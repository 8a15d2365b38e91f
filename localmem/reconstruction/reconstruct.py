"""Both stages for one question: the evidence, what it meets, and how it was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from localmem.reconstruction.complementary import Complementary
from localmem.reconstruction.completion import Budget, Round, Schedule, complete
from localmem.reconstruction.compose import by_links, by_overlap, compose
from localmem.reconstruction.notes import pool
from localmem.reconstruction.records import Records
from localmem.reconstruction.requirements import Need, needs_of
from localmem.reconstruction.residual import CALLS, Matrix, Residual, ResidualView, train
from localmem.reconstruction.schedules import MultiView, Text
from localmem.reconstruction.selection import Select
from localmem.reconstruction.state import Adaptive, StateConditioned
from localmem.reconstruction.support import Support
from localmem.reconstruction.views import VIEWS, View, retriever
from localmem.types import Message, Requirement

Decompose = Callable[[str], Sequence[Need]]
"""Splits a question into requirements: a model, or by rule :func:`needs_of`."""


LEAST = 4
"""Messages that stage I of ``fixed`` hands on at least: those it chose, then the best of the search."""


class Policy(StrEnum):
    """How evidence is completed after stage I."""

    FCA_MS = "fca-ms"
    """Not at all."""
    BFR_TEXT = "bfr-text"
    BFR_MV = "bfr-mv"
    BFR_STATE = "bfr-state"
    BFR_ADAPTIVE = "bfr-adaptive"
    RSC = "rsc"
    FIXED = "fixed"
    """Our own schedule, over the search's own ranking and exact links from note to message."""


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """What was reconstructed for a question."""

    rows: tuple[int, ...]
    """Evidence in order of acquisition, as rows of the view it was found on."""
    messages: tuple[Message, ...]
    """The same; a message that another process deleted meanwhile is left out."""
    composed: int
    """How many of ``rows`` stage I chose."""
    needs: tuple[Need, ...]
    """What the question requires."""
    requirements: tuple[Requirement, ...]
    """The same with the messages that met them; none: not found."""
    rounds: tuple[Round, ...]
    calls: int
    """Retrieval calls of stage II; stage I's search for its pool is one more."""
    stop_reason: str


def reconstruct(
    question: str,
    records: Records,
    policy: Policy = Policy.FIXED,
    budget: Budget | None = None,
    *,
    most: int | None = None,
    keep: int | None = None,
    residual: Matrix | None = None,
    decompose: Decompose | None = None,
    select: Select | None = None,
) -> Reconstruction:
    """Compose and complete the evidence for a question.

    ``budget`` and ``keep`` (records kept a round) None: the policy's own. ``most`` limits all records, those
    that stage I composed too. ``residual`` is the map of ``rsc``; None: it is trained now. ``decompose`` and
    ``select`` None, or giving none: rules.
    """
    budget = budget or (Budget(calls=CALLS) if policy is Policy.RSC else Budget())
    needs = tuple(decompose(question) if decompose else ()) or needs_of(
        question, records.columns.names, records.asked_on
    )
    support = Support(records, needs)
    initial = _composed(question, records, support, policy, select)[:most]
    if most is not None:
        budget = replace(budget, records=min(budget.records, most - len(initial)))
    if policy is Policy.FCA_MS or not len(records):
        budget = Budget(0, 0, 0)
    views: dict[str, View] = dict(VIEWS)
    if policy is Policy.RSC:
        views["residual"] = ResidualView(train(records, 0) if residual is None else residual)
    schedule = _schedule(question, records, support, policy, keep)
    state = complete(initial, schedule, retriever(records, question, views), budget)
    return Reconstruction(
        rows=tuple(state.evidence),
        messages=tuple(records.fetch(state.evidence)),
        composed=state.initial,
        needs=needs,
        requirements=support.table(records, state.evidence),
        rounds=tuple(state.rounds),
        calls=state.calls,
        stop_reason=state.stop_reason,
    )


def _composed(
    question: str, records: Records, support: Support, policy: Policy, select: Select | None
) -> list[int]:
    if not len(records):
        return []
    if policy is Policy.FIXED:
        notes = pool(records, records.relevance(question), least=-np.inf)
        chosen = compose(question, records, support, notes, by_links, select)
        best = records.ordered(records.relevance(question), -np.inf)[: len(chosen) + LEAST].tolist()
        return [*chosen, *(row for row in best if row not in chosen)][: max(LEAST, len(chosen))]
    return compose(question, records, support, pool(records, records.meaning(question)), by_overlap, select)


def _schedule(
    question: str, records: Records, support: Support, policy: Policy, keep: int | None
) -> Schedule:
    kept = {} if keep is None else {"keep": keep}
    match policy:
        case Policy.FIXED:
            return Complementary(question, records, **kept)
        case Policy.BFR_MV:
            return MultiView(question, records, **kept)
        case Policy.BFR_STATE:
            return StateConditioned(question, records, support, **kept)
        case Policy.BFR_ADAPTIVE:
            return Adaptive(question, records, support, **kept)
        case Policy.RSC:
            return Residual(question, **kept)
        case Policy.BFR_TEXT | Policy.FCA_MS:
            return Text(question, **kept)
