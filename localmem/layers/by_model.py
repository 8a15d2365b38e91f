"""L0 to L2 by a model: its statements, each held against its messages before it may stand.

The model writes the sentence of a summary, and bullets; keywords and tags stay rule-made. What it wrote
of a scope replaces the rule's only as a whole.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from localmem.entries import Bullet, Content, Layer, Scope
from localmem.errors import PromptTooLong
from localmem.index.tokens import terms
from localmem.layers import bullets
from localmem.layers.grounding import Grounding
from localmem.layers.shorten import shortened
from localmem.layers.summary import WORDS, summarise
from localmem.models.protocols import ChatModel
from localmem.roles import summariser
from localmem.roles.summariser import turn_text
from localmem.types import Message, Origin

WINDOW = 4
"""Turns that the model sees at once (APDMem, Table 5); one of them is the overlap."""
WINDOW_CHARACTERS = 6_000
SESSION_CHARACTERS = 12_000
"""Of a session that goes in at once; a longer one goes in by parts."""

_NUMBERING = 6  # characters: "123. " and the line's end
_NUMBERING = 6  # characters: "123. " and the line's end
Turn = Sequence[Message]


@dataclass(frozen=True, slots=True)
class Written:
    """What a model made of a scope."""

    scope: Scope
    read: tuple[Message, ...]
    """All messages that it saw."""
    content: Content | None
    """None: nothing that may stand."""
    rejected: tuple[str, ...] = ()
    """Why statements were left out."""

    @property
    def reason(self) -> str:
        """Why there is no content."""
        return "; ".join(self.rejected[:3]) or "the model said nothing"


@dataclass(frozen=True, slots=True)
class Window:
    """Turns to be written of, and the one before them, which explains what they refer to."""

    before: tuple[Message, ...]
    turns: tuple[tuple[Message, ...], ...]

    @property
    def read(self) -> tuple[Message, ...]:
        """All its messages."""
        return (*self.before, *(message for turn in self.turns for message in turn))


def said(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages that a layer may be made from: said, not recalled, not blank."""
    return tuple(m for m in messages if m.origin is Origin.SAID and (m.text + m.attachments).strip())


def windows(turns: Sequence[Turn], wanted: Sequence[int]) -> Iterator[Window]:
    """Windows over the ``wanted`` places of a session's ``turns``, in order: four turns, one of overlap.

    They depend on what is wanted from their place on only, so that work that was broken off goes on alike.
    """
    left = [place for place in wanted if said(turns[place])]
    while left:
        first = left[0]
        before = said(turns[first - 1]) if first else ()
        size = len(turn_text(before)) if before else 0
        taken: list[int] = []
        for place in left[: WINDOW - bool(before)]:
            length = len(turn_text(said(turns[place]))) + _NUMBERING
            if taken and (place != taken[-1] + 1 or size + length > WINDOW_CHARACTERS):
                break
            taken.append(place)
            size += length
        if size > WINDOW_CHARACTERS:
            before = ()
        yield Window(before, tuple(said(turns[place]) for place in taken))
        left = left[len(taken) :]


def summaries(
    model: ChatModel, window: Window, cancel: threading.Event | None, deadline: float | None
) -> list[Written]:
    """L0 of a window's turns. Raises what :func:`localmem.models.structured.ask` raises."""
    try:
        told = summariser.summarise(
            model, window.turns, before=window.before, cancel=cancel, deadline=deadline
        ).value.summaries
    except PromptTooLong:
        smaller = _smaller(window)
        if not smaller:
            raise
        return [w for part in smaller for w in summaries(model, part, cancel, deadline)]
    written = []
    context = list(window.before)
    for turn, sentence in zip(window.turns, told, strict=True):
        context += turn
        text = shortened(sentence, WORDS, "")
        wrong = Grounding(context).unsupported(text)
        content = None if wrong else replace(summarise(turn), text=text)
        reasons = tuple(map(str, wrong))
        written.append(Written(_scope(Layer.SUMMARY, turn), window.read, content, reasons))
    return written


def notes(
    model: ChatModel, window: Window, cancel: threading.Event | None, deadline: float | None
) -> list[Written]:
    """L2 of a window's turns. A turn of which nothing stands that a rule finds notes in has failed."""
    messages = [message for turn in window.turns for message in turn]
    good, bad = _facts(model, messages, cancel, deadline)
    written = []
    for turn in window.turns:
        ids = {message.id for message in turn}
        content = tuple(bullet for bullet in good if bullet.messages[0] in ids)
        rejected = tuple(reason for message_id, reason in bad if message_id in ids)
        missing = not content and bool(rejected or bullets.notes(turn))
        scope = _scope(Layer.NOTES, turn)
        written.append(Written(scope, tuple(messages), None if missing else content, rejected))
    return written


def facts(
    model: ChatModel, messages: Sequence[Message], cancel: threading.Event | None, deadline: float | None
) -> Written:
    """L1 of a session: by parts, then merged without repetitions, at most 25, in order of time."""
    messages = said(messages)
    scope = Scope(Layer.FACTS, messages[0].session_id, None)
    good: list[Bullet] = []
    bad: list[str] = []
    for part in _parts(messages):
        found, wrong = _facts(model, part, cancel, deadline)
        good += found
        bad += [reason for _, reason in wrong]
    by_rule = bullets.facts(messages)
    content = _merged(good)
    if len(content) < min(bullets.FEWEST, len(by_rule)):
        bad.append(f"only {len(content)} of its statements stand, a rule finds {len(by_rule)}")
        return Written(scope, messages, None, tuple(bad))
    return Written(scope, messages, content, tuple(bad))


def _facts(
    model: ChatModel, messages: Sequence[Message], cancel: threading.Event | None, deadline: float | None
) -> tuple[list[Bullet], list[tuple[int, str]]]:
    """Bullets that stand, and for each that does not the message it named and why."""
    try:
        reply = summariser.extract_facts(model, messages, cancel=cancel, deadline=deadline).value
    except PromptTooLong:
        if len(messages) == 1:
            raise
        middle = len(messages) // 2
        halves = [_facts(model, half, cancel, deadline) for half in (messages[:middle], messages[middle:])]
        return halves[0][0] + halves[1][0], halves[0][1] + halves[1][1]
    good: list[Bullet] = []
    bad: list[tuple[int, str]] = []
    for fact in reply.facts:
        place = fact.message - 1
        # A fact may need the message before it, whose question it answers.
        wrong = Grounding(messages[max(place - 1, 0) : place + 1]).unsupported(fact.fact)
        if wrong:
            bad.append((messages[place].id, str(wrong[0])))
        else:
            good.append(Bullet(fact.fact, (messages[place].id,)))
    return good, bad


def _smaller(window: Window) -> list[Window]:
    """Windows that hold less, together of the same turns; none when it is one turn alone."""
    if window.before:
        return [Window((), window.turns)]
    middle = len(window.turns) // 2
    return [Window((), window.turns[:middle]), Window((), window.turns[middle:])] if middle else []


def _parts(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """A session by parts of at most 12,000 characters, whole messages each."""
    part: list[Message] = []
    size = 0
    for message in messages:
        length = len(turn_text([message])) + _NUMBERING
        if part and size + length > SESSION_CHARACTERS:
            yield part
            part, size = [], 0
        part.append(message)
        size += length
    yield part


def _merged(found: Sequence[Bullet]) -> tuple[Bullet, ...]:
    """Without what tells the same; of too many, an even choice over the session."""
    kept: list[Bullet] = []
    have: list[set[str]] = []
    for bullet in found:
        words = set(terms(bullet.text))
        if not any(bullets.same(words, other) for other in have):
            kept.append(bullet)
            have.append(words)
    step = max(len(kept) / bullets.FACTS, 1)
    return tuple(kept[int(i * step)] for i in range(min(len(kept), bullets.FACTS)))


def _scope(layer: Layer, turn: Turn) -> Scope:
    return Scope(layer, turn[0].session_id, turn[0].turn)


def by_turn(messages: Sequence[Message]) -> list[list[Message]]:
    """A session's messages by turn."""
    return [list(group) for _, group in groupby(messages, key=lambda message: message.turn)]
