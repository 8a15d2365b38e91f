"""What an answer may cost, what it has cost, and whether the next thing can be afforded."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from localmem.types import Ledger


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one answer. Those but ``seconds`` are for all of it, also when it was resumed."""

    steps: int
    """Iterations of the controller (T_max)."""
    calls: int
    """Queries put to the index."""
    records: int
    """Messages taken as evidence."""
    model_tokens: int
    """Read and written by models; those whose state was reused do not count."""
    seconds: float
    """From now on, the wording of the answer included."""

    def but(
        self,
        *,
        steps: int | None = None,
        calls: int | None = None,
        records: int | None = None,
        model_tokens: int | None = None,
        seconds: float | None = None,
    ) -> Budget:
        """The same with other limits where they are given."""
        return Budget(
            self.steps if steps is None else steps,
            self.calls if calls is None else calls,
            self.records if records is None else records,
            self.model_tokens if model_tokens is None else model_tokens,
            self.seconds if seconds is None else seconds,
        )


EFFORTS: Mapping[str, Budget] = {
    # One search, what it opens and the close: no fifth step finds more. With 80 records up to 4 questions
    # in 100 lost their evidence, with 2 calls 6.
    "low": Budget(steps=5, calls=4, records=120, model_tokens=1_500, seconds=15),
    # Two searches more, in the words that a reflection proposes: evidence for 2 to 8 questions more in 100.
    # What comes later finds none.
    "medium": Budget(steps=8, calls=8, records=160, model_tokens=4_000, seconds=60),
    # T_max is the paper's; no question took 20 steps, 10 calls or 180 records.
    "high": Budget(steps=20, calls=60, records=800, model_tokens=24_000, seconds=600),
}
"""By effort; steps, calls and records as measured with the deterministic twin (EXPERIMENTS.md)."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What an action is predicted to cost."""

    calls: int = 0
    records: int = 0
    model_tokens: int = 0
    seconds: float = 0.0


class Meter:
    """Watches a ledger and the clock against a budget."""

    def __init__(self, budget: Budget, ledger: Ledger, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget
        self.ledger = ledger
        self.clock = clock
        self._started = clock()
        self._kept = Cost()

    def keep(self, cost: Cost) -> None:
        """Set aside what wording the answer will need: at most half of what the budget has."""
        self._kept = replace(
            cost,
            model_tokens=min(cost.model_tokens, self.budget.model_tokens // 2),
            seconds=min(cost.seconds, self.budget.seconds / 2),
        )

    def release(self) -> None:
        """The answer is being worded: what was set aside may be spent."""
        self._kept = Cost()

    def left(self) -> Cost:
        """What may still be spent; never below 0."""
        ledger, budget, kept = self.ledger, self.budget, self._kept
        tokens = budget.model_tokens - ledger.tokens_read - ledger.tokens_written - kept.model_tokens
        return Cost(
            max(budget.calls - ledger.retrieval_calls, 0),
            max(budget.records - ledger.records, 0),
            max(tokens, 0),
            max(budget.seconds - (self.clock() - self._started) - kept.seconds, 0.0),
        )

    def lacks(self, cost: Cost) -> str | None:
        """What there is too little of for an action, in words; None when it can be afforded."""
        left = self.left()
        if left.seconds <= cost.seconds:
            return "time"
        if left.calls < cost.calls:
            return "retrieval calls"
        if left.records < cost.records:
            return "records"
        if left.model_tokens < cost.model_tokens:
            return "model tokens"
        return None
