"""A step as it is kept in a trace, and back.

Of memory there are only ids. Queries, parts and proposals are the controller's words and may quote what
it read, which a later forgetting must not miss: a word that is neither one of the question's own nor as
common as "the" is left out, and a gap shown in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime
from typing import Any

from localmem.disclosure.evidence import Piece
from localmem.disclosure.reading import Reader
from localmem.disclosure.state import State
from localmem.index.tokens import STOP_WORDS, terms
from localmem.steps import (
    TOOL_NAMES,
    Action,
    Call,
    Found,
    InterpretDates,
    Kind,
    Level,
    Opened,
    Reflection,
    Search,
    Step,
)
from localmem.types import Ledger

GAP = "…"
"""In place of words that are not the question's own."""

_TYPES: dict[str, type[Action]] = {name: kind for kind, name in TOOL_NAMES.items()}
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_GAPS = re.compile(rf"{GAP}(?:\W*{GAP})+")
_COUNTED = ("retrieval_calls", "model_calls", "tokens_read", "tokens_reused", "tokens_written")


def own_words(text: str, question: str) -> str:
    """``text`` with a gap for each word that does not stand in ``question`` and is no stop word."""
    asked = set(terms(question))

    def kept(match: re.Match[str]) -> str:
        word = match[0]
        own = set(terms(word))
        return word if own <= asked and (own or word.lower() in STOP_WORDS) else GAP

    return _GAPS.sub(GAP, _WORD.sub(kept, text))


def step_to_json(step: Step, question: str, ledger: Ledger) -> dict[str, Any]:
    """A step, and what the answer had cost by its end."""
    return {
        "kind": step.kind,
        "seconds": round(step.seconds, 4),
        "calls": [_call_to_json(call, question) for call in step.calls],
        "spent": {**{name: getattr(ledger, name) for name in _COUNTED}, "seconds": ledger.seconds},
        "fallbacks": ledger.fallbacks_before + len(ledger.fallbacks),
    }


def step_from_json(number: int, body: dict[str, Any]) -> Step:
    """A step out of a trace."""
    return Step(number, Kind(body["kind"]), tuple(map(_call_from_json, body["calls"])), body["seconds"])


def resume(state: State, ledger: Ledger, steps: Iterable[dict[str, Any]], reader: Reader) -> list[Step]:
    """Take saved steps in again, reading anew what they had opened; what was forgotten since stays away."""
    taken = []
    for number, body in enumerate(steps, 1):
        step = step_from_json(number, body)
        for call in step.calls:
            state.take(call, _read_again(call, reader))
        state.close_step(step)
        taken.append(step)
        _spent_before(ledger, body)
    ledger.steps = len(state.steps)
    ledger.records = len(state.evidence.messages())
    return taken


def _spent_before(ledger: Ledger, body: dict[str, Any]) -> None:
    """Set a ledger to what an answer had cost at a step's end."""
    for name in _COUNTED:
        setattr(ledger, name, body["spent"][name])
    ledger.seconds = dict(body["spent"]["seconds"])
    ledger.fallbacks_before = body["fallbacks"]


def day_or_time(text: str) -> date | datetime:
    """What ``isoformat`` of a date or a datetime gave."""
    return datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)


def _read_again(call: Call, reader: Reader) -> list[Piece]:
    pieces = [piece for one in call.found for piece in reader.summaries(one.session_id, one.turns)]
    for opened in call.opened:
        if opened.level is Level.RAW:
            pieces += reader.raw_again(opened.messages)
            continue
        known = set(opened.messages)
        bullets = reader.bullets(opened.session_id, opened.level) if known else []
        pieces += [piece for piece in bullets if known.issuperset(piece.messages)]
    return pieces


def _call_to_json(call: Call, question: str) -> dict[str, Any]:
    action = call.action
    body: dict[str, Any] = {
        "tool": TOOL_NAMES[type(action)],
        "seconds": round(call.seconds, 4),
        "new": call.new,
    }
    match action:
        case Search():
            body["queries"] = _own(action.queries, question)
            body["after"], body["before"] = (m and m.isoformat() for m in (action.after, action.before))
            body["found"] = [[one.session_id, one.score, list(one.turns)] for one in call.found]
        case InterpretDates():
            body["text"] = own_words(action.text, question)
        case _ if hasattr(action, "session_id"):
            body["session"], body["turns"] = action.session_id, list(getattr(action, "turns", ()))
    body["opened"] = [[one.session_id, one.level, list(one.messages)] for one in call.opened]
    body["parts"] = _own(call.parts, question)
    if call.reflection is not None:
        body["sufficient"], body["next"] = call.reflection.sufficient, _own(call.reflection.queries, question)
    return body


def _own(texts: Iterable[str], question: str) -> list[str]:
    return [own_words(text, question) for text in texts]


def _call_from_json(body: dict[str, Any]) -> Call:
    reflection = None
    if "sufficient" in body:
        reflection = Reflection(body["sufficient"], queries=tuple(q for q in body["next"] if GAP not in q))
    return Call(
        action=_action(body),
        new=body["new"],
        found=tuple(Found(session, score, tuple(turns)) for session, score, turns in body.get("found", ())),
        opened=tuple(Opened(s, Level(level), tuple(messages)) for s, level, messages in body["opened"]),
        parts=tuple(part for part in body["parts"] if GAP not in part),
        reflection=reflection,
        seconds=body["seconds"],
    )


def _action(body: dict[str, Any]) -> Action:
    if body["tool"] == "search":
        after, before = (m and datetime.fromisoformat(m) for m in (body["after"], body["before"]))
        return Search(tuple(body["queries"]), after, before)
    arguments = {
        "text": body.get("text"),
        "session_id": body.get("session"),
        "turns": tuple(body.get("turns", ())) or None,
    }
    made: Callable[..., Action] = _TYPES[body["tool"]]
    return made(**{name: value for name, value in arguments.items() if value is not None})
