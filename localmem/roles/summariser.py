"""The summariser: what the model writes for layers L0 to L2 (APDMem 3.1, Appendix I)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, Field, create_model

from localmem.dates import dates_in, day_text, with_dates
from localmem.models.catalog import ModelRole
from localmem.models.grammar import Line
from localmem.models.protocols import ChatModel
from localmem.models.structured import Structured
from localmem.roles.task import Task, call
from localmem.text import fenced
from localmem.types import Message, Role

SUMMARY_CHARACTERS = 240
"""About 30 words, the longest summary (APDMem, Table 5)."""
FACT_CHARACTERS = 240
MOST_FACTS = 25
"""Facts of a session at most (APDMem, Table 5)."""

SUMMARISE = Task("summarise", ModelRole.SUMMARISER, max_tokens=320)
FACTS = Task("facts", ModelRole.SUMMARISER, max_tokens=900)


@cache
def summaries(turns: int) -> type[BaseModel]:
    """Output type: ``summaries``, one sentence for each of ``turns`` turns."""
    each = list[Annotated[str, Line(SUMMARY_CHARACTERS)]]
    return create_model(
        "Summaries", summaries=(Annotated[each, Field(min_length=turns, max_length=turns)], ...)
    )


@cache
def facts(messages: int) -> type[BaseModel]:
    """Output type: ``facts``, up to 25, each with the number (1 to ``messages``) of its message."""
    fact: Any = create_model(
        "Fact",
        message=(Annotated[int, Field(ge=1, le=messages)], ...),
        fact=(Annotated[str, Line(FACT_CHARACTERS)], ...),
    )
    each: Any = list[fact]
    return create_model("Facts", facts=(Annotated[each, Field(min_length=1, max_length=MOST_FACTS)], ...))


def summarise(
    model: ChatModel,
    turns: Sequence[Sequence[Message]],
    *,
    before: Sequence[Message] = (),
    cancel: threading.Event | None = None,
    deadline: float | None = None,
) -> Structured[Any]:
    """One sentence for each turn of a window, as ``value.summaries``; ``before`` is the turn before them."""
    context = f"Before: {turn_text(before)}\n" if before else ""
    return call(
        SUMMARISE,
        model,
        summaries(len(turns)),
        cancel=cancel,
        deadline=deadline,
        turns=context + numbered([turn_text(turn) for turn in turns]),
    )


def extract_facts(
    model: ChatModel,
    messages: Sequence[Message],
    *,
    cancel: threading.Event | None = None,
    deadline: float | None = None,
) -> Structured[Any]:
    """The facts of some messages, as ``value.facts``, each with ``message`` (from 1) and ``fact``."""
    return call(
        FACTS,
        model,
        facts(len(messages)),
        cancel=cancel,
        deadline=deadline,
        messages=numbered([turn_text([message]) for message in messages]),
    )


def turn_text(messages: Sequence[Message]) -> str:
    """A turn on one line, whatever is in it: ``[12 May 2024] Rosa: ... / assistant: ...``, dates resolved."""
    sent_at = messages[0].sent_at
    said = fenced(" / ".join(f"{_who(message)}: {_dated(message)}" for message in messages))
    return f"[{day_text(sent_at.date())}] {said}" if sent_at else said


def numbered(texts: Sequence[str]) -> str:
    """``1. ...`` and so on, a line each."""
    return "\n".join(f"{number}. {fenced(text)}" for number, text in enumerate(texts, 1))


def _who(message: Message) -> str:
    return message.speaker or ("user" if message.role is Role.USER else "assistant")


def _dated(message: Message) -> str:
    """A message's text, each relative date followed by the day it means."""
    mentions = dates_in(message.text, message.sent_at.date()) if message.sent_at else []
    shared = f" (shared: {message.attachments})" if message.attachments.strip() else ""
    return with_dates(message.text, mentions) + shared
