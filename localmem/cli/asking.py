"""How ``ask`` answers: which policy with which models, and the ledger as the terminal shows it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime

from localmem.answering.required import told_apart
from localmem.cli.context import Context
from localmem.disclosure.agent import Agent
from localmem.disclosure.budget import Budget
from localmem.reconstruction.fixed import Fixed
from localmem.types import Answer, Message


def agent_of(
    context: Context, policy: str, budget: Budget, asked: datetime | None, no_llm: bool
) -> Agent | None:
    """What policy ``agent`` works with, None when it is another; ``auto`` wants the controller trusted."""
    return context.models.agent(policy, budget, _day(asked), use_model=not no_llm)


def fixed_of(
    context: Context, calls: int | None, records: int | None, asked: datetime | None, no_llm: bool
) -> Fixed:
    """What policy ``fixed`` works with; a limit that is None is its own. The controller must be trusted."""
    return context.models.fixed(calls, records, asked and asked.date(), use_model=not no_llm)


def requirement_lines(found: Answer) -> Iterator[str]:
    """What the question requires and the messages that met it, a line each; none if there is but one, met."""
    by_id = {item.message.id: item.message for item in found.evidence}
    told = told_apart(found.requirements)
    if len(told) == 1 and told[0].met_by:
        return
    for need in told:
        met = ", ".join(_named(by_id[i]) for i in need.met_by)
        yield f'  for "{need.text}": {met or "not found"}'


def ledger_lines(found: Answer) -> Iterator[str]:
    """What an answer cost, a line each."""
    ledger = found.ledger
    total = sum(ledger.seconds.values())
    yield (
        f"  read {ledger.records} of {ledger.messages} messages ({ledger.history_share:.0%}) in "
        f"{ledger.sessions_opened} of {ledger.sessions} sessions in {total:.1f} s"
    )
    if ledger.depth:
        depth = ", ".join(f"{sessions} to {level}" for level, sessions in ledger.depth.items())
        yield f"  opened: {depth}; {ledger.steps} steps, {ledger.retrieval_calls} retrieval calls"
    if ledger.seconds:
        stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in ledger.seconds.items())
        yield f"  seconds: {stages}"
    yield (
        f"  model: {ledger.tokens_read} tokens read, {ledger.tokens_reused} reused, "
        f"{ledger.tokens_written} written; to read everything would be about {ledger.full_history_tokens}"
    )
    yield from (f"  by rule instead of {fallback}" for fallback in ledger.fallbacks)
    if ledger.fallbacks_before:
        yield f"  by rule before it was resumed: {ledger.fallbacks_before} times"
    yield from (f"  forced: {forced}" for forced in ledger.forced)
    yield f"  stopped: {found.stop_reason} (policy {found.policy}, trace {found.trace})"


def _named(message: Message) -> str:
    return f"{message.external_id} ({message.sent_at:%Y-%m-%d})" if message.sent_at else message.external_id


def _day(asked: datetime | None) -> date | datetime | None:
    """A time of midnight was given as a day."""
    if asked is None or asked.tzinfo or (asked.hour, asked.minute, asked.second) != (0, 0, 0):
        return asked
    return asked.date()
