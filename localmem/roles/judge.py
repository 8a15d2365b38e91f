"""The judge: does an answer say what the reference says, a summary only what was said?"""

from __future__ import annotations

import threading
from typing import Literal

from pydantic import BaseModel

from localmem.models.catalog import ModelRole
from localmem.models.protocols import ChatModel
from localmem.models.structured import Structured
from localmem.roles.task import Task, call

JUDGE = Task("judge", ModelRole.JUDGE, max_tokens=20)


FAITHFUL = Task("faithful", ModelRole.JUDGE, max_tokens=20)


class Verdict(BaseModel):
    """One word."""

    verdict: Literal["CORRECT", "WRONG"]


def judge(
    model: ChatModel,
    question: str,
    reference: str,
    answer: str,
    *,
    cancel: threading.Event | None = None,
    deadline: float | None = None,
) -> Structured[Verdict]:
    """The model's verdict on ``answer``."""
    return call(
        JUDGE,
        model,
        Verdict,
        cancel=cancel,
        deadline=deadline,
        question=question,
        reference=reference,
        answer=answer,
    )


class Faithfulness(BaseModel):
    """One word."""

    verdict: Literal["YES", "NO"]


def faithful(
    model: ChatModel,
    messages: str,
    summary: str,
    *,
    cancel: threading.Event | None = None,
    deadline: float | None = None,
) -> Structured[Faithfulness]:
    """Whether everything in ``summary`` is said in ``messages``."""
    return call(
        FAITHFUL, model, Faithfulness, cancel=cancel, deadline=deadline, messages=messages, summary=summary
    )
