"""What a reply rests on, gathered from its events while it is made."""

from __future__ import annotations

from dataclasses import dataclass, field

from localmem.answering.prompting import REPLY_TOKENS
from localmem.events import Answered, Event, Fallback, NotesMade, Recalled, Replied, StepTaken
from localmem.models.protocols import ThoughtDelta
from localmem.tui.text import cost_line, end_note, one_line
from localmem.types import Message, Requirement


@dataclass(slots=True)
class Basis:
    """One thread lets it grow; others may read it at any time."""

    without: frozenset[int] = frozenset()
    """Ids of messages that were left out."""
    recalled: tuple[Message, ...] = ()
    """Messages that memory brought up."""
    cited: tuple[int, ...] = ()
    """Ids of the messages that the text cites, in the order of their numbers."""
    needs: tuple[Requirement, ...] = ()
    """What the question requires, where that is known."""
    thought: str = ""
    """What the model thought before it wrote."""
    steps: list[str] = field(default_factory=list)
    """What was done to find it, a line each."""
    answer: str = ""
    """The answer, when it is not a message of the chat."""
    cost: str = ""
    """What it cost and why it stopped, on one line."""
    over: bool = False
    """Whether nothing more will come."""

    def take(self, event: Event) -> None:
        """Take in what happened."""
        match event:
            case Recalled(evidence):
                self.recalled = tuple(item.message for item in evidence)
                self.steps.append(f"recalled {len(evidence):,} {_messages(len(evidence))}")
            case StepTaken(step):
                self.steps.append(one_line(str(step), 300))
            case NotesMade(notes):
                self.steps.append(f"made {len(notes):,} {'note' if len(notes) == 1 else 'notes'} of them")
            case ThoughtDelta(text):
                self.thought += text
            case Fallback(role, reason):
                self.steps.append(f"by rule instead of the {role}: {one_line(reason)}")
            case Answered(answer):
                self.recalled = tuple(item.message for item in answer.evidence)
                self.cited, self.needs = answer.citations, answer.requirements
                self.answer = answer.text
                self.cost = cost_line(answer.ledger, f"stopped: {one_line(answer.stop_reason)}")
                self.over = True
            case Replied():
                self.cited = event.citations
                self.cost = cost_line(event.ledger, end_note(event.stop_reason, REPLY_TOKENS))
                self.over = True

    @property
    def size(self) -> tuple[int, int, int, bool]:
        """Changes whenever there is more to be shown."""
        return len(self.steps), len(self.recalled), len(self.cited), self.over


def _messages(count: int) -> str:
    return "message" if count == 1 else "messages"
