"""What was done and found so far, in short lines for a model."""

from __future__ import annotations

from collections.abc import Sequence

from localmem.disclosure.evidence import Piece
from localmem.disclosure.state import State
from localmem.steps import TOOL_NAMES, Call, Kind, ReadFacts, ReadRaw, ReadTurns, Reflect, Search
from localmem.text import fenced

LINES = 8
"""The latest calls; older ones say little."""
CHARACTERS = 200
"""Of a quoted fact."""
SESSIONS = 10
"""Ids that a line names."""
LAST = "this is the last step: answer"
NUDGE = "new facts were read since the last check: reflect before you answer"


def progress(state: State, facts: Sequence[Piece]) -> list[str]:
    """One line for each call, with the most relevant of ``facts`` that it opened, quoted."""
    lines = []
    for step in state.steps:
        lines += [_line(call, facts) for call in step.calls]
        if step.kind is Kind.NUDGE:
            lines.append(NUDGE)
    if state.concluding:
        lines.append(LAST)
    return lines[-LINES:]


def first_line(pieces: Sequence[Piece]) -> str:
    """The first of some pieces on one short line."""
    return _quoted(pieces[0].text) if pieces else "nothing to tell"


def _line(call: Call, facts: Sequence[Piece]) -> str:
    match call.action:
        case Search(queries=queries):
            text = "search " + ", ".join(f'"{_quoted(query)}"' for query in queries)
            text += f": found {_sessions([one.session_id for one in call.found])}"
            if not call.opened:
                return text
            return f"{text}; read_facts of {_opened(call, facts)}"
        case ReadFacts() | ReadTurns() | ReadRaw() if call.opened:
            return f"{TOOL_NAMES[type(call.action)]} of {_opened(call, facts)}"
        case Reflect() if call.reflection is not None:
            if call.reflection.sufficient:
                return "reflect: the evidence is sufficient"
            return "reflect: not sufficient, new queries: " + "; ".join(call.reflection.queries)
    told = ", ".join(call.parts) or call.told
    return f"{TOOL_NAMES[type(call.action)]}: {told}"


def _opened(call: Call, facts: Sequence[Piece]) -> str:
    sessions = _sessions([one.session_id for one in call.opened])
    here = {one.session_id: set(one.messages) for one in call.opened}
    best = [f for f in facts if not here.get(f.session_id, set()).isdisjoint(f.messages)][:1]
    return f'{sessions}: "{_quoted(best[0].text)}"' if best else f"{sessions}: nothing to tell"


def _sessions(ids: Sequence[int]) -> str:
    if not ids:
        return "no session"
    return ("session " if len(ids) == 1 else "sessions ") + ", ".join(map(str, ids[:SESSIONS]))


def _quoted(text: str) -> str:
    line = fenced(text).replace('"', "'")  # it may not end its own quotation
    return line if len(line) <= CHARACTERS else line[:CHARACTERS].rsplit(" ", 1)[0] + " ..."
