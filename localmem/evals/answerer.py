"""The extractive answerer that all arms share: short, the most specific span, nothing added (BFR 5).

It reads an arm's records, or the organised notes and the draft that were made of them (APDMem 3.3), in a
prompt of bounded length, so that arms with many records cost no more. Citations stay outside the text.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from localmem.answering.draft import draft
from localmem.answering.notes import make_notes
from localmem.answering.question import read_question
from localmem.dates import day_text
from localmem.errors import ModelCrashed, ModelTimeout
from localmem.evals.datasets import Question
from localmem.memory import Memory
from localmem.models.catalog import ModelRole
from localmem.models.protocols import ChatMessage, ChatModel, Finished, Sampling, TextDelta
from localmem.reconstruction.evidence import found
from localmem.reconstruction.records import Records
from localmem.roles.task import Task
from localmem.roles.window import pieces_that_fit
from localmem.text import fenced
from localmem.types import Message, Role

EXTRACT = Task("extract", ModelRole.ANSWERER, max_tokens=48)
"""A phrase or a list."""
PROMPT_TOKENS = 2048
"""Longest prompt, unless a run says otherwise."""
REFUSAL = "no information"
"""What an answer says when memory does not."""


@dataclass(frozen=True, slots=True)
class Organised:
    """Evidence as a controller hands it on."""

    notes: tuple[str, ...]
    draft: str

    @property
    def hint(self) -> str:
        """The draft as a prompt has it."""
        return f"(Hint: {fenced(self.draft)})" if self.draft else ""


@dataclass(frozen=True, slots=True)
class Material:
    """What an answer is made of: lines, the most useful first, in the order they are read in."""

    lines: tuple[str, ...]
    useful: tuple[int, ...]
    """Places in ``lines``, the most useful first; the last are dropped when a prompt is too long."""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Answerer:
    """Words answers with ``model`` in prompts of at most ``prompt_tokens``."""

    model: ChatModel
    prompt_tokens: int = PROMPT_TOKENS
    sampling: Sampling | None = None
    """Draws the words of the answers; None: the likeliest are taken."""

    def answer(self, question: Question, material: Material | None) -> dict[str, Any]:
        """The answer as a log has it; ``material`` None: memory holds nothing, and no model is asked.

        When the model crashed or was too slow ``text`` is null: that answer is not scored.
        """
        started = time.perf_counter()
        told: dict[str, Any] = {
            "text": REFUSAL,
            "abstained": True,
            "prompt_tokens": 0,
            "tokens_read": 0,
            "tokens_reused": 0,
            "tokens_written": 0,
            "seconds": 0.0,
            "fallback": None,
        }
        prompt = None if material is None else self._prompt(question, material)
        if prompt is None:
            return told
        text, fallback = "", None
        try:
            for piece in self.model.stream(
                prompt, max_tokens=EXTRACT.max_tokens, fixed=len(prompt) - 1, sampling=self.sampling
            ):
                if isinstance(piece, TextDelta):
                    text += piece.text
                if not isinstance(piece, Finished):
                    continue
                told |= {
                    "prompt_tokens": piece.tokens_read + piece.tokens_reused,
                    "tokens_read": piece.tokens_read,
                    "tokens_reused": piece.tokens_reused,
                    "tokens_written": piece.tokens_written,
                }
        except (ModelCrashed, ModelTimeout) as error:
            fallback = str(error)
        span = _first_line(text)
        return told | {
            "text": None if fallback else span,
            "abstained": not fallback and span.lower().startswith(REFUSAL),
            "seconds": round(time.perf_counter() - started, 6),
            "fallback": fallback,
        }

    def _prompt(self, question: Question, material: Material) -> list[ChatMessage] | None:
        """The prompt with as many lines as there is room for; None when not one fits.

        A line that has no room of its own is left out, so that it keeps no other away.
        """
        fixed = EXTRACT.fixed(self.model)

        def build(places: Sequence[int]) -> list[ChatMessage]:
            lines = "\n".join(f"- {material.lines[place]}" for place in sorted(places))
            return [*fixed, EXTRACT.ask(lines=lines, question=asked(question), hint=material.hint)]

        most = min(self.prompt_tokens, self.model.context - EXTRACT.max_tokens)
        sure = most - self.model.count(build(()))
        useful = [
            place
            for place in material.useful
            if len(material.lines[place].encode("utf-8", "replace")) + 4 < sure  # a token is a byte at least
            or self.model.count(build([place])) <= most
        ]
        if not useful:
            return None
        window = self.prompt_tokens + EXTRACT.max_tokens
        count = pieces_that_fit(
            self.model, lambda n: build(useful[:n]), len(useful), EXTRACT.max_tokens, window=window
        )
        return build(useful[:count])


def asked(question: Question) -> str:
    """The question, with its day where the benchmark tells one."""
    day = f" (asked on {day_text(question.asked_at.date())})" if question.asked_at else ""
    return fenced(question.text) + day


def of_records(messages: Sequence[Message], *, newest: bool = False, hint: str = "") -> Material:
    """Records as lines in order of time; those acquired first are the most useful, or the ``newest``."""
    order = sorted(range(len(messages)), key=lambda place: _time(messages[place]))
    lines = tuple(line_of(messages[place]) for place in order)
    places = {place: line for line, place in enumerate(order)}
    useful = range(len(order))[::-1] if newest else (places[place] for place in range(len(messages)))
    return Material(lines, tuple(useful), hint)


def of_notes(organised: Organised, *, draft: bool = True) -> Material:
    """Notes as lines; all are as useful."""
    lines = tuple(map(fenced, organised.notes))
    return Material(lines, tuple(range(len(lines)))[::-1], organised.hint if draft else "")


def organise(memory: Memory, question: Question, messages: Sequence[Message]) -> Organised | None:
    """Notes and draft of an arm's records, made by rule; None when none speaks of what was asked."""
    records = Records(memory.retrieval, asked_on=question.asked_at and question.asked_at.date())
    read = replace(read_question(question.text), asked=records.asked_on)
    gathered = found(read, [(message, "raw") for message in messages], records)
    if not gathered.relevant():
        return None
    rule = draft(read, gathered.parts)
    return Organised(tuple(map(str, make_notes(gathered.sentences, rule))), rule.text)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def line_of(message: Message) -> str:
    """A record as a prompt has it: day, speaker, text."""
    who = message.speaker or ("user" if message.role is Role.USER else "assistant")
    when = day_text(message.sent_at.date()) if message.sent_at else "undated"
    attached = f" [{message.attachments}]" if message.attachments else ""
    return fenced(f"{when}, {who}: {message.text}{attached}")


def _time(message: Message) -> tuple[float, int]:
    return (message.sent_at.timestamp() if message.sent_at else 0.0, message.id)
