"""The items of the probes, and how each is marked. All of them are invented."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Any

from localmem.answering.draft import draft
from localmem.answering.notes import make_notes
from localmem.answering.prompting import ANSWER
from localmem.answering.question import read_question
from localmem.answering.sentences import sentences_of
from localmem.answering.wording import Worded, word
from localmem.index.tokens import terms
from localmem.layers.grounding import Grounding
from localmem.models.catalog import ModelRole
from localmem.models.protocols import ChatModel
from localmem.roles import controller
from localmem.roles.judge import JUDGE, judge
from localmem.roles.summariser import SUMMARISE, summarise
from localmem.types import Evidence, Ledger, Message, Origin, Role

Item = dict[str, Any]

PROBED = (ModelRole.SUMMARISER, ModelRole.CONTROLLER, ModelRole.ANSWERER, ModelRole.JUDGE)

SECONDS = 30.0
"""Longest time for one item; a slower model fails it."""


@cache
def items(role: ModelRole) -> tuple[Item, ...]:
    """The items of a role."""
    text = (resources.files(__name__.rpartition(".")[0]) / f"{role}.json").read_text(encoding="utf-8")
    return tuple(json.loads(text))


@cache
def version(role: ModelRole) -> str:
    """Hash of the role's items and prompts: a result under another one no longer counts."""
    parts = (items(role), *(task.version for task in _TASKS[role]))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def passes(role: ModelRole, item: Item, model: ChatModel) -> bool:
    """Pose one item and mark the reply; raises what a task raises when the model gives none."""
    return _MARKS[role](item, model)


def _summariser(item: Item, model: ChatModel) -> bool:
    """The summary keeps what it must and tells nothing that was not said."""
    turn = [_message(i, *said) for i, said in enumerate(item["turn"])]
    (summary,) = summarise(model, [turn], deadline=SECONDS).value.summaries
    return _says(summary, item["keep"]) and not Grounding(turn).unsupported(summary)


def _answerer(item: Item, model: ChatModel) -> bool:
    """The wording stands the checks that every answer has to stand, and says what was asked for."""
    question: str = item["question"]
    asked = read_question(question)
    evidence = [Evidence(_message(i, *note), "raw", 0.5) for i, note in enumerate(item["notes"])]
    parts = [sentences_of(evidence, dict.fromkeys(terms(part), 1.0)) for part in asked.parts]
    rule = draft(asked, parts)
    notes = make_notes(parts[0], rule)
    ledger = Ledger()
    worded = Worded()
    for _ in word(worded, question, rule, notes, ledger, model, None):
        pass
    return not ledger.fallbacks and _says(worded.text, item["expect"])


def _controller(item: Item, model: ChatModel) -> bool:
    """The right tool, queries for every part, the needed notes, the right view of what is missing."""
    question: str = item["question"]
    expect = item["expect"]
    if item["task"] == "choose":
        return controller.choose(model, question, item["state"], deadline=SECONDS).value.tool in expect
    if item["task"] == "decompose":
        queries = controller.decompose(model, question, deadline=SECONDS).value.queries
        least, most = item["queries"]
        return least <= len(queries) <= most and all(_says("\n".join(queries), [part]) for part in expect)
    if item["task"] == "select":
        numbers = controller.select(model, question, item["candidates"], deadline=SECONDS).value.numbers
        return sorted(set(numbers)) == [str(place + 1) for place in expect]
    reflection = controller.reflect(model, question, item["tried"], item["facts"], deadline=SECONDS).value
    asked = "\n".join(reflection.queries)
    return reflection.sufficient is expect and all(_says(asked, [about]) for about in item["about"])


def _judge(item: Item, model: ChatModel) -> bool:
    verdict = judge(model, item["question"], item["reference"], item["answer"], deadline=SECONDS).value
    return (verdict.verdict == "CORRECT") is item["expect"]


def _says(text: str, wanted: Sequence[Sequence[str] | str]) -> bool:
    """Whether for each of ``wanted`` the text has it, or one of its spellings."""
    spellings = ([one] if isinstance(one, str) else one for one in wanted)
    return all(any(re.search(re.escape(way), text, re.IGNORECASE) for way in ways) for ways in spellings)


def _message(number: int, day: str, speaker: str, text: str) -> Message:
    role = Role.ASSISTANT if speaker == "assistant" else Role.USER
    name = "" if speaker in ("user", "assistant") else speaker
    sent_at = datetime.fromisoformat(day).replace(tzinfo=UTC)
    return Message(
        number, 0, number, number, role, name, text, sent_at, False, f"#{number}", "probe", Origin.SAID, ""
    )


_MARKS: dict[ModelRole, Callable[[Item, ChatModel], bool]] = {
    ModelRole.SUMMARISER: _summariser,
    ModelRole.CONTROLLER: _controller,
    ModelRole.ANSWERER: _answerer,
    ModelRole.JUDGE: _judge,
}
_TASKS = {
    ModelRole.SUMMARISER: (SUMMARISE,),
    ModelRole.CONTROLLER: (controller.CHOOSE, controller.DECOMPOSE, controller.SELECT, controller.REFLECT),
    ModelRole.ANSWERER: (ANSWER,),
    ModelRole.JUDGE: (JUDGE,),
}
