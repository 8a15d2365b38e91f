"""LongMemEval (xiaowu0162/LongMemEval): a question with its own history in each record.

``{question_id, question_type, question, answer, question_date, answer_session_ids}`` beside the haystack; a
message of the evidence is marked ``has_answer``. Ids that end in ``_abs`` ask for what the history does not
say. Some histories repeat a session id: the importer calls the second one ``ID#2``.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from localmem.errors import ImportFailed
from localmem.evals.datasets.cases import Conversation, Question, question_text, reference, with_messages
from localmem.importers.fields import (
    Record,
    described,
    required_list,
    required_name,
    required_object,
    required_text,
)
from localmem.importers.longmemeval import date_time, history_of
from localmem.types import NewSession

TYPES = (
    "single-session-user",
    "single-session-assistant",
    "single-session-preference",
    "multi-session",
    "temporal-reasoning",
    "knowledge-update",
)
LOST = "answer session that the history does not have"


def read_longmemeval(record: Record, place: str, notes: Counter[str]) -> Conversation:
    """Read one record."""
    sessions = with_messages(tuple(history_of(record, place, notes)), place)
    return Conversation(sessions, (partial(_question, record, place, sessions, notes),))


def _question(record: Record, place: str, sessions: tuple[NewSession, ...], notes: Counter[str]) -> Question:
    identity = required_name(record, "question_id", place)
    kind = required_text(record, "question_type", place)
    if kind not in TYPES:
        raise ImportFailed(
            f'{place}: "question_type" must be one of {", ".join(TYPES)}, found {described(kind)}.'
        )
    abstain = identity.endswith("_abs")
    gold = _marked(record, place, sessions)
    return Question(
        id=identity,
        source=sessions[0].source,
        text=question_text(record, place),
        category=kind,
        gold=frozenset(message for messages in gold.values() for message in messages),
        gold_sessions=_gold_sessions(record, place, sessions, gold, notes),
        asked_at=date_time(required_text(record, "question_date", place), f'{place}, "question_date"'),
        reference=reference(record, place, abstain=abstain),
        abstain=abstain,
    )


def _marked(record: Record, place: str, sessions: tuple[NewSession, ...]) -> dict[str, list[str]]:
    """External ids of the messages marked as evidence, by that of their session."""
    histories = [messages for messages in required_list(record, "haystack_sessions", place) if messages]
    gold: dict[str, list[str]] = {}
    for session, messages in zip(sessions, histories, strict=True):
        assert isinstance(messages, list)  # the importer has read them
        for message, raw in zip(session.messages, messages, strict=True):
            mark = required_object(raw, place).get("has_answer")
            if mark not in (None, True, False):
                raise ImportFailed(
                    f"{place}, message {message.external_id}: "
                    f'"has_answer" must be true or false, found {described(mark)}.'
                )
            if mark:
                gold.setdefault(session.external_id, []).append(message.external_id or "")
    return gold


def _gold_sessions(
    record: Record,
    place: str,
    sessions: tuple[NewSession, ...],
    gold: dict[str, list[str]],
    notes: Counter[str],
) -> frozenset[str]:
    """Sessions with marked messages and those in ``answer_session_ids``.

    Of sessions that share a named id those without a mark are not meant, unless none has one.
    """
    columns = zip(
        required_list(record, "haystack_session_ids", place),
        required_list(record, "haystack_sessions", place),
        strict=True,
    )
    names = [str(name) for name, messages in columns if messages]
    found = set(gold)
    for name in required_list(record, "answer_session_ids", place):
        same = {s.external_id for s, given in zip(sessions, names, strict=True) if given == str(name)}
        if not same:
            notes[LOST] += 1
        found |= (same & set(gold)) or same
    return frozenset(found)
