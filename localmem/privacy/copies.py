"""Copies of a memory file that localmem itself made, by their paths: what a forgetting does not reach."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from localmem.store import Database
from localmem.store.columns import UTC_FORMAT

_KEY = "copies"
CopyKind = Literal["backup", "export"]


@dataclass(frozen=True, slots=True)
class Copy:
    """A backup or an export, as it was when it was made."""

    kind: CopyKind
    path: str
    made_at: str
    """UTC."""


def note_copy(database: Database, kind: CopyKind, path: Path) -> None:
    """Remember that there is a copy at ``path``; one made there before is replaced."""
    place = str(path.absolute())
    copy = {"kind": kind, "path": place, "made_at": datetime.now(UTC).strftime(UTC_FORMAT)}
    with database.atomic() as connection:
        others = [vars_of(one) for one in known_copies(database) if one.path != place]
        connection.execute(
            "INSERT INTO setting VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2",
            (_KEY, json.dumps([*others, copy])),
        )


def known_copies(database: Database) -> list[Copy]:
    """The copies made of this file, in order, whether they are still there or not."""
    value = database.connection().execute("SELECT value FROM setting WHERE key = ?", (_KEY,)).get
    return [Copy(**one) for one in json.loads(value)] if value else []


def vars_of(copy: Copy) -> dict[str, str]:
    """A copy as JSON."""
    return {"kind": copy.kind, "path": copy.path, "made_at": copy.made_at}
