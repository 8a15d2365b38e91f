"""What every benchmark is read into, and the fields that they have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from localmem.errors import ImportFailed
from localmem.importers.fields import Record, described, required_text
from localmem.types import NewSession


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one conversation."""

    id: str
    """Unique in the file."""
    source: str
    """The conversation it is asked of."""
    text: str
    category: str
    """Number and name (LoCoMo) or type."""
    gold: frozenset[str]
    """External ids of the messages that hold the evidence; empty: not annotated."""
    gold_sessions: frozenset[str]
    """External ids of the sessions that hold it, also where no message in them is marked."""
    asked_at: datetime | None
    """When the question is asked, where the benchmark says so."""
    reference: str
    """The right answer, numbers and lists as text. Empty for some questions that memory cannot answer."""
    abstain: bool
    """True when the right answer is that memory does not say."""
    adversarial: str = ""
    """What one answers who is led astray (LoCoMo, category 5); never a right answer."""


@dataclass(frozen=True, slots=True)
class Case:
    """One conversation with its questions."""

    sessions: tuple[NewSession, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One record of a file: its history, and questions that are read one by one, since each may be bad."""

    sessions: tuple[NewSession, ...]
    """At least one."""
    questions: tuple[Callable[[], Question], ...]
    """Each raises :class:`ImportFailed` when its question cannot be read."""


def with_messages(sessions: tuple[NewSession, ...], place: str) -> tuple[NewSession, ...]:
    """The sessions, of which there must be one."""
    if not sessions:
        raise ImportFailed(f"{place}: there is no message in it to ask about.")
    return sessions


def question_text(record: Record, place: str) -> str:
    """The ``question``, which must say something."""
    text = required_text(record, "question", place)
    if not text.strip():
        raise ImportFailed(f'{place}: "question" is empty.')
    return text


def reference(record: Record, place: str, *, abstain: bool) -> str:
    """The ``answer`` as text; there may be none only where the right answer is to abstain."""
    value = record.get("answer")
    if abstain and value in (None, ""):
        return ""
    text = _answer_text(value)
    if not text:
        raise ImportFailed(f'{place}: "answer" must be text, a number or a list, found {described(value)}.')
    return text


def _answer_text(value: object) -> str:
    """Empty for what is no answer, and for a list with something in it that is none."""
    match value:
        case bool():
            return ""
        case str():
            return value.strip()
        case int():
            return str(value)
        case Decimal():
            return f"{value:f}"
        case list():
            parts = [_answer_text(part) for part in value]
            return ", ".join(parts) if all(parts) else ""
        case _:
            return ""
