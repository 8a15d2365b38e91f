"""A search as it is typed: words with filters among them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from localmem.entries import Layer
from localmem.errors import BadInput
from localmem.index.tokens import terms
from localmem.memory import Memory
from localmem.steps import Level
from localmem.tui.reading import with_titles
from localmem.tui.text import one_line, speaker
from localmem.types import Message

FOUND = 50
"""Lines that are shown."""
LOOKED_AT = 500
"""Messages that are searched for, when only some of them, or what was made of them, is to be shown."""

_FILTER = re.compile(r"(?<!\S)(after|before|by|in):(\S*)")


@dataclass(frozen=True, slots=True)
class Line:
    """Something that was found."""

    message: Message
    """Where it was said."""
    title: str
    """Of the session."""
    text: str


@dataclass(frozen=True, slots=True)
class Sought:
    """What is looked for."""

    words: str
    after: datetime | None = None
    """Sent on that day or later."""
    before: datetime | None = None
    """Sent before that day."""
    by: str = ""
    """The beginning of the speaker's name, as it is shown; empty: anybody."""
    level: Level = Level.RAW
    """The layer that is searched."""

    def find(self, memory: Memory) -> list[Line]:
        """The best lines of the layer: those made from the best messages, best first."""
        only_some = self.by or self.level is not Level.RAW
        hits = memory.search(
            self.words, LOOKED_AT if only_some else FOUND, after=self.after, before=self.before
        )
        messages = [h.message for h in hits if speaker(h.message).casefold().startswith(self.by.casefold())]
        if self.level is Level.RAW:
            found = [(message, message.text) for message in messages[:FOUND]]
        else:
            found = self._made_from(memory, Layer(self.level.value), messages)[:FOUND]
        titled = with_titles(memory, [message for message, _ in found])
        return [Line(message, title, text) for (message, title), (_, text) in zip(titled, found, strict=True)]

    def _made_from(
        self, memory: Memory, layer: Layer, messages: Sequence[Message]
    ) -> list[tuple[Message, str]]:
        rank = {message.id: place for place, message in enumerate(messages)}
        words = set(terms(self.words))
        lines = []
        for line in memory.lines_from(layer, list(rank)):
            best = min(rank[i] for i in line.messages if i in rank)
            # Of a message that says much, what was asked for comes first.
            lines.append((best, -len(words.intersection(terms(line.text))), line.text))
        return [(messages[best], text) for best, _, text in sorted(lines)]


def read_sought(text: str) -> Sought:
    """Take the filters out of what was typed. Raises :class:`BadInput` for one that cannot be read."""
    given: dict[str, str] = dict(_FILTER.findall(text))
    words = " ".join(_FILTER.sub(" ", text).split())
    return Sought(words, _day(given, "after"), _day(given, "before"), given.get("by", ""), _level(given))


def _level(given: dict[str, str]) -> Level:
    name = given.get("in", Level.RAW.value)
    if name not in {level.value for level in Level}:
        layers = ", ".join(f"in:{level.value}" for level in Level)
        raise BadInput(f"There is no layer {one_line(name, 20)!r}. Layers: {layers}.")
    return Level(name)


def _day(given: dict[str, str], name: str) -> datetime | None:
    value = given.get(name)
    if value is None:
        return None
    try:
        return datetime.strptime(value, "%Y-%m-%d")
    except ValueError as error:
        raise BadInput(
            f"{name}:{one_line(value, 20)} is not a day. Write it like {name}:2024-01-31."
        ) from error
