"""One's own data: ``--benchmark json``.

The file is a JSON array of conversations, each with its sessions and the questions about them. Every field
that there is (``?`` marks those that may be missing)::

    [
      {
        "id": "garden",                          unique in the file
        "sessions": [
          {
            "id": "spring",                      unique in the conversation
            "date": "2024-03-02T18:30",          ? ISO 8601, with or without time and zone
            "messages": [
              {
                "id": "g1",                      ? unique in the conversation; else SESSION:0, SESSION:1 ...
                "role": "user",                  ? "user" or "assistant"; else "user"
                "speaker": "Ina",                ? the name, where people talk with each other
                "text": "The first bed is dug."
              }
            ]
          }
        ],
        "questions": [
          {
            "id": "garden-1",                    unique in the file; results are logged under it
            "question": "What was dug?",
            "answer": "the first bed",           text, a number, or a list of them
            "evidence": ["g1"],                  ? ids of the messages that hold the answer
            "type": "single",                    ? results are shown by type; else "untyped"
            "date": "2024-05-01",                ? when it is asked: what "last week" counts from
            "abstain": false                     ? true: the conversation does not answer it
          }
        ]
      }
    ]

A question with ``abstain`` needs no ``answer``. One without ``evidence`` is left out of retrieval metrics.
Fields of other names are refused, so that a misspelt one is not lost. ``example.json`` beside this module is
a whole file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from localmem.errors import ImportFailed
from localmem.evals.datasets.cases import Conversation, Question, question_text, reference, with_messages
from localmem.importers.fields import (
    Record,
    described,
    optional_name,
    optional_text,
    required_list,
    required_name,
    required_object,
    required_text,
)
from localmem.types import NewMessage, NewSession, Role

CONVERSATION = ("id", "sessions", "questions")
SESSION = ("id", "date", "messages")
MESSAGE = ("id", "role", "speaker", "text")
QUESTION = ("id", "question", "answer", "evidence", "type", "date", "abstain")
UNTYPED = "untyped"


def read_own(record: Record, place: str, notes: Counter[str]) -> Conversation:
    """Read one record."""
    _check_fields(record, CONVERSATION, place)
    source = required_name(record, "id", place)
    taken: dict[str, str] = {}  # message id -> session id
    sessions: list[NewSession] = []
    for number, value in enumerate(required_list(record, "sessions", place), 1):
        where = f"{place}, session {number}"
        session = _session(source, required_object(value, where), taken, where)
        if any(session.external_id == before.external_id for before in sessions):
            raise ImportFailed(
                f"{where}: the id {described(session.external_id)} was used before in this conversation."
            )
        if session.messages:
            sessions.append(session)
        else:
            notes["session without messages"] += 1
    asked = [
        partial(_question, value, source, taken, f"{place}, question {number}")
        for number, value in enumerate(required_list(record, "questions", place), 1)
    ]
    return Conversation(with_messages(tuple(sessions), place), tuple(asked))


def _session(source: str, session: Record, taken: dict[str, str], place: str) -> NewSession:
    _check_fields(session, SESSION, place)
    name = required_name(session, "id", place)
    started = _date(session, place)
    messages = []
    for index, value in enumerate(required_list(session, "messages", place)):
        where = f"{place}, message {index + 1}"
        message = required_object(value, where)
        _check_fields(message, MESSAGE, where)
        identity = optional_name(message, "id", where) or f"{name}:{index}"
        if identity in taken:
            raise ImportFailed(f"{where}: the id {described(identity)} was used before in this conversation.")
        taken[identity] = name
        messages.append(
            NewMessage(
                role=_role(message, where),
                text=required_text(message, "text", where),
                speaker=optional_text(message, "speaker", where),
                sent_at=started,
                external_id=identity,
            )
        )
    return NewSession(source, name, tuple(messages), started_at=started)


def _question(value: object, source: str, session_of: Mapping[str, str], place: str) -> Question:
    asked = required_object(value, place)
    _check_fields(asked, QUESTION, place)
    abstain = asked.get("abstain") or False
    if not isinstance(abstain, bool):
        raise ImportFailed(f'{place}: "abstain" must be true or false, found {described(abstain)}.')
    gold = _evidence(asked, session_of, place)
    return Question(
        id=required_name(asked, "id", place),
        source=source,
        text=question_text(asked, place),
        category=optional_name(asked, "type", place) or UNTYPED,
        gold=gold,
        gold_sessions=frozenset(session_of[message] for message in gold),
        asked_at=_date(asked, place),
        reference=reference(asked, place, abstain=abstain),
        abstain=abstain,
    )


def _evidence(asked: Record, session_of: Mapping[str, str], place: str) -> frozenset[str]:
    """Here an id that does not exist is a fault: who wrote the file can mend it."""
    if asked.get("evidence") is None:
        return frozenset()
    gold = set()
    for given in required_list(asked, "evidence", place):
        identity = required_name({"evidence": given}, "evidence", place)
        if identity not in session_of:
            raise ImportFailed(f'{place}: "evidence" names {described(identity)}, which is no message\'s id.')
        gold.add(identity)
    return frozenset(gold)


def _role(message: Record, place: str) -> Role:
    value = message.get("role")
    if value is None:
        return Role.USER
    if value in ("user", "assistant"):
        return Role(value)
    raise ImportFailed(f'{place}: "role" must be user or assistant, found {described(value)}.')


def _date(record: Record, place: str) -> datetime | None:
    text = optional_text(record, "date", place)
    if not text:
        return None
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise ImportFailed(
            f'{place}: "date" must be a date such as 2024-05-01 or 2024-05-01T18:30, found {described(text)}.'
        ) from error


def _check_fields(record: Record, fields: Sequence[str], place: str) -> None:
    for key in record:
        if key not in fields:
            raise ImportFailed(f"{place}: there is no field {described(key)}. Fields: {', '.join(fields)}.")
