"""What a controller may do, and what a step of it was (APDMem 3.2): values that are saved and replayed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Level(StrEnum):
    """A layer of memory as the controller opens it, from coarse to fine: L0 to L3."""

    SUMMARY = "summary"
    FACTS = "facts"
    NOTES = "notes"
    RAW = "raw"


DEPTH = tuple(Level)
"""From coarse to fine."""


@dataclass(frozen=True, slots=True)
class Search:
    """Find sessions by their summaries; the facts of the best that were not opened yet are read at once."""

    queries: tuple[str, ...]
    """1 to 5."""
    after: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class ReadFacts:
    """Read a session's facts (L1)."""

    session_id: int


@dataclass(frozen=True, slots=True)
class ReadTurns:
    """Read a session's notes, turn by turn (L2)."""

    session_id: int


@dataclass(frozen=True, slots=True)
class ReadRaw:
    """Read messages of a session word by word (L3)."""

    session_id: int
    turns: tuple[int, ...] = ()
    """Numbers of turns; none: those most relevant to the question."""


@dataclass(frozen=True, slots=True)
class InterpretDates:
    """Say which days the words of a text mean."""

    text: str


@dataclass(frozen=True, slots=True)
class Decompose:
    """Split the question into the queries that must be met."""


@dataclass(frozen=True, slots=True)
class Reflect:
    """Judge whether the evidence is enough, and what to search for if not."""


Action = Search | ReadFacts | ReadTurns | ReadRaw | InterpretDates | Decompose | Reflect


@dataclass(frozen=True, slots=True)
class Draft:
    """No tool: the evidence is enough to draft the answer."""


Decision = Draft | tuple[Action, ...]
"""One response of the controller: tool calls, carried out in order, or the draft."""

TOOL_NAMES: dict[type[Action], str] = {
    Search: "search",
    ReadFacts: "read_facts",
    ReadTurns: "read_turns",
    ReadRaw: "read_raw",
    InterpretDates: "interpret_dates",
    Decompose: "decompose",
    Reflect: "reflect",
}
"""As the paper calls them."""


@dataclass(frozen=True, slots=True)
class Found:
    """A session that a search found."""

    session_id: int
    score: float
    turns: tuple[int, ...]
    """Numbers of the turns that matched, whose summaries were shown."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What was read of a session."""

    session_id: int
    level: Level
    messages: tuple[int, ...]
    """Ids of the messages behind it; none: there was nothing to tell."""


@dataclass(frozen=True, slots=True)
class Reflection:
    """What reflecting came to (APDMem, Figure 8)."""

    sufficient: bool
    found: tuple[str, ...] = ()
    """Items that count for the answer so far."""
    gaps: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    """1 to 5 new ones, in other words than those tried; none if sufficient."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that was called, and what came of it."""

    action: Action
    new: int = 0
    """Pieces by which the evidence grew."""
    found: tuple[Found, ...] = ()
    opened: tuple[Opened, ...] = ()
    """In order; with a search, the sessions whose facts were read at once."""
    parts: tuple[str, ...] = ()
    """Of a decomposition."""
    reflection: Reflection | None = None
    told: str = ""
    """What the tool said in words: days, or why it did nothing."""
    seconds: float = 0.0


class Kind(StrEnum):
    """What the controller's response was taken for."""

    CALLS = "calls"
    NUDGE = "nudge"
    """It drafted, although the evidence had grown since it last reflected: it was sent back."""
    DRAFT = "draft"


@dataclass(frozen=True, slots=True)
class Step:
    """One iteration of the controller (APDMem, Algorithm 1)."""

    number: int
    """From 1."""
    kind: Kind
    calls: tuple[Call, ...] = ()
    seconds: float = 0.0
    """The decision included."""

    def __str__(self) -> str:
        if self.kind is Kind.NUDGE:
            return f"{self.number}. draft: sent back to reflect on what is new"
        if self.kind is Kind.DRAFT:
            return f"{self.number}. draft"
        return f"{self.number}. {'; '.join(map(_call_text, self.calls))}"


def _call_text(call: Call) -> str:
    action, text = call.action, TOOL_NAMES[type(call.action)]
    if isinstance(action, Search):
        text += " " + ", ".join(f'"{query}"' for query in action.queries)
        text += f": {len(call.found)} sessions"
        if call.opened:
            text += f", read facts of {', '.join(str(one.session_id) for one in call.opened)}"
    elif hasattr(action, "session_id"):
        text += f" {action.session_id}"
        if isinstance(action, ReadRaw) and action.turns:
            text += f" turns {', '.join(str(turn + 1) for turn in action.turns)}"
    if call.parts:
        text += ": " + ", ".join(f'"{part}"' for part in call.parts)
    if call.reflection is not None:
        text += ": sufficient" if call.reflection.sufficient else ": not yet"
        if call.reflection.queries:
            text += ", next " + ", ".join(f'"{query}"' for query in call.reflection.queries)
    if call.told:
        text += f": {call.told}"
    return text + (f" ({call.new} new)" if call.new else "")
