"""Forgetting: one transaction that takes away what was said and everything made of it.

Most of it is the work of foreign keys and triggers (:mod:`localmem.store.migrations`); here is what they
cannot know: answers, titles, traces, vocabularies, the bin, and entries that are made again from what stays.
What the bytes of the file still hold after it is for :mod:`localmem.privacy.purge`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import apsw
import numpy as np

from localmem.entries import Layer
from localmem.layers.builder import LayerBuilder
from localmem.layers.queue import SummaryQueue
from localmem.privacy.purge import UNFINISHED
from localmem.privacy.selection import Selection, fold
from localmem.privacy.traces import touched_traces
from localmem.privacy.vocabulary import drop_unused_terms
from localmem.store import Database, SessionStore
from localmem.store.branches import ROOT, Branches
from localmem.store.columns import text_from_column, text_to_column
from localmem.text import titled

_KEPT = frozenset({"migration", "counter", "setting", "embedding_model", "layer_tally"})
"""Tables that hold nothing of what was said."""


@dataclass(frozen=True, slots=True)
class Removed:
    """What was taken out of the store."""

    rows: Mapping[str, int]
    """Table -> rows that went; ``session.title`` and the like: fields that were emptied or renamed."""
    rebuilt: Mapping[Layer, int]
    """Entries made again, by rule, from the messages that stay."""
    words: tuple[str, ...]
    """Index terms that only its messages had, and nothing has now."""


def forget(database: Database, selection: Selection) -> Removed:
    """Take a selection out, with all that was made of it; all of it or nothing.

    Its bytes are still in the file: call :func:`localmem.privacy.purge.purge` next.
    """
    with database.atomic() as connection:
        connection.execute(f"INSERT OR REPLACE INTO setting VALUES ('{UNFINISHED}', '1')")
        before = _rows(connection)
        words = _own_terms(connection, selection)
        traces = json.dumps(touched_traces(connection, selection, words))
        connection.execute("DELETE FROM trace WHERE id IN (SELECT value FROM json_each(?))", (traces,))
        connection.execute("DELETE FROM bin")
        affected = _layers_of(connection, selection)
        fields = _delete(database, connection, selection)
        between = _rows(connection)
        rebuilt = _rebuild(database, connection, affected)
        gone = drop_unused_terms(connection)
    removed = Counter(before)
    removed.subtract(between)
    rows = {table: count for table, count in removed.items() if count > 0} | fields
    if gone:
        rows["term"] = len(gone)
    return Removed(rows, rebuilt, tuple(sorted(set(words) & set(gone))))


def _rows(connection: apsw.Connection) -> dict[str, int]:
    """Rows by table."""
    tables = [
        name
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        )
    ]
    return {
        name: connection.execute(f'SELECT count(*) FROM "{name}"').get
        for name in tables
        if name not in _KEPT and name != "term"
    }


def _own_terms(connection: apsw.Connection, selection: Selection) -> list[str]:
    """The terms that only the messages of a selection have."""
    ids = json.dumps([message.id for message in selection.every])
    own = "message_id IN (SELECT value FROM json_each(?))"
    mine = [np.empty(0, np.int64)]
    mine += [
        np.frombuffer(row, "<i4")[: len(row) // 8].astype(np.int64)
        for (row,) in connection.execute(f"SELECT terms FROM message_terms WHERE {own}", (ids,))
    ]
    others = [
        np.frombuffer(row, "<i4")[: len(row) // 8].astype(np.int64)
        for (row,) in connection.execute(f"SELECT terms FROM message_terms WHERE NOT {own}", (ids,))
    ]
    alone = np.setdiff1d(np.concatenate(mine), np.concatenate([np.empty(0, np.int64), *others]))
    found = connection.execute(
        "SELECT text FROM term WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(alone.tolist()),)
    )
    return [text for (text,) in found]


def _layers_of(connection: apsw.Connection, selection: Selection) -> set[tuple[Layer, int]]:
    """(layer, session) of entries that rest on what goes, where something of the session stays."""
    ids = json.dumps([message.id for message in selection.every])
    found = connection.execute(
        "SELECT DISTINCT e.layer, m.session_id FROM layer_source s JOIN layer_entry e ON e.id = s.entry_id "
        "JOIN message m ON m.id = s.message_id WHERE m.id IN (SELECT value FROM json_each(?))",
        (ids,),
    )
    whole = {session.id for session in selection.sessions}
    return {(Layer(layer), session_id) for layer, session_id in found if session_id not in whole}


def _delete(database: Database, connection: apsw.Connection, selection: Selection) -> dict[str, int]:
    """Delete the rows; return how many fields of rows that stay were changed."""
    ids = {message.id for message in selection.every}
    whole = [session.id for session in selection.sessions]
    for session_id in {message.session_id for message in selection.every} - set(whole):
        _follow_on(database, connection, session_id, ids)
    chosen = "IN (SELECT value FROM json_each(?))"
    connection.execute(f"DELETE FROM message WHERE id {chosen}", (json.dumps(sorted(ids)),))
    connection.execute(f"DELETE FROM session WHERE id {chosen}", (json.dumps(whole),))
    connection.execute(
        "UPDATE session SET ended_at = (SELECT max(sent_at) FROM message WHERE session_id = session.id) "
        f"WHERE id {chosen}",
        (json.dumps(sorted({message.session_id for message in selection.every})),),
    )
    changed = {"session.title": len(selection.titles)}
    for session in selection.titles:
        title = _title(database, session.id, selection.text)
        connection.execute("UPDATE session SET title = ? WHERE id = ?", (text_to_column(title), session.id))
    if selection.text is not None:
        changed |= _blank(connection, fold(selection.text))
    return {name: count for name, count in changed.items() if count}


def _follow_on(
    database: Database, connection: apsw.Connection, session_id: int, gone: Collection[int]
) -> None:
    """Where a session has branches: what followed a message that goes follows the one before it."""
    branches = Branches(SessionStore(database).messages(session_id))
    for message in branches.messages:
        before = branches.before(message.id)
        if message.id in gone or message.parent is None or before is None or before.id not in gone:
            continue
        while before is not None and before.id in gone:
            before = branches.before(before.id)
        parent = before.external_id if before else ROOT
        connection.execute("UPDATE message SET parent = ? WHERE id = ?", (parent, message.id))


def _title(database: Database, session_id: int, text: str | None) -> str:
    """A title for a session from what is left of it; empty when nothing can serve."""
    for message in SessionStore(database).messages(session_id):
        title = titled(message.text)
        if title and (text is None or fold(text) not in fold(title)):
            return title
    return ""


def _blank(connection: apsw.Connection, wanted: str) -> dict[str, int]:
    """Take a text out of what is neither message nor title: names of origin, prompts, tags, entries."""
    changed: Counter[str] = Counter()
    sessions: list[Any] = connection.execute(
        "SELECT id, source, external_id, system, tags FROM session"
    ).fetchall()
    for session_id, source, external_id, system, tags in sessions:
        for column, value in (("source", source), ("external_id", external_id)):
            if wanted in fold(value):
                connection.execute(
                    f"UPDATE session SET {column} = ? WHERE id = ?", (f"forgotten-{session_id}", session_id)
                )
                changed[f"session.{column}"] += 1
        if wanted in fold(text_from_column(system)):
            connection.execute("UPDATE session SET system = '' WHERE id = ?", (session_id,))
            changed["session.system"] += 1
        kept = [tag for tag in json.loads(tags) if wanted not in fold(tag)]
        if len(kept) < len(json.loads(tags)):
            connection.execute("UPDATE session SET tags = ? WHERE id = ?", (json.dumps(kept), session_id))
            changed["session.tags"] += 1
    names: list[Any] = connection.execute("SELECT id, session_id, external_id FROM message").fetchall()
    for message_id, session_id, external_id in names:
        if wanted in fold(external_id):
            name = f"forgotten-{message_id}"
            connection.execute("UPDATE message SET external_id = ? WHERE id = ?", (name, message_id))
            connection.execute(
                "UPDATE message SET parent = ? WHERE session_id = ? AND parent = ?",
                (name, session_id, external_id),
            )
            changed["message.external_id"] += 1
    for table, column in (("layer_entry", "body"), ("layer_failure", "reason"), ("pin", "text")):
        rows: list[Any] = connection.execute(f"SELECT id, {column} FROM {table}").fetchall()
        for row_id, value in rows:
            if wanted in fold(text_from_column(value)):
                connection.execute(f"DELETE FROM {table} WHERE id = ?", (row_id,))
    return dict(changed)


def _rebuild(
    database: Database, connection: apsw.Connection, affected: Collection[tuple[Layer, int]]
) -> dict[Layer, int]:
    """Make again, by rule, what rested also on other messages."""

    def count(layer: Layer) -> int:
        made: int = connection.execute("SELECT count(*) FROM layer_entry WHERE layer = ?", (layer,)).get
        return made

    before = {layer: count(layer) for layer in Layer}
    summaries = SummaryQueue(database)
    while summaries.make_next():
        pass
    builder = LayerBuilder(database, None)
    for layer, session_id in sorted(affected):
        if layer is not Layer.SUMMARY:
            for _ in builder.build(layer, session_id):
                pass
    return {layer: made for layer in Layer if (made := count(layer) - before[layer]) > 0}
