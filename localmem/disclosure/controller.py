"""The loop of the controller (APDMem, Algorithm 1): decide, carry out, until it drafts or must stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from localmem.answering.answer import STOPPED
from localmem.disclosure.budget import Cost
from localmem.disclosure.state import State
from localmem.disclosure.tools import TOOLS, Desk, predicted
from localmem.errors import Cancelled
from localmem.steps import (
    TOOL_NAMES,
    Action,
    Call,
    Decision,
    Draft,
    Kind,
    ReadFacts,
    ReadRaw,
    ReadTurns,
    Reflect,
    Search,
    Step,
)

Decide = Callable[[State], Decision]
"""The controller: a model, or its deterministic twin."""

STAGES: Mapping[type[Action], str] = {
    Search: "search",
    ReadFacts: "layers",
    ReadTurns: "layers",
    ReadRaw: "layers",
}
"""Under which a tool's time is entered in the ledger; the others' is the controller's own."""
READY = "the controller was ready to answer"
NOTHING_NEW = "reflection found nothing new"


class Controller:
    """Runs one question's loop. ``stop_reason`` says why it ended; empty while it runs."""

    def __init__(
        self,
        state: State,
        decide: Decide,
        desk: Desk,
        averages: Mapping[str, float],
        cancel: threading.Event | None = None,
    ) -> None:
        """``averages`` are seconds by tool, as measured in earlier answers."""
        self._state = state
        self._decide = decide
        self._desk = desk
        self._averages = averages
        self._cancel = cancel
        self.stop_reason = ""

    def run(self) -> Iterator[Step]:
        """Yield each step when it is over; the next one begins when the reader comes back."""
        state, meter = self._state, self._desk.meter
        while not self.stop_reason:
            if len(state.steps) >= meter.budget.steps:
                self.stop_reason = f"all {meter.budget.steps} steps are used up"
            elif self._cancel is not None and self._cancel.is_set():
                self.stop_reason = STOPPED
            elif lack := meter.lacks(Cost()):
                self.stop_reason = _too_little(lack)
            else:
                yield self._step(len(state.steps) + 1)

    def _step(self, number: int) -> Step:
        state, meter = self._state, self._desk.meter
        started = meter.clock()
        state.concluding = number >= meter.budget.steps
        kind, calls = Kind.CALLS, list[Call]()
        try:
            decision = self._guarded(self._allowed(self._decide(state)))
            self._spent("controller", started)
            if isinstance(decision, Draft):
                if state.grown and state.nudges < state.limits.nudges and not state.concluding:
                    kind = Kind.NUDGE
                else:
                    kind = Kind.DRAFT
                    self.stop_reason = READY
            else:
                calls = self._carried_out(decision)
        except Cancelled:
            self.stop_reason = STOPPED
        step = Step(number, kind, tuple(calls), meter.clock() - started)
        state.close_step(step)
        meter.ledger.steps = number
        return step

    def _allowed(self, decision: Decision) -> Decision:
        """The decision without tools that may not be used."""
        if isinstance(decision, Draft):
            return decision
        without = self._state.limits.without
        return tuple(action for action in decision if TOOL_NAMES[type(action)] not in without)

    def _guarded(self, decision: Decision) -> Decision:
        """A counting question is never answered without a reflection, nor is nothing a decision."""
        state = self._state
        if decision == ():
            return Draft()
        unreflected = state.counts and state.reflected_at is None and not state.concluding
        unreflected = unreflected and TOOL_NAMES[Reflect] not in state.limits.without
        return (Reflect(),) if isinstance(decision, Draft) and unreflected else decision

    def _carried_out(self, actions: tuple[Action, ...]) -> list[Call]:
        """Carry out what can be afforded; the first action that cannot ends the loop."""
        state, meter = self._state, self._desk.meter
        calls = []
        for action in actions:
            name = TOOL_NAMES[type(action)]
            if lack := meter.lacks(predicted(action, self._averages, name)):
                self.stop_reason = _too_little(lack)
                break
            started = meter.clock()
            converged = isinstance(action, Reflect) and state.reflected_at == len(state.evidence)
            call, pieces = TOOLS[type(action)](self._desk, state, action)
            call = replace(call, new=state.take(call, pieces), seconds=meter.clock() - started)
            calls.append(call)
            self._spent(STAGES.get(type(action), "controller"), started)
            meter.ledger.records = len(state.evidence.messages())
            if converged:
                self.stop_reason = NOTHING_NEW
                break
        return calls

    def _spent(self, stage: str, started: float) -> None:
        seconds = self._desk.meter.ledger.seconds
        seconds[stage] = seconds.get(stage, 0.0) + self._desk.meter.clock() - started


def _too_little(lack: str) -> str:
    return f"not enough {lack} left in the budget"
