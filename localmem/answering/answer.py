"""Evidence -> notes -> answer with citations, as a generator of events."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from dataclasses import replace

from localmem.answering.accounting import note_forced, spent
from localmem.answering.draft import Draft, draft
from localmem.answering.notes import Note, make_notes, notes_made
from localmem.answering.question import Question
from localmem.answering.recall import Found
from localmem.answering.wording import Worded, fall_back, word
from localmem.events import AnswerDelta, Event
from localmem.models.catalog import ModelRole
from localmem.models.protocols import ChatModel
from localmem.roles.trust import Trust
from localmem.types import Answer, Requirement

NOTHING_FOUND = "I found nothing about that in memory."
STOPPED = "stopped by the user"


def conclude(
    outcome: Answer,
    question: Question,
    found: Found,
    model: ChatModel | None,
    trust: Trust,
    cancel: threading.Event | None = None,
) -> Generator[Event, None, Answer]:
    """Draft, organise and word what was found; return the answer.

    ``outcome`` is what stands when nothing that was found is relevant: memory does not answer. Its
    requirements are what the question requires.
    """
    ledger = outcome.ledger
    if not found.relevant():
        yield AnswerDelta(outcome.text)
        return outcome
    started = time.perf_counter()
    rule = draft(question, found.parts)
    notes = make_notes(found.sentences, rule)
    spent(ledger, "notes", started)
    yield notes_made(notes)
    outcome = _by_rule(outcome, question, rule, notes)
    if model is not None and not trust.trusted:
        ledger.fallbacks.append(f"answerer: {trust.reason}")
        model = None
    if model is None:
        yield AnswerDelta(outcome.text)
        return outcome
    note_forced(ledger, ModelRole.ANSWERER, trust)
    worded = Worded()
    yield from word(worded, question.text, rule, notes, ledger, model, cancel)
    stop = outcome.stop_reason
    if worded.stopped:  # a sentence cut off may say the opposite of the whole
        stop = STOPPED
        yield from fall_back(worded, rule, ledger, stop)
    return replace(outcome, text=worded.text, citations=worded.citations, stop_reason=stop)


def _by_rule(outcome: Answer, question: Question, rule: Draft, notes: Sequence[Note]) -> Answer:
    """The outcome when the rule's answer stands."""
    return replace(
        outcome,
        text=rule.text,
        abstained=False,
        citations=rule.sources,
        notes=tuple(str(note) for note in notes),
        requirements=met_by_draft(outcome.requirements, question, rule),
    )


def met_by_draft(needs: Sequence[Requirement], question: Question, rule: Draft) -> tuple[Requirement, ...]:
    """The requirements; for a part of the question that no message met alone, what the draft rests on."""
    met = [rule.sources] if len(question.parts) == 1 else [(s.message.id,) for s in rule.sentences]
    drafted = dict(zip(question.parts, met, strict=True))
    return tuple(
        need if need.met_by else Requirement(need.text, drafted.get(need.text, ())) for need in needs
    )
