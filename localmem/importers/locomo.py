"""LoCoMo: conversations of two people over many sessions (snap-research/LoCoMo, ``locomo10.json``).

An array of objects ``{sample_id, conversation: {session_1: [...], session_1_date_time: ...}}``; a message is
``{speaker, dia_id, text, blip_caption?}``. Questions and summaries in the file are no conversation and are
not read here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from localmem.errors import ImportFailed
from localmem.importers.base import Conversation, each
from localmem.importers.fields import (
    Record,
    described,
    new_name,
    optional_text,
    required_list,
    required_name,
    required_object,
    required_text,
    unique,
)
from localmem.importers.inputs import Source
from localmem.importers.json_stream import Shape, records
from localmem.types import NewMessage, NewSession, Role

_SESSION = re.compile(r"session_(\d+)")
_TIME = re.compile(r"(\d{1,2}):(\d\d) ([ap])m on (\d{1,2}) ([a-z]+),? (\d{4})", re.IGNORECASE)
# strptime and calendar follow the locale of the program; the file is always English.
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)


class LoCoMo:
    """The importer: one NewSession for each ``session_N`` that has messages, in the order of N.

    Both speakers are people, so every message has the role USER; their names tell them apart. All
    messages of a session carry the session's time, the only one there is. A photo's caption goes to
    ``attachments``.
    """

    name = "locomo"
    looks_for = "a JSON array of objects with a `conversation` of `session_1`, `session_2` ..."
    groups = True

    def matches(self, source: Source, head: Shape) -> bool:
        """Whether the first record has a ``conversation`` with numbered sessions."""
        sessions = [key for key in head.keys if key.startswith("conversation.session_")]
        return head.top == "array" and bool(sessions)

    def read(self, source: Source, skipped: Counter[str]) -> Iterator[Conversation | ImportFailed]:
        """Yield the conversations; see :class:`localmem.importers.base.Importer`."""
        taken: set[str] = set()

        def parse(record: Record, place: str, counted: Counter[str]) -> Conversation:
            new_name(record, "sample_id", place, taken)
            return list(conversation_of(record, place, counted))

        return each(records(source), skipped, parse)


def conversation_of(record: Record, place: str, skipped: Counter[str]) -> Iterator[NewSession]:
    """Yield the sessions of one record; raises :class:`ImportFailed` with place and session."""
    source = required_name(record, "sample_id", place)
    conversation = required_object(record.get("conversation"), f"{place}, conversation")
    for key in _sessions(conversation):
        messages = required_list(conversation, key, place)
        if messages:
            yield _session(source, key, messages, conversation, f"{place}, {key}")
        else:
            skipped["session without messages"] += 1


def _sessions(conversation: Record) -> list[str]:
    """Keys of the sessions by number. Some files list dates past the last session: no session, no loss."""
    numbers = {key: int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key))}
    return sorted(numbers, key=numbers.__getitem__)


def _session(source: str, key: str, raw: list[object], conversation: Record, place: str) -> NewSession:
    stamp = optional_text(conversation, f"{key}_date_time", place)
    started = _time(stamp, place) if stamp else None
    taken: set[str] = set()
    messages = []
    for number, value in enumerate(raw, 1):
        where = f"{place}, message {number}"
        message = required_object(value, where)
        messages.append(
            NewMessage(
                role=Role.USER,
                text=required_text(message, "text", where),
                speaker=required_text(message, "speaker", where),
                sent_at=started,
                external_id=unique(required_name(message, "dia_id", where), taken),
                attachments=optional_text(message, "blip_caption", where),
            )
        )
    return NewSession(source=source, external_id=key, messages=tuple(messages), started_at=started)


def _time(text: str, place: str) -> datetime:
    """``1:56 pm on 8 May, 2023`` as a naive time: the zone is not known."""
    match = _TIME.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError(text)
        hour, minute, half, day, month, year = match.groups()
        if not 1 <= int(hour) <= 12:
            raise ValueError(text)
        hour24 = int(hour) % 12 + (12 if half.lower() == "p" else 0)
        return datetime(int(year), _MONTHS.index(month.lower()) + 1, int(day), hour24, int(minute))
    except ValueError as error:
        raise ImportFailed(
            f"{place}: the time must read like 1:56 pm on 8 May, 2023, found {described(text)}."
        ) from error
