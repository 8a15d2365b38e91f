"""A small invented history, and a controller whose every response is scripted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from localmem.answering.question import read_question
from localmem.disclosure.budget import EFFORTS, Budget, Meter
from localmem.disclosure.controller import Controller
from localmem.disclosure.coverage import Coverage
from localmem.disclosure.reading import Reader
from localmem.disclosure.state import State
from localmem.disclosure.tools import Desk
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.reconstruction.records import Records
from localmem.steps import Decision, Draft, ReadFacts, ReadRaw, ReadTurns, Reflection, Step
from localmem.types import Ledger, NewMessage, NewSession, Role

FIRST = datetime(2023, 4, 1, 9, tzinfo=UTC)


def session(name: str, *texts: str, day: int = 0) -> NewSession:
    """User and assistant take turns, ``day`` days after the first of April 2023."""
    at = FIRST + timedelta(days=day)
    roles = (Role.USER, Role.ASSISTANT)
    said = tuple(
        NewMessage(roles[n % 2], text, external_id=str(n), sent_at=at + timedelta(minutes=n))
        for n, text in enumerate(texts)
    )
    return NewSession("test", name, said)


@dataclass(frozen=True)
class Hit:
    """A session that the scripted search found."""

    session_id: int
    score: float
    turns: tuple[int, ...] = ()


@dataclass
class Clock:
    """Stands still unless it is told to go on."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Trial:
    """One question under a scripted controller."""

    memory: Memory
    question: str
    script: list[Decision | str]
    """Responses; ``facts S1, S2``, ``turns S1`` and ``raw S1`` name sessions as the test does."""
    found: dict[str, Sequence[str]]
    """By query the names of sessions that the search finds."""
    reflections: list[Reflection] = field(default_factory=list)
    budget: Budget = EFFORTS["high"]
    clock: Callable[[], float] = field(default_factory=Clock)
    states: list[int] = field(default_factory=list)
    """Size of the evidence at each decision."""

    def __post_init__(self) -> None:
        self.ids = {one.external_id: one.id for one in self.memory.sessions()}
        self.names = {number: name for name, number in self.ids.items()}
        self.ledger = Ledger()
        meter = Meter(self.budget, self.ledger, self.clock)
        store = self.memory._store()
        asked = read_question(self.question)
        records = Records(store.search)
        coverage = Coverage(asked, records, store.sessions)
        self.state = State(asked, date(2023, 6, 1))
        self.reader = Reader(store.database, coverage.relevance, self.ledger)
        reflections = iter(self.reflections)
        desk = Desk(
            self._find,
            self.reader,
            lambda state: [state.question.text],
            lambda state: next(reflections, Reflection(True)),
            meter,
        )
        self.controller = Controller(self.state, self._decide, desk, {})

    def run(self) -> list[Step]:
        return list(self.controller.run())

    def _find(
        self,
        queries: Sequence[str],
        limit: int = 20,
        after: datetime | None = None,
        before: datetime | None = None,
    ) -> list[Hit]:
        names = [name for query in queries for name in self.found.get(query, ())]
        return [Hit(self.ids[name], 1 / (n + 1)) for n, name in enumerate(dict.fromkeys(names))][:limit]

    def _decide(self, state: State) -> Decision:
        self.states.append(len(state.evidence))
        response = self.script.pop(0) if self.script else Draft()
        if not isinstance(response, str):
            return response
        tool, _, names = response.partition(" ")
        made = {"facts": ReadFacts, "turns": ReadTurns, "raw": ReadRaw}[tool]
        return tuple(made(self.ids[name]) for name in names.split(", "))

    def opened(self, steps: Sequence[Step]) -> list[tuple[str, str]]:
        """Sessions and layers in the order in which they were opened."""
        return [
            (self.names[one.session_id], one.level.value)
            for step in steps
            for call in step.calls
            for one in call.opened
        ]


@pytest.fixture
def trial() -> Callable[..., Trial]:
    return Trial


@pytest.fixture(name="session")
def session_fixture() -> Callable[..., NewSession]:
    return session


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def shared_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Twelve sessions, read only."""
    path: Path = tmp_path_factory.mktemp("shared") / "memory.db"
    memory = Memory(path, HashEmbedder())
    for number in range(12):
        memory.add(
            session(
                f"S{number}",
                f"I met friend number {number} in town {number} and we bought {number} red apples.",
                f"Nice, apples of town {number} are good.",
                f"Then we drove {number} kilometres to the sea near Harbour {number}.",
                "That is a fine trip.",
                day=number,
            )
        )
    memory.wait_embedded()
    yield memory
    memory.close()
