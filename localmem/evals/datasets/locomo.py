"""LoCoMo (snap-research/LoCoMo, ``locomo10.json``): each conversation has its questions under ``qa``.

A question is ``{question, answer, evidence: ["D1:3"], category}``; those of category 5 mostly have
``adversarial_answer`` in place of ``answer``. The official file has evidence that names no message: ids past
the end of a session, ids with a slip of the pen, lists without an id. It is counted and left out, for the
file cannot be mended by who runs it, and a question without any evidence is left out of retrieval metrics.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial

from localmem.errors import ImportFailed
from localmem.evals.datasets.cases import Conversation, Question, question_text, reference, with_messages
from localmem.importers.fields import (
    Record,
    described,
    optional_text,
    required_list,
    required_object,
)
from localmem.importers.locomo import conversation_of
from localmem.types import NewSession

_DIALOGUE_ID = re.compile(r"D\d+:\d+")
ADVERSARIAL = 5
"""The category of questions that the conversation does not answer."""
CATEGORIES = {
    1: "1 multi-hop",
    2: "2 temporal",
    3: "3 open-domain",
    4: "4 single-hop",
    5: "5 adversarial",
}
LOST = "evidence id that the conversation does not have"
NO_ID = "evidence without a message id"


def read_locomo(record: Record, place: str, notes: Counter[str]) -> Conversation:
    """Read one record."""
    sessions = with_messages(tuple(conversation_of(record, place, notes)), place)
    items = required_list(record, "qa", place)
    questions = [
        partial(_question, item, number, place, sessions, notes) for number, item in enumerate(items)
    ]
    return Conversation(sessions, tuple(questions))


def _question(
    item: object, number: int, place: str, sessions: tuple[NewSession, ...], notes: Counter[str]
) -> Question:
    source = sessions[0].source
    identity = f"{source}/{number}"
    where = f"{place}, question {identity}"
    asked = required_object(item, where)
    category = _category(asked, where)
    abstain = category == ADVERSARIAL
    text = question_text(asked, where)
    answer = reference(asked, where, abstain=abstain)
    session_of = {m.external_id or "": s.external_id for s in sessions for m in s.messages}
    gold = _evidence(asked, where, frozenset(session_of), notes)
    return Question(
        id=identity,
        source=source,
        text=text,
        category=CATEGORIES[category],
        gold=gold,
        gold_sessions=frozenset(session_of[message] for message in gold),
        asked_at=None,
        reference=answer,
        abstain=abstain,
        adversarial=optional_text(asked, "adversarial_answer", where) if abstain else "",
    )


def _category(asked: Record, where: str) -> int:
    value = asked.get("category")
    if isinstance(value, int) and not isinstance(value, bool) and value in CATEGORIES:
        return value
    raise ImportFailed(f'{where}: "category" must be a number from 1 to 5, found {described(value)}.')


def _evidence(asked: Record, where: str, known: frozenset[str], notes: Counter[str]) -> frozenset[str]:
    """Ids wherever they stand in a string: some hold two (``D8:6; D9:17``)."""
    if asked.get("evidence") is None:
        return frozenset()
    gold = set()
    for text in required_list(asked, "evidence", where):
        if not isinstance(text, str):
            raise ImportFailed(f'{where}: "evidence" must hold texts, found {described(text)}.')
        ids = _DIALOGUE_ID.findall(text)
        if not ids:
            notes[NO_ID] += 1
        for identity in ids:
            if identity in known:
                gold.add(identity)
            else:
                notes[LOST] += 1
    return frozenset(gold)
