"""The model words an answer; the rule's own stands where the model's may not."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from localmem.answering.accounting import count_model, spent
from localmem.answering.draft import Draft
from localmem.answering.notes import Note
from localmem.answering.prompting import ANSWER, answer_prompt
from localmem.answering.support import cited, unsupported
from localmem.errors import ModelCrashed, ModelTimeout
from localmem.events import AnswerDelta, Event, Fallback
from localmem.models.protocols import ChatModel, StopReason, TextDelta, ThoughtDelta
from localmem.types import Ledger


@dataclass(slots=True)
class Worded:
    """An answer's text as it stands; filled while it is written, so that a reader who leaves keeps it."""

    text: str = ""
    citations: tuple[int, ...] = ()
    stopped: bool = False
    """The user stopped the model."""
    reason: StopReason = StopReason.END
    """Why it ended."""
    repeated: bool = False
    """It came to repeat itself, and was stopped by us."""


def word(
    worded: Worded,
    question: str,
    rule: Draft,
    notes: Sequence[Note],
    ledger: Ledger,
    model: ChatModel,
    cancel: threading.Event | None,
) -> Iterator[Event]:
    """Stream the model's answer into ``worded``; check it at the end.

    A model that crashes, finds no room or says what memory does not say is replaced by the rule's answer
    (:func:`fall_back`). One that was stopped is left as it is.
    """
    started = time.perf_counter()
    reason: str | None = "no note fits the model's window"
    prompt = answer_prompt(model, question, notes, rule)
    try:
        for piece in (
            model.stream(prompt, max_tokens=ANSWER.max_tokens, fixed=len(prompt) - 1, cancel=cancel)
            if prompt
            else ()
        ):
            if isinstance(piece, ThoughtDelta):
                continue
            if isinstance(piece, TextDelta):
                worded.text += piece.text
                yield AnswerDelta(piece.text)
                continue
            count_model(ledger, piece)
            worded.reason = piece.reason
            worded.stopped = piece.reason is StopReason.CANCELLED
            reason = None if worded.stopped else unsupported(worded.text, notes, question, rule)
    except (ModelCrashed, ModelTimeout) as error:
        reason = str(error)
    finally:
        spent(ledger, "answer", started)
    if reason is None:
        worded.text = worded.text.strip()
        worded.citations = tuple(cited(worded.text, notes)) or rule.sources
        return
    yield from fall_back(worded, rule, ledger, reason)


def fall_back(worded: Worded, rule: Draft, ledger: Ledger, reason: str) -> Iterator[Event]:
    """Put the rule's answer in place of the model's: withdraw what was streamed, count it in the ledger."""
    ledger.fallbacks.append(f"answerer: {reason}")
    worded.text, worded.citations, worded.reason = rule.text, rule.sources, StopReason.END
    yield Fallback("answerer", reason)
    yield AnswerDelta(rule.text)
