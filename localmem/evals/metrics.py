"""Retrieval metrics of one question, from the ids of the records kept and of the gold messages."""

from __future__ import annotations

from collections.abc import Collection


def gold_hit(kept: Collection[str], gold: Collection[str]) -> float:
    """1 when any gold message was kept, else 0 (BFR: Gold Hit; LongMemEval: Turn Hit)."""
    return float(any(i in kept for i in gold))


def evidence_recall(kept: Collection[str], gold: Collection[str]) -> float:
    """Share of the gold messages that were kept. ``gold`` must not be empty."""
    return sum(i in kept for i in gold) / len(gold)


def complete_evidence_recall(kept: Collection[str], gold: Collection[str]) -> float:
    """1 when every gold message was kept, else 0."""
    return float(all(i in kept for i in gold))


METRICS = {
    "gold_hit": gold_hit,
    "evidence_recall": evidence_recall,
    "complete_evidence_recall": complete_evidence_recall,
}
