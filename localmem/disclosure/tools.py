"""The controller's seven tools (APDMem 3.2), each a function of its action, in one table.

A tool looks and opens; :class:`~localmem.disclosure.state.State` takes in what it found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from localmem.disclosure.budget import Cost, Meter
from localmem.disclosure.evidence import Piece
from localmem.disclosure.interpret_dates import interpret_dates
from localmem.disclosure.reading import TURNS, Reader
from localmem.disclosure.sessions import FindSessions
from localmem.disclosure.state import State
from localmem.steps import (
    TOOL_NAMES,
    Action,
    Call,
    Decompose,
    Found,
    InterpretDates,
    Level,
    Opened,
    ReadFacts,
    ReadRaw,
    ReadTurns,
    Reflect,
    Reflection,
    Search,
)

SUMMARIES = 3
"""Matching turns of a session whose summaries a search shows."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What the tools work with."""

    find: FindSessions
    reader: Reader
    decompose: Callable[[State], Sequence[str]]
    reflect: Callable[[State], Reflection]
    meter: Meter


Result = tuple[Call, list[Piece]]
"""What a tool did, and what it brought."""


def search(desk: Desk, state: State, action: Search) -> Result:
    """Find sessions by summary, and read the facts of the best that were not opened yet (auto-drill)."""
    most = min(state.limits.queries, desk.meter.left().calls)
    action = replace(action, queries=tuple(dict.fromkeys(action.queries))[:most])
    hits = desk.find(action.queries, state.limits.sessions, action.after, action.before)
    desk.meter.ledger.retrieval_calls += len(action.queries)
    found = tuple(Found(hit.session_id, hit.score, tuple(hit.turns[:SUMMARIES])) for hit in hits)
    pieces = [piece for one in found for piece in desk.reader.summaries(one.session_id, one.turns)]
    opened = []
    fresh = [one.session_id for one in found if one.session_id not in state.drilled]
    auto = 0 if TOOL_NAMES[ReadFacts] in state.limits.without else state.limits.auto_drilled
    for session in fresh[: min(auto, state.limits.drilled - len(state.drilled))]:
        if desk.meter.lacks(Cost(records=_beyond(state, pieces) + 1)):
            break
        facts = _within(desk, state, pieces, desk.reader.bullets(session, Level.FACTS))
        pieces += facts
        opened.append(_opened(session, Level.FACTS, facts))
    return Call(action, found=found, opened=tuple(opened)), pieces


def read_facts(desk: Desk, state: State, action: ReadFacts) -> Result:
    """A session's facts (L1)."""
    return _read(
        desk, state, action, Level.FACTS, lambda: desk.reader.bullets(action.session_id, Level.FACTS)
    )


def read_turns(desk: Desk, state: State, action: ReadTurns) -> Result:
    """A session's notes by turn (L2)."""
    return _read(
        desk, state, action, Level.NOTES, lambda: desk.reader.bullets(action.session_id, Level.NOTES)
    )


def read_raw(desk: Desk, state: State, action: ReadRaw) -> Result:
    """The messages of the most relevant turns (L3)."""
    left = state.limits.raw_turns - len(state.raw_turns)
    if left <= 0:
        return Call(action, told=f"{state.limits.raw_turns} turns were read word by word, no more are"), []
    most = min(left, len(action.turns) or TURNS)
    known = {turn for session, turn in state.raw_turns if session == action.session_id}

    def read() -> list[Piece]:
        return desk.reader.raw(action.session_id, action.turns, most, known)

    return _read(desk, state, action, Level.RAW, read)


def interpret(desk: Desk, state: State, action: InterpretDates) -> Result:
    """The days that the words of a text mean."""
    found = interpret_dates(action.text, state.asked)
    return Call(action, told=str(found).replace("\n", "; ")), []


def decompose(desk: Desk, state: State, action: Decompose) -> Result:
    """The queries that must be met."""
    return Call(action, parts=tuple(desk.decompose(state))[: state.limits.queries]), []


def reflect(desk: Desk, state: State, action: Reflect) -> Result:
    """Whether the evidence is enough. After the last round it is: nothing would come of another query."""
    if state.rounds >= state.limits.rounds:
        return Call(action, reflection=Reflection(True), told="no more rounds"), []
    reflection = desk.reflect(state)
    new = [query for query in reflection.queries if query not in state.tried][: state.limits.queries]
    sufficient = reflection.sufficient or not new
    return Call(action, reflection=replace(reflection, sufficient=sufficient, queries=tuple(new))), []


TOOLS: Mapping[type[Action], Callable[[Desk, State, Any], Result]] = {
    Search: search,
    ReadFacts: read_facts,
    ReadTurns: read_turns,
    ReadRaw: read_raw,
    InterpretDates: interpret,
    Decompose: decompose,
    Reflect: reflect,
}


def predicted(action: Action, seconds: Mapping[str, float], name: str) -> Cost:
    """What an action costs at the least, so that it is worth starting: ``seconds`` are averages by tool."""
    calls = 1 if isinstance(action, Search) else 0
    records = 1 if isinstance(action, ReadFacts | ReadTurns | ReadRaw) else 0
    return Cost(calls=calls, records=records, seconds=seconds.get(name, 0.0))


_Reading = TypeVar("_Reading", ReadFacts, ReadTurns, ReadRaw)


def _read(
    desk: Desk, state: State, action: _Reading, level: Level, read: Callable[[], list[Piece]]
) -> Result:
    session = action.session_id
    if session not in state.found and session not in state.drilled:
        return Call(action, told="no search found this session"), []
    if not state.room(session):
        return Call(action, told=f"{state.limits.drilled} sessions are open, no more are"), []
    if level is not Level.RAW and level in state.drilled.get(session, ()):
        return Call(action, told="was read before"), []
    pieces = _within(desk, state, [], read())
    return Call(action, opened=(_opened(session, level, pieces),)), pieces


def _within(desk: Desk, state: State, taken: Sequence[Piece], pieces: Sequence[Piece]) -> list[Piece]:
    """Of ``pieces``, most relevant first, those for whose messages the budget has room."""
    room = desk.meter.left().records - _beyond(state, taken)
    known = {*state.evidence.messages(), *(i for piece in taken for i in piece.messages)}
    kept = []
    for piece in pieces:
        fresh = set(piece.messages) - known
        if len(fresh) > room:
            continue
        room -= len(fresh)
        known |= fresh
        kept.append(piece)
    return kept


def _beyond(state: State, pieces: Iterable[Piece]) -> int:
    """How many messages behind ``pieces`` are not in the evidence yet."""
    return len({i for piece in pieces for i in piece.messages} - state.evidence.messages().keys())


def _opened(session: int, level: Level, pieces: Sequence[Piece]) -> Opened:
    return Opened(session, level, tuple(sorted({i for piece in pieces for i in piece.messages})))
