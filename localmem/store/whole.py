"""A stored session as it can be taken in again: all its branches, every field as it was given."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from localmem.errors import BadInput
from localmem.store.columns import text_from_column, time_from_columns
from localmem.store.connection import Database
from localmem.types import NewMessage, NewSession, Origin, Role


def whole(database: Database, session_id: int) -> NewSession:
    """Read a session with its messages by position. Raises :class:`BadInput` when there is none.

    Unlike :class:`localmem.types.Message` it tells a time in an unknown zone, which is naive, from UTC.
    """
    with database.snapshot() as connection:
        row = connection.execute(
            "SELECT s.source, s.external_id, s.title, s.started_at, s.started_zone, s.tags, s.archived, "
            "s.system, m.external_id FROM session s LEFT JOIN message m ON m.id = s.leaf_id WHERE s.id = ?",
            (session_id,),
        ).fetchone()
        if row is None:
            raise BadInput(f"There is no session {session_id}. `localmem sessions` lists them.")
        source, external_id, title, started_at, started_zone, tags, archived, system, leaf = row
        rows: list[Any] = connection.execute(
            "SELECT role, text, speaker, sent_at, sent_zone, external_id, parent, origin, attachments, "
            "sent_at_inferred FROM message WHERE session_id = ? ORDER BY position",
            (session_id,),
        ).fetchall()
    messages = tuple(
        NewMessage(
            role=Role(role),
            text=text_from_column(text),
            speaker=text_from_column(speaker),
            sent_at=_given(sent_at, zone),
            external_id=identity,
            parent=parent,
            origin=Origin(origin),
            attachments=text_from_column(attachments),
            sent_at_inferred=bool(inferred),
        )
        for role, text, speaker, sent_at, zone, identity, parent, origin, attachments, inferred in rows
    )
    return NewSession(
        source=source,
        external_id=external_id,
        messages=messages,
        title=text_from_column(title),
        started_at=_given(started_at, started_zone),
        tags=tuple(json.loads(tags)),
        leaf=leaf,
        archived=bool(archived),
        system=text_from_column(system),
    )


def _given(utc: str | None, zone: int | None) -> datetime | None:
    moment = time_from_columns(utc, zone)
    return moment if moment is None or zone is not None else moment.replace(tzinfo=None)
