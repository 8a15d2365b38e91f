"""Values as JSON, in the shapes that the command line prints and the servers send."""

from __future__ import annotations

from dataclasses import asdict

from localmem.types import Answer, Evidence, Hit, Ledger


def hit_json(hit: Hit) -> dict[str, object]:
    """The fields of ``search --json``."""
    message = hit.message
    return {
        "message_id": message.id,
        "external_id": message.external_id,
        "source": message.source,
        "session_id": message.session_id,
        "session_date": message.sent_at and message.sent_at.isoformat(),
        "speaker": message.speaker or message.role,
        "text": message.text,
        "score": hit.score,
        "views": hit.views,
    }


def evidence_json(item: Evidence) -> dict[str, object]:
    """One item of ``evidence`` in ``ask --json``."""
    return {
        "message_id": item.message.id,
        "external_id": item.message.external_id,
        "source": item.message.source,
        "session_id": item.message.session_id,
        "layer": item.layer,
        "text": item.message.text,
    }


def ledger_json(ledger: Ledger) -> dict[str, object]:
    """What an answer cost."""
    return {**asdict(ledger), "history_share": ledger.history_share}


def answer_json(found: Answer) -> dict[str, object]:
    """The fields of ``ask --json``."""
    return {
        "answer": found.text,
        "abstained": found.abstained,
        "citations": found.citations,
        "evidence": [evidence_json(item) for item in found.evidence],
        "notes": found.notes,
        "requirements": [asdict(requirement) for requirement in found.requirements],
        "rounds": [asdict(one) for one in found.rounds],
        "policy": found.policy,
        "stop_reason": found.stop_reason,
        "trace": found.trace,
        "ledger": ledger_json(found.ledger),
    }
