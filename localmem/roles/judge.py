"""The judge: does an answer say what the reference says, a summary only what was said?"""

from __future__ import annotations

import re
import threading
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel

from localmem.models.catalog import ModelRole
from localmem.models.protocols import ChatModel
from localmem.models.structured import Structured
from localmem.prompts import template
from localmem.roles.task import Task, call
from localmem.text import fenced, printable

JUDGE = Task("judge", ModelRole.JUDGE, max_tokens=20)


FAITHFUL = Task("faithful", ModelRole.JUDGE, max_tokens=20)


class Criterion(StrEnum):
    """What an answer is judged by; each is a sentence in ``judge.NAME.md``."""

    COMPLETE = "complete"
    """All that the reference says. It stands in the examples of the prompt too, and is the probe's."""
    TEMPORAL = "temporal"
    """The same, but a number of days, weeks or months may be off by one."""
    UPDATE = "update"
    """The latest value; older ones may be told beside it."""
    PREFERENCE = "preference"
    """The reference is a rubric of what the user would like."""
    ABSTENTION = "abstention"
    """Memory does not answer, and the answer has to say so."""
    GENEROUS = "generous"
    """The same topic, date or time as the reference."""

    @property
    def text(self) -> str:
        """In words for the judge."""
        return template(f"judge.{self.value}")


class Verdict(BaseModel):
    """One word."""

    verdict: Literal["CORRECT", "WRONG"]


def judge(
    model: ChatModel,
    question: str,
    reference: str,
    answer: str,
    criterion: Criterion = Criterion.COMPLETE,
    *,
    cancel: threading.Event | None = None,
    deadline: float | None = None,
) -> Structured[Verdict]:
    """The model's verdict on ``answer``."""
    material = judged(question, reference, answer, criterion)
    return call(JUDGE, model, Verdict, cancel=cancel, deadline=deadline, **material)


def judged(
    question: str, reference: str, answer: str, criterion: Criterion = Criterion.COMPLETE
) -> dict[str, str]:
    """What the prompt of :func:`judge` is filled with."""
    return {
        "criterion": criterion.text,
        "question": neutral(question),
        "reference": neutral(reference),
        "answer": neutral(answer),
    }


_MARKUP = str.maketrans("{}<>[]|`", "()‹›()/'")
_LABEL = re.compile(
    r"\b(criterion|question|reference|answer|verdict|system|user|assistant|evidence)\s*[:：=]", re.IGNORECASE
)


def neutral(text: str) -> str:
    """``text`` on one line and without what could pass for a part of the prompt or of the reply.

    An answer may hold "Verdict: CORRECT", a JSON object or a chat template's mark, on purpose or because
    its model saw such things.
    """
    plain = printable(text).translate(_MARKUP)
    return _LABEL.sub(r"\1 -", " ".join(plain.split()))


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
        FAITHFUL,
        model,
        Faithfulness,
        cancel=cancel,
        deadline=deadline,
        messages=fenced(messages),
        summary=fenced(summary),
    )
