"""What happens while a question is answered or a chat message replied to, as typed values.

`Memory.answer` and `Memory.chat` are generators of these; the command line, the chat and every other
consumer read the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from localmem.models.protocols import StopReason, ThoughtDelta
from localmem.steps import Step
from localmem.types import Answer, Evidence, Ledger, Message, Requirement


@dataclass(frozen=True, slots=True)
class SecretsNoticed:
    """A message to be stored holds secrets. It is not stored if the generator is closed now."""

    kinds: tuple[str, ...]
    """In words, each once: ``card number``. What follows is as the settings say: kept, masked or refused."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A message was committed. The user's own comes before the model starts."""

    message: Message


@dataclass(frozen=True, slots=True)
class Recalled:
    """Memory was searched."""

    evidence: tuple[Evidence, ...]
    requirements: tuple[Requirement, ...] = ()
    """What the question requires and which of the evidence meets it, as far as that is known now."""


@dataclass(frozen=True, slots=True)
class StepTaken:
    """The controller did something, and it is saved."""

    step: Step
    replayed: bool = False
    """It was done when the answer was begun; this run resumes it."""


@dataclass(frozen=True, slots=True)
class NotesMade:
    """The evidence was organised."""

    notes: tuple[str, ...]
    checked: bool = False
    """What is written now is checked against them at its end, and may be withdrawn."""
    earlier: tuple[int, ...] = ()
    """Ids of messages that tell what was so earlier: the latest counts."""


@dataclass(frozen=True, slots=True)
class AnswerDelta:
    """A piece of the answer, as it is written."""

    text: str


@dataclass(frozen=True, slots=True)
class Fallback:
    """A rule stood in for a model. What was streamed before is withdrawn."""

    role: str
    reason: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The last event of `answer`."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Replied:
    """The last event of `chat`: the reply as stored, and what it cost."""

    message: Message | None
    """None when nothing was generated before the stop."""
    citations: tuple[int, ...]
    stopped: bool
    """True when the user stopped it."""
    ledger: Ledger
    stop_reason: str = StopReason.END.value
    """A :class:`StopReason`, :data:`UNCHANGED` or :data:`REPEATED`."""
    requirements: tuple[Requirement, ...] = ()
    """Of a question that memory was asked, or is relevant to."""


REPEATED = "repeated"
"""The model came to say the same thing for ever: it was stopped, and what it said is kept once."""
UNCHANGED = "unchanged"
"""Another reply was asked for and the same came: nothing was stored."""

Event = (
    SecretsNoticed
    | Stored
    | Recalled
    | StepTaken
    | NotesMade
    | ThoughtDelta
    | AnswerDelta
    | Fallback
    | Answered
    | Replied
)
"""A thought is told as it is thought, and kept nowhere."""


def answered(events: Iterable[Event]) -> Answer:
    """The answer that the events of `Memory.answer` end with."""
    for event in events:
        if isinstance(event, Answered):
            return event.answer
    raise AssertionError("answer() ended without an answer")  # its contract, checked by the tests
