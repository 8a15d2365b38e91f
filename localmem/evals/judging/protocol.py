"""The two protocols, and the criterion that each has for a type of question."""

from __future__ import annotations

from localmem.roles.judge import Criterion

PROTOCOLS = ("longmemeval", "generous")
"""LongMemEval's, with a criterion for each type (APDMem uses it), and Mem0's generous one (BFR uses it)."""

_BY_TYPE = {
    "temporal-reasoning": Criterion.TEMPORAL,
    "knowledge-update": Criterion.UPDATE,
    "single-session-preference": Criterion.PREFERENCE,
}


def criterion_for(protocol: str, category: str, abstain: bool) -> Criterion:
    """What an answer to a question of ``category`` is judged by.

    A question that memory does not answer has the same criterion in both: a refusal. So has a preference:
    its reference is a rubric, no answer.
    """
    if abstain:
        return Criterion.ABSTENTION
    by_type = _BY_TYPE.get(category, Criterion.COMPLETE)
    return Criterion.GENEROUS if protocol == "generous" and by_type is not Criterion.PREFERENCE else by_type
