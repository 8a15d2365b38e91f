"""The lines of the evidence panel: what was required, recalled and cited, and how it was found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.content import Content

from localmem.answering.pinned import LAYER as PINNED
from localmem.answering.required import told_apart
from localmem.memory import Memory
from localmem.steps import (
    Action,
    Call,
    Decompose,
    Kind,
    Level,
    Opened,
    Reflect,
    Search,
    Step,
)
from localmem.tui import reading
from localmem.tui.basis import Basis
from localmem.tui.text import MUTED, counted, one_line, source_of
from localmem.types import Message

LINE = 300
"""Characters of a message in the list."""
ASKED = 120
"""Characters of what is required, or was searched for."""
Row = tuple[Content, Message | None]
"""A line, and the message that it leads to; None: a heading, or nothing to open."""


def rows_of(memory: Memory, basis: Basis) -> list[Row]:
    """The lines for what is known so far; reads memory."""
    return _Rows(memory, basis).all()


class _Rows:
    def __init__(self, memory: Memory, basis: Basis) -> None:
        self._basis = basis
        self._steps = list(basis.steps)
        opened = (one.messages[:1] for call in _calls(self._steps) for one in call.opened)
        ids = [
            *basis.cited,
            *basis.recalled,
            *basis.without,
            *(message_id for need in basis.needs for message_id in need.met_by),
            *(message_id for first in opened for message_id in first),
        ]
        sources = reading.sources_of(memory, list(dict.fromkeys(ids)))
        self._found = {message.id: (message, title) for message, title in sources}

    def all(self) -> list[Row]:
        """Every line, in order."""
        basis = self._basis
        cited = "Cited" if basis.cited else "Nothing is cited" if basis.over else "Nothing is cited yet"
        others = [i for i in basis.recalled if i not in basis.cited]
        pinned = [i for i in others if basis.recalled[i] == PINNED]
        rest = [i for i in others if i not in pinned]
        how = ("How it was found", self._how())
        parts = (
            *(() if basis.over else (how,)),  # while it works, what it does is seen first
            ("What the question requires", self._needs()),
            ("Pinned", self._lines(pinned)),
            (cited, self._lines(basis.cited, numbered=True)),
            ("Recalled too", self._lines(rest)),
            ("Left out of this answer: n takes one in again", self._lines(sorted(basis.without))),
            *((how,) if basis.over else ()),
        )
        rows: list[Row] = []
        for heading, lines in parts:
            told = list(lines)
            if told or heading == cited:
                rows += [(Content.styled(heading, "bold $text-primary"), None), *told]
        return rows

    def _needs(self) -> Iterator[Row]:
        for need in told_apart(self._basis.needs):
            text = f"“{one_line(need.text, ASKED)}”"
            if need.met_by:
                yield Content(text), None
                yield from (self._line("  → ", message_id) for message_id in need.met_by)
            else:
                yield Content.assemble(f"{text}: ", ("not found", "$text-warning")), None

    def _lines(self, ids: Iterable[int], *, numbered: bool = False) -> Iterator[Row]:
        for number, message_id in enumerate(ids, 1):
            yield self._line(f"[{number}] " if numbered else "", message_id)

    def _line(self, begin: str, message_id: int) -> Row:
        """A message with where it stands; the layer it was read at, unless that is the message itself."""
        if message_id not in self._found:
            return Content.styled(f"{begin}no longer there", MUTED), None
        message, title = self._found[message_id]
        layer = self._basis.recalled.get(message_id, Level.RAW)
        notes = [] if layer == Level.RAW else [PINNED if layer == PINNED else f"from the {layer}"]
        notes += ["earlier"] * (message_id in self._basis.earlier)
        note = f" ({', '.join(notes)})" if notes else ""
        where = (f"{source_of(message, title)}{note}: ", MUTED)
        return Content.assemble(begin, where, one_line(message.text, LINE)), message

    # How it was found

    def _how(self) -> Iterator[Row]:
        for step in self._steps:
            if isinstance(step, str):
                yield Content.styled(step, MUTED), None
            elif step.kind is not Kind.CALLS:
                text = (
                    "ready to answer" if step.kind is Kind.DRAFT else "looks at what is new before it answers"
                )
                yield Content.styled(f"{step.number}. {text}", MUTED), None
            else:
                for place, call in enumerate(step.calls):
                    begin = "   " if place else f"{step.number}. "
                    yield from self._call(begin, call)

    def _call(self, begin: str, call: Call) -> Iterator[Row]:
        what = _told(call)
        if what or not call.opened:
            new = f" ({call.new:,} new)" if call.new else ""
            yield Content.styled(f"{begin}{what or 'nothing was there'}{new}", MUTED), None
            begin = "   "
        for opened in call.opened:
            yield self._opened(begin, opened)

    def _opened(self, begin: str, opened: Opened) -> Row:
        """A session that was opened at a layer; it leads to the first message that was read."""
        layer = "messages" if opened.level is Level.RAW else opened.level.value
        lead = next((self._found[i] for i in opened.messages[:1] if i in self._found), None)
        if lead is None:
            return Content.styled(f"{begin}{layer} of a session: nothing to tell", MUTED), None
        message, title = lead
        when = f", {message.sent_at:%Y-%m-%d}" if message.sent_at else ""
        read = f", {len(opened.messages):,} read" if opened.level is Level.RAW else ""
        text = f"{begin}{layer} of {one_line(title)}{when}{read}"
        return Content.styled(text, MUTED), message


def _calls(steps: Iterable[str | Step]) -> Iterator[Call]:
    return (call for step in steps if isinstance(step, Step) for call in step.calls)


def _told(call: Call) -> str:
    """What a call did; empty where what it opened says it."""
    action: Action = call.action
    if call.told:
        return one_line(call.told, LINE)
    if isinstance(action, Search):
        return f"searched for {_quoted(action.queries)}: {counted(len(call.found), 'session')}"
    if isinstance(action, Decompose):
        return f"asks for {_quoted(call.parts)}"
    if isinstance(action, Reflect) and call.reflection is not None:
        if call.reflection.sufficient:
            return "looked again: this is enough"
        more = f", next {_quoted(call.reflection.queries)}" if call.reflection.queries else ""
        return f"looked again: not enough yet{more}"
    return ""


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join(f"“{one_line(text, ASKED)}”" for text in texts)
