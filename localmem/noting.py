"""Plain text and dictionaries as sessions, for programs that keep notes rather than histories."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import groupby

from localmem.errors import BadInput
from localmem.types import NewMessage, NewSession, Role

NOTES_SOURCE = "notes"
"""The source of sessions whose messages came without one."""

Note = str | Mapping[str, object]
_FIELDS = ("text", "role", "speaker", "at", "session", "source", "title", "id", "attachments")


def sessions_of(notes: Note | Iterable[Mapping[str, object]], now: datetime) -> list[NewSession]:
    """Notes as sessions to store: a text, or dictionaries with the fields of a JSONL line.

    Only ``text`` is required. ``role`` is ``user`` or ``assistant``, ``at`` a datetime, ISO 8601 or seconds
    since 1970; without it, it is ``now``. Without ``session`` it belongs to the notes of the day. A message
    without ``id`` is known by what it says: the same note in the same session is stored once.
    Raises :class:`BadInput` that names the field.
    """
    given = [{"text": notes}] if isinstance(notes, str) else [notes] if isinstance(notes, Mapping) else notes
    seen: Counter[tuple[str, str, str]] = Counter()
    sessions = []
    entries = [_checked(note) for note in given]
    for (source, session), group in groupby(entries, key=lambda note: _session(note, now)):
        messages = []
        title = ""
        for note in group:
            title = title or str(note.get("title", ""))
            messages.append(_message(note, now, seen, source, session))
        started = messages[0].sent_at
        sessions.append(NewSession(source, session, tuple(messages), title=title, started_at=started))
    return sessions


def _checked(note: object) -> Mapping[str, object]:
    if not isinstance(note, Mapping):
        raise BadInput(f"A note is text or a dictionary with a text, not {type(note).__name__}.")
    unknown = set(note) - set(_FIELDS)
    if unknown:
        raise BadInput(f"A note has no field {sorted(map(str, unknown))[0]!r}. Fields: {', '.join(_FIELDS)}.")
    for name in set(note) - {"at"}:
        if not isinstance(note[name], str):
            raise BadInput(f"The field {name!r} of a note must be text, not {type(note[name]).__name__}.")
    if not str(note.get("text", "")).strip():
        raise BadInput("A note needs a text that is not empty.")
    if note.get("role", Role.USER) not in set(Role):
        raise BadInput(f"The role of a note is user or assistant, not {note['role']!r}.")
    return note


def _session(note: Mapping[str, object], now: datetime) -> tuple[str, str]:
    return str(note.get("source") or NOTES_SOURCE), str(note.get("session") or f"{now:%Y-%m-%d}")


def _message(
    note: Mapping[str, object], now: datetime, seen: Counter[tuple[str, str, str]], source: str, session: str
) -> NewMessage:
    at = note.get("at")
    role, speaker, text = (
        Role(str(note.get("role", Role.USER))),
        str(note.get("speaker", "")),
        str(note["text"]),
    )
    said = "\0".join((role, speaker, text, "" if at is None else str(at)))
    digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    key = (source, session, digest)
    seen[key] += 1
    repeated = f"{digest}.{seen[key]}" if seen[key] > 1 else digest  # said again in the same list
    return NewMessage(
        role,
        text,
        speaker=speaker,
        sent_at=now if at is None else _time(at),
        external_id=str(note["id"]) if note.get("id") else repeated,
        attachments=str(note.get("attachments", "")),
    )


def _time(at: object) -> datetime:
    try:
        if isinstance(at, datetime):
            time = at
        elif isinstance(at, str):
            time = datetime.fromisoformat(at)
        elif isinstance(at, int | float) and not isinstance(at, bool):
            time = datetime.fromtimestamp(at, UTC)
        else:
            raise TypeError(at)
        if time.tzinfo is not None:
            time.astimezone(UTC)  # the form in which times are kept; near year 1 or 9999 it may not exist
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise BadInput(
            f'"at" must be a datetime, text such as 2026-03-01T09:30+01:00 or seconds since 1970, not {at!r}.'
        ) from error
    return time
