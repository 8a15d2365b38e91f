"""What an answer in a chat rested on and cost, kept to be shown again: in numbers, not in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from localmem.store.connection import Database
from localmem.types import Ledger


@dataclass(frozen=True, slots=True)
class StoredNeed:
    """Something the question asks for, and the messages that met it."""

    places: tuple[int, ...]
    """Where its words stand in the question: first and last + 1, again and again; none: no words of it."""
    met_by: tuple[int, ...]
    """Message ids; empty: not found."""


@dataclass(frozen=True, slots=True)
class StoredReply:
    """What an answer rested on and cost. Nothing that was said is repeated: it must not outlive itself."""

    citations: tuple[int, ...]
    """Ids of messages; some may be deleted by now."""
    stop_reason: str
    ledger: Ledger
    recalled: tuple[tuple[int, str], ...] = ()
    """Ids of what memory brought up, each with the layer it was read at."""
    earlier: tuple[int, ...] = ()
    """Ids of those that tell what was so earlier."""
    without: tuple[int, ...] = ()
    """Ids of messages that had to be left out."""
    needs: tuple[StoredNeed, ...] = ()
    """What the question required."""


class ReplyStore:
    """Keeps replies by the id of their message; they go with it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, message_id: int, reply: StoredReply) -> None:
        """Keep what an answer rested on."""
        with self._database.atomic() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO reply (message_id, body) VALUES (?, ?)",
                (message_id, json.dumps(_body(reply))),
            )

    def load(self, message_ids: Sequence[int]) -> dict[int, StoredReply]:
        """Those of some messages that are known."""
        rows = self._database.connection().execute(
            "SELECT message_id, body FROM reply WHERE message_id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(message_ids)),),
        )
        return {message_id: _reply(json.loads(body)) for message_id, body in rows}


def _body(reply: StoredReply) -> dict[str, Any]:
    ledger = asdict(reply.ledger)
    # A reason may name what memory said: only how many there were is kept, as in a trace.
    ledger["fallbacks_before"] += len(ledger.pop("fallbacks"))
    return {
        "citations": reply.citations,
        "stop_reason": reply.stop_reason,
        "ledger": ledger,
        "recalled": reply.recalled,
        "earlier": reply.earlier,
        "without": reply.without,
        "needs": [[need.places, need.met_by] for need in reply.needs],
    }


def _reply(body: dict[str, Any]) -> StoredReply:
    known = {field.name for field in fields(Ledger)}  # one written by another version may have others
    ledger = {name: value for name, value in body["ledger"].items() if name in known}
    ledger["layers"] = tuple(ledger["layers"])
    return StoredReply(
        citations=tuple(body["citations"]),
        stop_reason=body["stop_reason"],
        ledger=Ledger(**ledger),
        recalled=tuple((message_id, layer) for message_id, layer in body.get("recalled", ())),
        earlier=tuple(body.get("earlier", ())),
        without=tuple(body.get("without", ())),
        needs=tuple(StoredNeed(tuple(places), tuple(met)) for places, met in body.get("needs", ())),
    )
