"""Entries in an answer's ledger."""

from __future__ import annotations

import time
from collections.abc import Sequence

from localmem.models.catalog import ModelRole
from localmem.models.protocols import Finished
from localmem.roles.trust import Trust
from localmem.store import SessionStore
from localmem.types import Evidence, Ledger


def opened_ledger(sessions: SessionStore) -> Ledger:
    """A ledger that knows how large the memory is."""
    ledger = Ledger()
    ledger.sessions, ledger.messages, characters = sessions.counts()
    ledger.full_history_tokens = characters // 4
    return ledger


def taken(ledger: Ledger, evidence: Sequence[Evidence]) -> None:
    """Enter the messages that were taken as evidence."""
    ledger.records = len(evidence)
    ledger.sessions_opened = len({item.message.session_id for item in evidence})


def spent(ledger: Ledger, stage: str, started: float) -> None:
    """Add the time since ``started`` (perf_counter seconds) to a stage."""
    ledger.seconds[stage] = ledger.seconds.get(stage, 0.0) + time.perf_counter() - started


def note_forced(ledger: Ledger, role: ModelRole, trust: Trust) -> None:
    """Say so when a role's model was forced on it."""
    if trust.forced:
        ledger.forced.append(f"{role}: {trust.reason}")


def count_model(ledger: Ledger, cost: Finished) -> None:
    """Add a model call."""
    ledger.model_calls += 1
    ledger.tokens_read += cost.tokens_read
    ledger.tokens_reused += cost.tokens_reused
    ledger.tokens_written += cost.tokens_written
