"""Entries in an answer's ledger."""

from __future__ import annotations

import time

from localmem.models.protocols import Finished
from localmem.roles.trust import Trust
from localmem.types import Ledger


def spent(ledger: Ledger, stage: str, started: float) -> None:
    """Add the time since ``started`` (perf_counter seconds) to a stage."""
    ledger.seconds[stage] = ledger.seconds.get(stage, 0.0) + time.perf_counter() - started


def note_forced(ledger: Ledger, trust: Trust) -> None:
    """Say so when the answerer's model was forced on the role."""
    if trust.forced:
        ledger.forced.append(f"answerer: {trust.reason}")


def count_model(ledger: Ledger, cost: Finished) -> None:
    """Add a model call."""
    ledger.model_calls += 1
    ledger.tokens_read += cost.tokens_read
    ledger.tokens_reused += cost.tokens_reused
    ledger.tokens_written += cost.tokens_written
