"""The controller's decisions by a model: the tool as an enumeration, then its typed arguments.

Arguments are asked for with the tasks that the capability probe poses: the queries of a search are those of a
decomposition or reflection, the sessions to open are selected by number from what is known of them. Where a
call fails, the twin decides this step, and the ledger counts it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from pydantic import BaseModel

from localmem.disclosure.evidence import Piece
from localmem.disclosure.progress import first_line, progress
from localmem.disclosure.state import State
from localmem.models.protocols import ChatMessage, ChatModel
from localmem.models.structured import Structured
from localmem.roles import controller as role
from localmem.roles.controller import REFLECT, Tool
from localmem.roles.task import or_rule
from localmem.roles.window import pieces_that_fit
from localmem.steps import (
    Action,
    Decision,
    Decompose,
    Draft,
    InterpretDates,
    Level,
    ReadFacts,
    ReadRaw,
    ReadTurns,
    Reflect,
    Reflection,
    Search,
)
from localmem.text import fenced
from localmem.types import Ledger

CANDIDATES = 8
"""Sessions that a model selects from."""
FACTS = 16
"""Most relevant facts that a reflection reads."""
LONGEST = 1000
"""Characters of a fact that it reads; a pasted page is not one."""

T = TypeVar("T", bound=BaseModel)
V = TypeVar("V")


class ByModel:
    """Asks ``model``; ``twin``, ``twin_decompose`` and ``twin_reflect`` stand in for it."""

    def __init__(
        self,
        model: ChatModel,
        ledger: Ledger,
        twin: Callable[[State], Decision],
        twin_decompose: Callable[[State], Sequence[str]],
        twin_reflect: Callable[[State], Reflection],
        relevance: Callable[[Sequence[int]], float],
        cancel: threading.Event | None = None,
    ) -> None:
        """``relevance`` scores messages for the question."""
        self._model = model
        self._ledger = ledger
        self._twin = twin
        self._twin_decompose = twin_decompose
        self._twin_reflect = twin_reflect
        self._relevance = relevance
        self._cancel = cancel

    def __call__(self, state: State) -> Decision:
        """The next response. A reflection that found the evidence sufficient leaves nothing to ask."""
        if state.reflection is not None and state.reflection.sufficient and not state.grown:
            return Draft()
        lines = progress(state, self._facts(state))
        tool = self._or_rule(
            lambda: role.choose(self._model, state.question.text, lines, cancel=self._cancel),
            lambda choice: choice.tool,
            lambda: None,
        )
        if tool is None:
            return self._twin(state)
        decision = () if tool is Tool.ANSWER and not state.tried else self._with_arguments(tool, state)
        if decision == ():
            self._ledger.fallbacks.append(f"controller: it chose {tool}, for which nothing was found yet")
            return self._twin(state)
        return decision

    def decompose(self, state: State) -> Sequence[str]:
        """The queries that must be met."""
        return self._or_rule(
            lambda: role.decompose(self._model, state.question.text, cancel=self._cancel),
            lambda made: [query for query in made.queries if query.strip()],
            lambda: list(self._twin_decompose(state)),
        )

    def reflect(self, state: State) -> Reflection:
        """Is the evidence enough?"""
        known = [fenced(piece.text) for piece in self._facts(state)]
        facts = [fact for fact in known if len(fact) <= LONGEST][:FACTS]

        def ask() -> Structured[role.Reflection]:
            return role.reflect(
                self._model,
                state.question.text,
                state.tried,
                facts[: self._fitting(state, facts)],
                cancel=self._cancel,
            )

        def read(made: role.Reflection) -> Reflection:
            queries = tuple(query for query in made.queries if query.strip())
            return Reflection(made.sufficient, tuple(made.found), tuple(made.gaps), queries)

        return self._or_rule(ask, read, lambda: self._twin_reflect(state))

    def _with_arguments(self, tool: Tool, state: State) -> Decision:
        match tool:
            case Tool.ANSWER:
                return Draft()
            case Tool.REFLECT:
                return (Reflect(),)
            case Tool.DECOMPOSE:
                return (Decompose(),)
            case Tool.INTERPRET_DATES:
                return (InterpretDates(state.question.text),)
            case Tool.SEARCH:
                queries = state.pending or tuple(self.decompose(state))
                return (Search((state.question.text, *queries) if not state.tried else queries),)
            case Tool.READ_FACTS:
                return tuple(map(ReadFacts, self._selected(state, state.unexplored, Level.SUMMARY)))
            case Tool.READ_TURNS:
                closed = [s for s, levels in state.drilled.items() if Level.NOTES not in levels]
                return tuple(map(ReadTurns, self._selected(state, closed, Level.FACTS)))
            case Tool.READ_RAW:
                return tuple(map(_raw, self._selected(state, list(state.drilled), Level.FACTS)))

    def _selected(self, state: State, sessions: Sequence[int], known_by: Level) -> list[int]:
        """Which sessions to open, chosen by the best that is known of each; none: there is no choice."""
        offered = sorted(sessions, key=lambda s: -state.found[s].score if s in state.found else 0.0)
        offered = offered[:CANDIDATES]
        if len(offered) < 2:
            return offered
        known = [first_line(self._facts(state, known_by, session)) for session in offered]
        return self._or_rule(
            lambda: role.select(self._model, state.question.text, known, cancel=self._cancel),
            lambda made: [offered[int(number) - 1] for number in dict.fromkeys(made.numbers)],
            lambda: offered[:1],
        )

    def _facts(self, state: State, level: Level | None = None, session: int | None = None) -> list[Piece]:
        """Pieces of the evidence, most relevant first; without a level all but summaries."""
        pieces = state.evidence.pieces(level, session)
        if level is None:
            pieces = [piece for piece in pieces if piece.level is not Level.SUMMARY]
        return sorted(pieces, key=lambda piece: -self._relevance(piece.messages))

    def _fitting(self, state: State, facts: Sequence[str]) -> int:
        """How many facts the window has room for; 0 too when the call does not fit, and will say so."""
        fixed = REFLECT.fixed(self._model)

        def build(count: int) -> list[ChatMessage]:
            ask = role.reflection_ask(state.question.text, state.tried, facts[:count])
            return [*fixed, ask]

        return pieces_that_fit(self._model, build, len(facts), REFLECT.max_tokens) or 0

    def _or_rule(
        self, by_model: Callable[[], Structured[T]], convert: Callable[[T], V], by_rule: Callable[[], V]
    ) -> V:
        outcome = or_rule(by_model, convert, by_rule)
        if outcome.fallback is not None:
            self._ledger.fallbacks.append(f"controller: {outcome.fallback}")
        return outcome.value


def _raw(session: int) -> Action:
    return ReadRaw(session)
