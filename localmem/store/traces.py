"""How an answer came about, kept beside the memory it came from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from localmem.errors import BadInput
from localmem.store.columns import UTC_FORMAT, text_from_column, text_to_column
from localmem.store.connection import Database
from localmem.types import Answer

Body = dict[str, Any]

_RECENT = 200  # steps that averages are taken of


@dataclass(frozen=True, slots=True)
class StoredTrace:
    """A trace as it was saved."""

    id: int
    question: str
    body: Body
    steps: tuple[Body, ...]
    """In order; none for an answer without a controller."""


@dataclass(frozen=True, slots=True)
class StepCount:
    """How many steps a controller took for one answer."""

    steps: int
    limit: int
    """T_max, which it could not pass."""


class TraceStore:
    """Saves traces: the question, and of what memory held only ids.

    A fallback is counted, not quoted: its reason may name what memory said, which must not outlive it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, question: str, answer: Answer, more: Mapping[str, Any]) -> int:
        """Keep how ``answer`` came about, ``more`` beside it; return the trace's id."""
        return self.open(question, {**_body(answer), **more})

    def open(self, question: str, body: Mapping[str, Any]) -> int:
        """Begin a trace; return its id."""
        with self._database.atomic() as connection:
            connection.execute(
                "INSERT INTO trace (created_at, question, body) VALUES (?, ?, ?)",
                (datetime.now(UTC).strftime(UTC_FORMAT), text_to_column(question), json.dumps(body)),
            )
            return connection.last_insert_rowid()

    def add_step(self, trace_id: int, number: int, body: Mapping[str, Any]) -> None:
        """Keep a step; it is committed when this returns."""
        with self._database.atomic() as connection:
            connection.execute(
                "INSERT INTO trace_step (trace_id, number, body) VALUES (?, ?, ?)",
                (trace_id, number, json.dumps(body)),
            )

    def finish(self, trace_id: int, answer: Answer, more: Mapping[str, Any]) -> None:
        """Enter the answer that a trace came to, ``more`` beside it."""
        body = {**_body(answer), **more}
        with self._database.atomic() as connection:
            connection.execute("UPDATE trace SET body = ? WHERE id = ?", (json.dumps(body), trace_id))

    def load(self, trace_id: int) -> StoredTrace:
        """A trace. Raises :class:`BadInput` when there is none with this id."""
        connection = self._database.connection()
        row = connection.execute("SELECT question, body FROM trace WHERE id = ?", (trace_id,)).fetchone()
        if row is None:
            raise BadInput(
                f"There is no trace {trace_id}. `localmem ask` prints the number of each answer's."
            )
        steps = connection.execute(
            "SELECT body FROM trace_step WHERE trace_id = ? ORDER BY number", (trace_id,)
        )
        bodies = tuple(json.loads(body) for (body,) in steps)
        return StoredTrace(trace_id, text_from_column(row[0]), json.loads(row[1]), bodies)

    def step_counts(self) -> list[StepCount]:
        """Of every answer that a controller finished, in order."""
        rows = self._database.connection().execute(
            "SELECT (SELECT count(*) FROM trace_step WHERE trace_id = trace.id), "
            "json_extract(body, '$.limit') FROM trace WHERE json_extract(body, '$.policy') = 'agent' "
            "AND json_extract(body, '$.stop_reason') IS NOT NULL ORDER BY id"
        )
        return [StepCount(steps, limit) for steps, limit in rows]

    def seconds_by_tool(self) -> dict[str, float]:
        """Mean seconds of a call of each tool, over the latest steps."""
        rows = self._database.connection().execute(
            "SELECT json_extract(call.value, '$.tool'), avg(json_extract(call.value, '$.seconds')) "
            "FROM (SELECT body FROM trace_step ORDER BY trace_id DESC, number DESC LIMIT ?) AS step, "
            "json_each(step.body, '$.calls') AS call GROUP BY 1",
            (_RECENT,),
        )
        return dict(rows)


def _body(answer: Answer) -> Body:
    ledger = answer.ledger
    return {
        "policy": answer.policy,
        "abstained": answer.abstained,
        "stop_reason": answer.stop_reason,
        "evidence": [item.message.id for item in answer.evidence],
        "citations": answer.citations,
        "requirements": [[list(requirement.met_by)] for requirement in answer.requirements],
        "seconds": ledger.seconds,
        "tokens": [ledger.tokens_read, ledger.tokens_reused, ledger.tokens_written],
        "fallbacks": len(ledger.fallbacks),
    }
