"""How an answer came about, kept beside the memory it came from."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from localmem.store.columns import UTC_FORMAT, text_to_column
from localmem.store.connection import Database
from localmem.types import Answer


class TraceStore:
    """Saves traces: the question, and of what memory held only message ids.

    A fallback is counted, not quoted: its reason may name what memory said, which must not outlive it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, question: str, answer: Answer) -> int:
        """Keep how ``answer`` came about; return the trace's id."""
        ledger = answer.ledger
        body = {
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
        with self._database.atomic() as connection:
            connection.execute(
                "INSERT INTO trace (created_at, question, body) VALUES (?, ?, ?)",
                (datetime.now(UTC).strftime(UTC_FORMAT), text_to_column(question), json.dumps(body)),
            )
            return connection.last_insert_rowid()
