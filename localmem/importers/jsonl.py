"""JSONL: one message a line, ``{session, role, text, at}``; the open format to bring any history in.

Optional: ``speaker``, ``id``, ``title``, ``source``, ``parent``, ``attachments``, ``origin``. Other fields
are ignored. ``at`` is ISO 8601, with or without a zone, or seconds since 1970.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from localmem.errors import ImportFailed
from localmem.importers.fields import (
    described,
    optional_name,
    optional_text,
    required_name,
    required_object,
    required_text,
)
from localmem.importers.json_stream import not_utf8, reading
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


@dataclass(frozen=True, slots=True)
class _Line:
    """One parsed line."""

    source: str
    session: str
    title: str
    message: NewMessage
    place: str


@dataclass(slots=True)
class _Progress:
    """What earlier lines of a session used up, so that ids stay unique when it comes again."""

    unnamed: int = 0
    """How many messages came without an id; they are called 0, 1, 2 ..."""
    ids: set[str] = field(default_factory=set)
    """Ids that the file gave."""
    started_at: datetime | None = None
    """First time known."""

    def named(self, line: _Line) -> NewMessage:
        """Return the message of ``line`` with an id unique in its session and the same at each import."""
        given = line.message.external_id
        name = str(self.unnamed) if given is None else given
        if name in self.ids or (given is not None and self._is_counted(given)):
            raise ImportFailed(
                f"{line.place}: id {described(name)} was used before in session {described(line.session)}."
            )
        if given is None:
            self.unnamed += 1
        else:
            self.ids.add(given)
        self.started_at = self.started_at or line.message.sent_at
        return replace(line.message, external_id=name)

    def _is_counted(self, name: str) -> bool:
        # Compared as text: "007" is not the id "7", and "٧" is a digit to int().
        return name.isdigit() and len(name) <= 18 and name == str(int(name)) and int(name) < self.unnamed


class Jsonl:
    """The importer: consecutive lines of one session come out as one NewSession.

    A session may come again further down; its message ids then go on counting, so a file can be
    imported twice, or after it has grown, and nothing is taken in twice. ``source`` defaults to the
    file's name without its ending. Lines of the roles system and tool are counted and passed over.
    """

    name = "jsonl"
    looks_for = "one JSON object a line with `session`, `role` and `text`"

    def matches(self, path: Path) -> bool:
        """Whether the first line that is not blank is an object with ``session`` or ``text``."""
        with reading(path) as file:
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

    def read(self, path: Path, skipped: Counter[str]) -> Iterator[NewSession]:
        """Yield the sessions; raises :class:`ImportFailed` with file and line."""
        progress: dict[tuple[str, str], _Progress] = {}
        lines = _parsed(path, skipped)
        for key, group in groupby(lines, key=lambda line: (line.source, line.session)):
            so_far = progress.setdefault(key, _Progress())
            title = ""
            messages = []
            for line in group:
                title = title or line.title
                messages.append(so_far.named(line))
            source, session = key
            yield NewSession(source, session, tuple(messages), title=title, started_at=so_far.started_at)


def _parsed(path: Path, skipped: Counter[str]) -> Iterator[_Line]:
    with reading(path) as file:
        # Lines end at \n alone: inside JSON every other line break is part of a text.
        for number, raw in enumerate(file, 1):
            if not raw.strip():
                continue
            line = _line(raw, path, f"{path}, line {number}", skipped)
            if line is not None:
                yield line


def _line(raw: bytes, path: Path, place: str, skipped: Counter[str]) -> _Line | None:
    """Parse and check one line; None when its role is passed over."""
    try:
        value = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise not_utf8(place) from error
    except RecursionError as error:
        raise ImportFailed(f"{place}: nested too deeply.") from error
    except ValueError as error:
        raise ImportFailed(f"{place}: not correct JSON, or cut short: {error}.") from error
    record = required_object(value, place)
    session = required_name(record, "session", place)
    role = required_text(record, "role", place).lower()
    if role in _SKIPPED_ROLES:
        skipped[f"{role} message"] += 1
        return None
    if role not in _ROLES:
        raise ImportFailed(f'{place}: "role" must be user or assistant, found {described(role)}.')
    origin = optional_text(record, "origin", place) or Origin.SAID
    if origin not in set(Origin):
        raise ImportFailed(f'{place}: "origin" must be said or recalled, found {described(origin)}.')
    message = NewMessage(
        role=_ROLES[role],
        text=required_text(record, "text", place),
        speaker=optional_text(record, "speaker", place),
        sent_at=_time(record.get("at"), place),
        external_id=optional_name(record, "id", place),
        parent=optional_name(record, "parent", place),
        origin=Origin(origin),
        attachments=optional_text(record, "attachments", place),
    )
    source = optional_name(record, "source", place) or path.stem
    return _Line(source, session, optional_text(record, "title", place), message, place)


def _time(value: object, place: str) -> datetime | None:
    """``at`` as a time: with a zone where it has one; seconds since 1970 in UTC; None for null."""
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
            f'{place}: "at" must be a time such as 2026-03-01T09:30:00+01:00, or seconds since 1970, '
            f"found {described(value)}."
        ) from error
