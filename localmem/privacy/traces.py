"""Which traces tell of something: by the ids that they hold, and by the words of their question."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import apsw

from localmem.index.tokens import terms
from localmem.privacy.selection import Selection, fold
from localmem.store.columns import text_from_column

Body = dict[str, Any]


def touched_traces(connection: apsw.Connection, selection: Selection, words: Collection[str]) -> list[int]:
    """Ids of the traces that hold an id of what goes, its text, or one of ``words`` in their question.

    ``words`` are terms that only what goes has: a question with one of them gives it away.
    """
    messages = {message.id for message in selection.every}
    sessions = {session.id for session in selection.sessions}
    wanted, own = (fold(selection.text) if selection.text is not None else None), set(words)
    found = []
    for trace_id, question, body, steps in connection.execute(
        "SELECT id, question, body, "
        "(SELECT json_group_array(json(s.body)) FROM trace_step s WHERE s.trace_id = trace.id) FROM trace"
    ):
        asked = text_from_column(question)
        held, opened = _ids(json.loads(body), json.loads(steps))
        told = wanted is not None and wanted in fold("\n".join([asked, *_words(json.loads(steps))]))
        if told or own & set(terms(asked)) or held & messages or opened & sessions:
            found.append(trace_id)
    return found


def _words(steps: list[Body]) -> list[str]:
    """All that steps hold of words."""
    calls = [call for step in steps for call in step.get("calls", ())]
    return [
        *(text for call in calls for name in ("queries", "parts", "next") for text in call.get(name, ())),
        *(call["text"] for call in calls if "text" in call),
    ]


def _ids(body: Body, steps: list[Body]) -> tuple[set[int], set[int]]:
    """Ids of all messages and of all sessions that a trace holds."""
    messages = {*body.get("evidence", ()), *body.get("citations", ())}
    for (met_by,) in body.get("requirements", ()):
        messages.update(met_by)
    sessions: set[int] = set()
    for call in (call for step in steps for call in step.get("calls", ())):
        sessions.update(session for session, *_ in call.get("found", ()))
        for session, _, opened in call.get("opened", ()):
            sessions.add(session)
            messages.update(opened)
        if "session" in call:
            sessions.add(call["session"])
    return messages, sessions
