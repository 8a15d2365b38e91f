"""A search as it is typed: words with filters among them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from localmem.errors import BadInput
from localmem.memory import Memory
from localmem.tui.text import one_line, speaker
from localmem.types import Message

FOUND = 50
"""Messages that are shown."""
BY_SPEAKER = 500
"""Messages that are searched for, when only one speaker's are to be shown."""

_FILTER = re.compile(r"(?<!\S)(after|before|by):(\S*)")


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

    def find(self, memory: Memory) -> list[tuple[Message, str]]:
        """The best messages, each with its session's title."""
        hits = memory.search(
            self.words, BY_SPEAKER if self.by else FOUND, after=self.after, before=self.before
        )
        messages = [h.message for h in hits if speaker(h.message).casefold().startswith(self.by.casefold())]
        sessions = {i: memory.session(i) for i in {message.session_id for message in messages[:FOUND]}}
        titles = {i: session.title or session.external_id for i, session in sessions.items()}
        return [(message, titles[message.session_id]) for message in messages[:FOUND]]


def read_sought(text: str) -> Sought:
    """Take the filters out of what was typed. Raises :class:`BadInput` for one that cannot be read."""
    given: dict[str, str] = dict(_FILTER.findall(text))
    words = " ".join(_FILTER.sub(" ", text).split())
    return Sought(words, _day(given, "after"), _day(given, "before"), given.get("by", ""))


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
