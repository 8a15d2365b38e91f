"""Questions with their gold messages, out of the benchmark's own files.

The histories come through the importers, so that an evaluation sees what a user's import would store. A
gold message is named by its external id inside the question's conversation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from localmem.errors import BadInput, ImportFailed
from localmem.importers import read_sessions
from localmem.importers.json_stream import records
from localmem.types import NewSession

_DIALOGUE_ID = re.compile(r"D\d+:\d+")

Record = Mapping[str, Any]

ADVERSARIAL = 5
"""LoCoMo's category of questions that the conversation does not answer."""
LOCOMO_CATEGORIES = {
    1: "1 multi-hop",
    2: "2 temporal",
    3: "3 open-domain",
    4: "4 single-hop",
    5: "5 adversarial",
}


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one conversation."""

    id: str
    source: str
    """The conversation it is asked of."""
    text: str
    category: str
    """Number and name (LoCoMo) or type (LongMemEval)."""
    gold: frozenset[str]
    """External ids of the messages that hold the evidence; empty: not annotated."""
    asked_at: datetime | None
    """When the question is asked, where the benchmark says so."""
    answer: str
    abstain: bool
    """True when the right answer is that memory does not say."""


@dataclass(frozen=True, slots=True)
class Case:
    """One conversation with its questions."""

    sessions: tuple[NewSession, ...]
    questions: tuple[Question, ...]


def read_cases(benchmark: str, path: Path) -> Iterator[Case]:
    """The conversations of a benchmark file with their questions, one after the other.

    Raises :class:`BadInput` for an unknown benchmark, :class:`ImportFailed` for a file that is not of it.
    """
    if benchmark not in BENCHMARKS:
        raise BadInput(f"There is no benchmark {benchmark!r}. Benchmarks: {', '.join(BENCHMARKS)}.")
    conversations = groupby(read_sessions(path, benchmark, skipped=Counter()), key=attrgetter("source"))
    for (_, group), (place, record) in zip(conversations, records(path), strict=True):
        sessions = tuple(group)
        try:
            yield Case(sessions, tuple(BENCHMARKS[benchmark](record, sessions)))
        except (KeyError, TypeError, ValueError) as error:
            raise ImportFailed(f"{place}: the question cannot be read: {error!r}.") from error


def _locomo(record: Record, sessions: tuple[NewSession, ...]) -> Iterator[Question]:
    """Evidence ids are read wherever they stand in a string; ids that the conversation lacks are left out."""
    known = {message.external_id for session in sessions for message in session.messages}
    source = sessions[0].source
    for number, item in enumerate(record["qa"]):
        category = int(item["category"])
        named = {i for text in item.get("evidence", ()) for i in _DIALOGUE_ID.findall(str(text))}
        yield Question(
            id=f"{source}/{number}",
            source=source,
            text=str(item["question"]),
            category=LOCOMO_CATEGORIES.get(category, str(category)),
            gold=frozenset(i for i in named if i in known),
            asked_at=None,
            answer=str(item.get("answer", item.get("adversarial_answer", ""))),
            abstain=category == ADVERSARIAL,
        )


def _longmemeval(record: Record, sessions: tuple[NewSession, ...]) -> Iterator[Question]:
    """One question for each history; its gold messages are those marked ``has_answer``."""
    histories = [messages for messages in record["haystack_sessions"] if messages]
    gold = {
        message.external_id
        for session, messages in zip(sessions, histories, strict=True)
        for message, raw in zip(session.messages, messages, strict=True)
        if raw.get("has_answer") and message.external_id
    }
    yield Question(
        id=str(record["question_id"]),
        source=sessions[0].source,
        text=str(record["question"]),
        category=str(record["question_type"]),
        gold=frozenset(gold),
        asked_at=datetime.strptime(str(record["question_date"]).split("(")[0].strip(), "%Y/%m/%d"),
        answer=str(record["answer"]),
        abstain=str(record["question_id"]).endswith("_abs"),
    )


Reader = Callable[[Record, tuple[NewSession, ...]], Iterator[Question]]
BENCHMARKS: dict[str, Reader] = {"locomo": _locomo, "longmemeval": _longmemeval}
"""Readers by the name that ``--benchmark`` takes."""
