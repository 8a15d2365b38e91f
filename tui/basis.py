"""What a reply rests on, gathered from its events while it is made, or from what was kept of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from localmem.answering.prompting import REPLY_TOKENS
from localmem.answering.required import needs_kept
from localmem.disclosure.budget import Budget
from localmem.events import Answered, Event, Fallback, NotesMade, Recalled, Replied, StepTaken
from localmem.models.protocols import ThoughtDelta
from localmem.steps import Step
from localmem.store.replies import StoredReply
from localmem.tui.text import cost_line, counted, end_note, one_line
from localmem.types import Answer, Evidence, Requirement


@dataclass(slots=True)
class Basis:
    """One thread lets it grow; others may read it at any time."""

    without: frozenset[int] = frozenset()
    """Ids of messages that were left out."""
    recalled: dict[int, str] = field(default_factory=dict)
    """Ids of the messages that memory brought up, each with the layer it was read at."""
    cited: tuple[int, ...] = ()
    """Ids of the messages that the text cites, in the order of their numbers."""
    earlier: tuple[int, ...] = ()
    """Ids of messages that tell what was so earlier."""
    needs: tuple[Requirement, ...] = ()
    """What the question requires, where that is known."""
    thought: str = ""
    """What the model thought before it wrote."""
    steps: list[str | Step] = field(default_factory=list)
    """What was done to find it."""
    answer: Answer | None = None
    """The answer, when it is not a message of the chat."""
    budget: Budget | None = None
    """What it may cost, where that is limited."""
    started: float = field(default_factory=time.monotonic)
    cost: str = ""
    """What it cost and why it stopped, on one line."""
    over: bool = False
    """Whether nothing more will come."""
    deeper: Basis | None = None
    """That of the last answer to the same question which more was spent on."""

    def take(self, event: Event) -> None:
        """Take in what happened."""
        match event:
            case Recalled(evidence, needs):
                self._recalled(evidence)
                self.needs = needs
                self.steps.append(f"recalled {counted(len(evidence), 'message')}")
            case StepTaken(step):
                self.steps.append(step)
            case NotesMade(notes):
                self.earlier = event.earlier
                self.steps.append(f"made {counted(len(notes), 'note')} of them")
            case ThoughtDelta(text):
                self.thought += text
            case Fallback(role, reason):
                self.steps.append(f"by rule instead of the {role}: {one_line(reason)}")
            case Answered(answer):
                self._recalled(answer.evidence)
                self.cited, self.needs, self.answer = answer.citations, answer.requirements, answer
                told = set(map(str, self.steps))
                by_rule = [f"by rule instead of the {one_line(why)}" for why in answer.ledger.fallbacks]
                self.steps += [line for line in by_rule if line not in told]
                self.cost = cost_line(answer.ledger, _stop(answer.stop_reason))
                self.over = True
            case Replied():
                self.cited, self.needs = event.citations, event.requirements
                self.cost = cost_line(event.ledger, end_note(event.stop_reason, REPLY_TOKENS))
                self.over = True

    def _recalled(self, evidence: tuple[Evidence, ...]) -> None:
        self.recalled = {item.message.id: item.layer for item in evidence}

    @property
    def size(self) -> tuple[int, ...]:
        """Changes whenever there is more to be shown."""
        return len(self.steps), len(self.recalled), len(self.cited), len(self.needs), self.over


def kept_basis(kept: StoredReply, question: str) -> Basis:
    """What is known of a reply that was made in an earlier run."""
    steps: list[str | Step] = []
    if kept.ledger.records and not kept.recalled:
        steps.append("what was recalled but not cited was not kept")
    if count := kept.ledger.fallbacks_before:
        steps.append(f"by rule in place of a model: {counted(count, 'time')}")
    return Basis(
        without=frozenset(kept.without),
        recalled=dict(kept.recalled),
        cited=kept.citations,
        earlier=kept.earlier,
        needs=needs_kept(kept.needs, question),
        steps=steps,
        cost=cost_line(kept.ledger, _stop(kept.stop_reason)),
        over=True,
    )


def _stop(reason: str) -> str:
    """Why a reply ended, or an answer was searched no further."""
    return end_note(reason, REPLY_TOKENS) or f"stopped: {one_line(reason)}"
