"""JSONL: one message a line, ``{session, role, text, at}``; the open format to bring any history in.

Optional for a message: ``speaker``, ``id``, ``attachments``, ``origin`` (``said`` or ``recalled``),
``inferred`` (true: ``at`` is a guess), and ``parent``, where a session has branches: the id of the message
before it, empty for the first. Optional for a session, on any one of its lines: ``source``, ``title``,
``started``, ``tags``, ``archived``, ``system`` (a system prompt), and ``leaf``, the id of the message that
it went on from. Other fields are ignored. ``at`` and ``started`` are ISO 8601, with or without a zone, or
seconds since 1970. ``export --format jsonl`` writes all of it, so that nothing is lost on the way.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import BinaryIO

from localmem.errors import ImportFailed
from localmem.importers.base import Conversation
from localmem.importers.fields import (
    Record,
    described,
    optional_name,
    optional_text,
    required_list,
    required_name,
    required_object,
    required_text,
)
from localmem.importers.inputs import Source
from localmem.importers.json_stream import Shape, not_utf8, reading
from localmem.store.branches import ROOT
from localmem.types import NewMessage, NewSession, Origin, Role

_ROLES = {
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "model": Role.ASSISTANT,
}
_SKIPPED_ROLES = frozenset({"system", "tool"})
_HEAD = 16 << 20
"""Bytes of the first line that may be read to tell the format."""
_LONGEST = 64 << 20
"""Bytes that a line may have."""
_SESSION_FIELDS = ("title", "started_at", "tags", "archived", "system", "leaf", "source_is_file")


@dataclass(frozen=True, slots=True)
class _Line:
    """One parsed line."""

    session: NewSession
    """What the line says of its session; no messages."""
    message: NewMessage
    place: str

    @property
    def key(self) -> tuple[str, str]:
        """Source and id of its session."""
        return self.session.source, self.session.external_id


@dataclass(slots=True)
class _Names:
    """The ids of a session's messages, unique in it and the same at each import."""

    unnamed: int = 0
    """How many messages came without an id; they are called 0, 1, 2 ..."""
    given: set[str] = field(default_factory=set)
    """Ids that the file gave."""

    def named(self, line: _Line) -> NewMessage:
        """Return the message of ``line`` with its id; raises :class:`ImportFailed` for one used before."""
        given = line.message.external_id
        name = str(self.unnamed) if given is None else given
        if name in self.given or (given is not None and self._is_counted(given)):
            raise ImportFailed(
                f"{line.place}: id {described(name)} was used before in session "
                f"{described(line.session.external_id)}."
            )
        if given is None:
            self.unnamed += 1
        else:
            self.given.add(given)
        return replace(line.message, external_id=name)

    def _is_counted(self, name: str) -> bool:
        # Compared as text: "007" is not the id "7", and "٧" is a digit to int().
        return name.isdigit() and len(name) <= 18 and name == str(int(name)) and int(name) < self.unnamed


class Jsonl:
    """The importer: all lines of a session come out as one NewSession, wherever they stand.

    The file is read through before its first session comes out, so that a line that is no message is found
    before anything is stored. Messages without an id are counted, so a file can be imported twice, or
    after it has grown, and nothing is taken in twice. ``source`` defaults to the file's name without its
    ending. Lines of the roles system and tool are counted and passed over.
    """

    name = "jsonl"
    looks_for = "one JSON object a line with `session`, `role` and `text`"
    groups = True

    def matches(self, source: Source, head: Shape) -> bool:
        """Whether the first line that is not blank is an object with ``session`` or ``text``."""
        with reading(source) as file:
            line = b""
            while not line.strip() and (raw := file.readline(_HEAD)):
                line = raw
        if not line.lstrip().startswith(b"{"):
            return False
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return False
        return "session" in value or "text" in value

    def read(self, source: Source, skipped: Counter[str]) -> Iterator[Conversation | ImportFailed]:
        """Yield the sessions in the order of their first lines; see the protocol. Errors name the line."""
        found: dict[tuple[str, str], array[int]] = {}
        with reading(source) as file:
            for number, start, raw in _lines(file, file.tell(), str(source)):
                line = _line(raw, source, f"{source}, line {number}", skipped)
                if line is None:
                    continue
                stretches = found.setdefault(line.key, array("Q"))
                if stretches and stretches[-1] == start:
                    stretches[-1] = start + len(raw)
                else:
                    stretches.extend((number, start, start + len(raw)))
        for key in list(found):
            try:
                session = _session(source, key, found.pop(key))
            except ImportFailed as error:
                yield error
                continue
            yield (session,)


def _lines(file: BinaryIO, start: int, name: str) -> Iterator[tuple[int, int, bytes]]:
    """Each line's number, place in the file and bytes."""
    # Lines end at \n alone: inside JSON every other line break is part of a text.
    for number, raw in enumerate(iter(lambda: file.readline(_LONGEST), b""), 1):
        if len(raw) == _LONGEST and not raw.endswith(b"\n"):
            raise ImportFailed(f"{name}, line {number}: a line of more than {_LONGEST >> 20} MB.")
        yield number, start, raw
        start += len(raw)


def _session(source: Source, key: tuple[str, str], stretches: array[int]) -> NewSession:
    """Read a session's lines again and put it together.

    ``stretches`` are number of the first line, begin and end in bytes of each part of the file that no other
    session interrupts.
    """
    session = NewSession(*key, ())
    messages = []
    names = _Names()
    with reading(source) as file:
        for first, start, end in zip(*[iter(stretches)] * 3, strict=True):
            file.seek(start)
            for number, raw in enumerate(file.read(end - start).split(b"\n"), first):
                line = _line(raw, source, f"{source}, line {number}", Counter())
                if line is None:
                    continue
                missing = [name for name in _SESSION_FIELDS if not getattr(session, name)]
                session = replace(session, **{name: getattr(line.session, name) for name in missing})
                messages.append(names.named(line))
    started = session.started_at or next((m.sent_at for m in messages if m.sent_at), None)
    return replace(session, messages=tuple(messages), started_at=started)


def _line(raw: bytes, source: Source, place: str, skipped: Counter[str]) -> _Line | None:
    """Parse and check one line; None when it is blank or its role is passed over."""
    if not raw.strip():
        return None
    try:
        value = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise not_utf8(place) from error
    except RecursionError as error:
        raise ImportFailed(f"{place}: nested too deeply.") from error
    except ValueError as error:
        raise ImportFailed(f"{place}: not correct JSON, or cut short: {error}.") from error
    record = required_object(value, place)
    session = _session_of(record, source, place)
    role = required_text(record, "role", place).lower()
    if role in _SKIPPED_ROLES:
        skipped[f"{role} message"] += 1
        return None
    if role not in _ROLES:
        raise ImportFailed(f'{place}: "role" must be user or assistant, found {described(role)}.')
    origin = optional_text(record, "origin", place) or Origin.SAID
    if origin not in set(Origin):
        raise ImportFailed(f'{place}: "origin" must be said or recalled, found {described(origin)}.')
    sent_at = _time(record.get("at"), "at", place)
    message = NewMessage(
        role=_ROLES[role],
        text=required_text(record, "text", place),
        speaker=optional_text(record, "speaker", place),
        sent_at=sent_at,
        external_id=optional_name(record, "id", place),
        parent=ROOT if record.get("parent") == ROOT else optional_name(record, "parent", place),
        origin=Origin(origin),
        attachments=optional_text(record, "attachments", place),
        sent_at_inferred=sent_at is not None and record.get("inferred") is True,
    )
    return _Line(session, message, place)


def _session_of(record: Record, source: Source, place: str) -> NewSession:
    tags = required_list(record, "tags", place) if record.get("tags") is not None else []
    if not all(isinstance(tag, str) for tag in tags):
        raise ImportFailed(f'{place}: "tags" must be an array of text.')
    named = optional_name(record, "source", place)
    return NewSession(
        source=named or source.stem,
        external_id=required_name(record, "session", place),
        messages=(),
        title=optional_text(record, "title", place),
        started_at=_time(record.get("started"), "started", place),
        tags=tuple(str(tag) for tag in tags),
        leaf=optional_name(record, "leaf", place),
        archived=record.get("archived") is True,
        system=optional_text(record, "system", place),
        source_is_file=named is None,
    )


def _time(value: object, key: str, place: str) -> datetime | None:
    """The field ``key`` as a time: with a zone where it has one; seconds since 1970 in UTC; None for null."""
    if value is None:
        return None
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            time = datetime.fromtimestamp(value, UTC)
        else:
            raise TypeError(value)
        if time.tzinfo is not None:
            time.astimezone(UTC)  # the form in which times are kept; near year 1 or 9999 it may not exist
        return time
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise ImportFailed(
            f'{place}: "{key}" must be a time such as 2026-03-01T09:30:00+01:00, or seconds since 1970, '
            f"found {described(value)}."
        ) from error
