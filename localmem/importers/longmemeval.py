"""LongMemEval: a question with its own history of user-assistant chats (xiaowu0162/LongMemEval).

An array of objects ``{question_id, haystack_session_ids, haystack_dates, haystack_sessions}``, the three
lists of equal length; a session is a list of ``{role, content}``. The question and its answer are not
read here.
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
    required_list,
    required_name,
    required_object,
    required_text,
    unique,
)
from localmem.importers.inputs import Source
from localmem.importers.json_stream import Shape, records
from localmem.types import NewMessage, NewSession, Role

_TIME = re.compile(r"(\d{4})/(\d\d?)/(\d\d?) \([^)]*\) (\d\d?):(\d\d)")


class LongMemEval:
    """The importer: one NewSession for each session of each history.

    Some histories repeat a session id, even with the same messages. The second one is another session
    at another time, so it comes out as ``ID#2``. Message ids are ``SESSION:INDEX``, from 0.
    """

    name = "longmemeval"
    looks_for = "a JSON array of objects with `question_id` and `haystack_sessions`"
    groups = True

    def matches(self, source: Source, head: Shape) -> bool:
        """Whether the first record has a haystack."""
        return head.top == "array" and "haystack_sessions" in head.keys

    def read(self, source: Source, skipped: Counter[str]) -> Iterator[Conversation | ImportFailed]:
        """Yield the histories; see :class:`localmem.importers.base.Importer`."""
        taken: set[str] = set()

        def parse(record: Record, place: str, counted: Counter[str]) -> Conversation:
            new_name(record, "question_id", place, taken)
            return list(history_of(record, place, counted))

        return each(records(source), skipped, parse)


def history_of(record: Record, place: str, skipped: Counter[str]) -> Iterator[NewSession]:
    """Yield the sessions of one record; raises :class:`ImportFailed` with place and session."""
    source = required_name(record, "question_id", place)
    columns = [
        required_list(record, f"haystack_{column}", place) for column in ("session_ids", "dates", "sessions")
    ]
    if len({len(column) for column in columns}) != 1:
        lengths = ", ".join(str(len(column)) for column in columns)
        raise ImportFailed(
            f"{place}: session ids, dates and sessions of the haystack differ in number: {lengths}."
        )
    taken: set[str] = set()
    for number, (name, date, raw) in enumerate(zip(*columns, strict=True), 1):
        where = f"{place}, haystack session {number}"
        fields = {"id": name, "date": date, "messages": raw}
        session = unique(required_name(fields, "id", where), taken)
        started = date_time(required_text(fields, "date", where), where)
        messages = required_list(fields, "messages", where)
        if messages:
            yield _session(source, session, started, messages, where)
        else:
            skipped["session without messages"] += 1


def _session(source: str, name: str, started: datetime, raw: list[object], place: str) -> NewSession:
    messages = []
    for index, value in enumerate(raw):
        where = f"{place}, message {index + 1}"
        message = required_object(value, where)
        messages.append(
            NewMessage(
                role=_role(message.get("role"), where),
                text=required_text(message, "content", where),
                sent_at=started,
                external_id=f"{name}:{index}",
            )
        )
    return NewSession(source=source, external_id=name, messages=tuple(messages), started_at=started)


def _role(value: object, place: str) -> Role:
    if value in ("user", "assistant"):
        return Role(value)
    raise ImportFailed(f'{place}: "role" must be user or assistant, found {described(value)}.')


def date_time(text: str, place: str) -> datetime:
    """``2023/05/20 (Sat) 02:21`` as a naive time: the zone is not known."""
    match = _TIME.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError(text)
        year, month, day, hour, minute = map(int, match.groups())
        return datetime(year, month, day, hour, minute)
    except ValueError as error:
        raise ImportFailed(
            f"{place}: the date must read like 2023/05/20 (Sat) 02:21, found {described(text)}."
        ) from error
