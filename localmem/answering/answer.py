"""Question -> evidence -> notes -> answer with citations, as a generator of events."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from localmem.answering.draft import Draft, draft
from localmem.answering.notes import Note, make_notes
from localmem.answering.prompting import ANSWER_TOKENS, answer_prompt
from localmem.answering.question import Question, read_question
from localmem.answering.recall import Recall, relevant
from localmem.answering.support import cited, unsupported
from localmem.errors import BadInput, ModelCrashed, ModelTimeout
from localmem.events import AnswerDelta, Answered, Event, Fallback, NotesMade, Recalled
from localmem.models.protocols import ChatModel, StopReason, TextDelta
from localmem.store.traces import TraceStore
from localmem.types import Answer, Requirement

NOTHING_FOUND = "I found nothing about that in memory."


def answer(
    text: str,
    recall: Recall,
    traces: TraceStore,
    model: ChatModel | None,
    cancel: threading.Event | None = None,
) -> Iterator[Event]:
    """Answer a question from memory; the last event is :class:`Answered`.

    With ``model`` None the answer is the rule's. A model that crashes, is cut off or says what memory
    does not say is replaced by the rule's answer, with a :class:`Fallback` event and an entry in the
    ledger. Raises :class:`BadInput` for an empty question.
    """
    if not text.strip():
        raise BadInput("The question is empty.")
    question = read_question(text)
    found = [recall.find(part) for part in question.parts]
    evidence = tuple({item.message.id: item for items, _ in found for item in items}.values())
    recall.read(evidence)
    yield Recalled(evidence)
    outcome = Answer(
        text=NOTHING_FOUND,
        abstained=True,
        citations=(),
        evidence=evidence,
        notes=(),
        requirements=tuple(Requirement(part, ()) for part in question.parts),
        policy="fixed",
        stop_reason="nothing relevant found",
        trace=0,
        ledger=recall.ledger,
    )
    if all(relevant(sentences) for _, sentences in found):
        started = time.perf_counter()
        rule = draft(question, [sentences for _, sentences in found])
        notes = make_notes([sentence for _, sentences in found for sentence in sentences], rule.sentences)
        recall.spent("notes", started)
        yield NotesMade(tuple(str(note) for note in notes))
        outcome = _by_rule(outcome, question, rule, notes)
        if model is not None:
            outcome = yield from _in_words(outcome, question, rule, notes, recall, model, cancel)
    if model is None or outcome.abstained:
        yield AnswerDelta(outcome.text)
    yield Answered(replace(outcome, trace=traces.save(text, outcome)))


def _by_rule(outcome: Answer, question: Question, rule: Draft, notes: Sequence[Note]) -> Answer:
    """The outcome when the rule's answer stands."""
    sources = tuple(dict.fromkeys(sentence.message.id for sentence in rule.sentences))
    met = [sources] if len(question.parts) == 1 else [(s.message.id,) for s in rule.sentences]
    return replace(
        outcome,
        text=rule.text,
        abstained=False,
        citations=sources,
        notes=tuple(str(note) for note in notes),
        requirements=tuple(Requirement(part, ids) for part, ids in zip(question.parts, met, strict=True)),
        stop_reason="answered",
    )


def _in_words(
    outcome: Answer,
    question: Question,
    rule: Draft,
    notes: Sequence[Note],
    recall: Recall,
    model: ChatModel,
    cancel: threading.Event | None,
) -> Generator[Event, None, Answer]:
    """The outcome in the model's words where they may stand, else as it was."""
    started = time.perf_counter()
    written: list[str] = []
    reason: str | None = "no note fits the model's window"
    stop = ""
    prompt = answer_prompt(model, question.text, notes, rule)
    try:
        for piece in model.stream(prompt, max_tokens=ANSWER_TOKENS, cancel=cancel) if prompt else ():
            if isinstance(piece, TextDelta):
                written.append(piece.text)
                yield AnswerDelta(piece.text)
                continue
            recall.count_model(piece)
            if piece.reason is StopReason.CANCELLED:
                stop = reason = "stopped by the user"
            else:
                reason = unsupported("".join(written), notes, question.text, rule)
    except (ModelCrashed, ModelTimeout) as error:
        reason = str(error)
    finally:
        recall.spent("answer", started)
    if reason is not None:
        recall.ledger.fallbacks.append(f"answerer: {reason}")
        yield Fallback("answerer", reason)
        yield AnswerDelta(rule.text)
        return replace(outcome, stop_reason=stop or outcome.stop_reason)
    text = "".join(written).strip()
    sources = tuple(dict.fromkeys([*(cited(text, notes) or outcome.citations)]))
    return replace(outcome, text=text, citations=sources)
