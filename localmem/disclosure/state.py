"""Where the controller stands: what a decision may look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime

from localmem.answering.question import Kind as QuestionKind
from localmem.answering.question import Question
from localmem.disclosure.evidence import EvidenceSet, Piece
from localmem.disclosure.interpret_dates import Interpretation, interpret_dates
from localmem.steps import (
    Call,
    Decompose,
    Found,
    InterpretDates,
    Kind,
    Level,
    ReadRaw,
    Reflect,
    Reflection,
    Search,
    Step,
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits that the paper sets beside T_max (APDMem, Table 5 and Algorithm 1)."""

    queries: int = 5
    """Of one search."""
    sessions: int = 20
    """That a search returns."""
    auto_drilled: int = 3
    """Unexplored sessions whose facts a search reads at once."""
    drilled: int = 10
    """Sessions opened in all."""
    raw_turns: int = 20
    """In all."""
    rounds: int = 2
    """Reflections that send the controller back to searching."""
    nudges: int = 2
    without: frozenset[str] = frozenset()
    """Names of tools that may not be used, to measure what each is worth (APDMem, Table 4)."""


LIMITS = Limits()


@dataclass(slots=True)
class State:
    """What was done and found so far. It changes only by :meth:`take`, live and when it is resumed."""

    question: Question
    asked: date | datetime
    """When the question was asked; its relative dates count from it."""
    limits: Limits = LIMITS
    evidence: EvidenceSet = field(default_factory=EvidenceSet)
    steps: list[Step] = field(default_factory=list)
    found: dict[int, Found] = field(default_factory=dict)
    """Sessions that searches found, by id, with their best score."""
    tried: list[str] = field(default_factory=list)
    """Queries."""
    parts: tuple[str, ...] = ()
    """Of the decomposition; none before it."""
    dates: Interpretation | None = None
    """Of the question; None before they were interpreted."""
    pending: tuple[str, ...] = ()
    """Queries that were proposed and not tried yet."""
    reflection: Reflection | None = None
    """The last one."""
    rounds: int = 0
    nudges: int = 0
    drilled: dict[int, list[Level]] = field(default_factory=dict)
    """Sessions opened, in order, each with the layers it was opened at."""
    raw_turns: set[tuple[int, int]] = field(default_factory=set)
    """Session and turn of the messages read word by word."""
    reflected_at: int | None = None
    """Size of the evidence when it was last reflected on."""
    concluding: bool = False
    """No step is left after this one."""

    @property
    def counts(self) -> bool:
        """Whether the question counts: it wants every instance."""
        return self.question.kind is QuestionKind.COUNT

    @property
    def grown(self) -> bool:
        """Whether the evidence grew since it was last reflected on."""
        return len(self.evidence) > (self.reflected_at or 0)

    @property
    def best(self) -> list[int]:
        """Sessions found, best first."""
        return sorted(self.found, key=lambda session: -self.found[session].score)

    @property
    def unexplored(self) -> list[int]:
        """Sessions found that were not opened yet, best first."""
        return [session for session in self.best if session not in self.drilled]

    def room(self, session_id: int) -> bool:
        """Whether a session may be opened: it was already, or fewer than the most were."""
        return session_id in self.drilled or len(self.drilled) < self.limits.drilled

    def take(self, call: Call, pieces: list[Piece]) -> int:
        """Enter what a tool did; return by how many pieces the evidence grew."""
        new = self.evidence.add(pieces)
        match call.action:
            case Search(queries=queries):
                self.tried += [query for query in queries if query not in self.tried]
                self.pending = tuple(query for query in self.pending if query not in self.tried)
                for one in call.found:
                    known = self.found.get(one.session_id)
                    if known is None or known.score < one.score:
                        self.found[one.session_id] = one
            case ReadRaw():
                self.raw_turns |= {
                    (piece.session_id, piece.turn)
                    for piece in pieces
                    if piece.level is Level.RAW and piece.turn is not None
                }
            case InterpretDates(text=text) if text == self.question.text:
                self.dates = interpret_dates(text, self.asked)
            case Decompose():
                self.parts = call.parts
                self.pending = tuple(part for part in call.parts if part not in self.tried)
            case Reflect() if call.reflection is not None:
                self.reflection = call.reflection
                self.rounds += not call.reflection.sufficient
                self.reflected_at = len(self.evidence)
                self.pending = call.reflection.queries
        for opened in call.opened:
            levels = self.drilled.setdefault(opened.session_id, [])
            if opened.level not in levels:
                levels.append(opened.level)
        return new

    def close_step(self, step: Step) -> None:
        """Enter a step that is over."""
        self.steps.append(step)
        self.nudges += step.kind is Kind.NUDGE
