"""The controller's decisions (APDMem 3.2): split a question, choose a tool, select evidence, reflect."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from localmem.models.catalog import ModelRole
from localmem.models.grammar import Line
from localmem.models.protocols import ChatMessage, ChatModel
from localmem.models.structured import Structured
from localmem.roles.summariser import numbered
from localmem.roles.task import Task, call
from localmem.text import fenced

QUERY_CHARACTERS = 80
"""Three to eight words."""
SELECTED = 5
"""Notes of a composed set at most (BFR, Appendix D: 1 to 5)."""

DECOMPOSE = Task("decompose", ModelRole.CONTROLLER, max_tokens=140)
CHOOSE = Task("choose", ModelRole.CONTROLLER, max_tokens=40)
SELECT = Task("select", ModelRole.CONTROLLER, max_tokens=60)
REFLECT = Task("reflect", ModelRole.CONTROLLER, max_tokens=240)


class Tool(StrEnum):
    """What the controller may do next (APDMem, Figure 1), or stop and answer."""

    SEARCH = "search"
    READ_FACTS = "read_facts"
    READ_TURNS = "read_turns"
    READ_RAW = "read_raw"
    INTERPRET_DATES = "interpret_dates"
    DECOMPOSE = "decompose"
    REFLECT = "reflect"
    ANSWER = "answer"


class Decomposition(BaseModel):
    """What must be known to answer: one short query for each."""

    queries: Annotated[list[Annotated[str, Line(QUERY_CHARACTERS)]], Field(min_length=1, max_length=5)]


class ToolChoice(BaseModel):
    """The next tool."""

    tool: Tool


class Reflection(BaseModel):
    """Is the evidence enough, and what to search for if not (APDMem, Figure 8)."""

    sufficient: bool
    found: Annotated[list[Annotated[str, Line(120)]], Field(max_length=8)]
    gaps: Annotated[list[Annotated[str, Line(120)]], Field(max_length=3)]
    queries: Annotated[list[Annotated[str, Line(QUERY_CHARACTERS)]], Field(max_length=5)]


def selection(candidates: int) -> type[BaseModel]:
    """Output type: ``numbers``, 1 to 5 of the ``candidates``, an enumeration: none can be invented."""
    number: Any = Literal[tuple(str(n) for n in range(1, candidates + 1))]
    each: Any = list[number]
    most = min(SELECTED, candidates)
    return create_model("Selection", numbers=(Annotated[each, Field(min_length=1, max_length=most)], ...))


def decompose(
    model: ChatModel, question: str, *, cancel: threading.Event | None = None, deadline: float | None = None
) -> Structured[Decomposition]:
    """Split a question into the queries that must be met."""
    return call(DECOMPOSE, model, Decomposition, cancel=cancel, deadline=deadline, question=question)


def choose(
    model: ChatModel,
    question: str,
    state: Sequence[str],
    *,
    cancel: threading.Event | None = None,
    deadline: float | None = None,
) -> Structured[ToolChoice]:
    """The next tool, from what was done and found so far (``state``, one line for each step)."""
    done = "\n".join(f"- {fenced(line)}" for line in state) or "- nothing yet"
    return call(CHOOSE, model, ToolChoice, cancel=cancel, deadline=deadline, question=question, state=done)


def select(
    model: ChatModel,
    question: str,
    candidates: Sequence[str],
    *,
    cancel: threading.Event | None = None,
    deadline: float | None = None,
) -> Structured[Any]:
    """The smallest set of ``candidates`` that answers together (BFR 4), as ``value.numbers`` from "1"."""
    return call(
        SELECT,
        model,
        selection(len(candidates)),
        cancel=cancel,
        deadline=deadline,
        **_selected_from(question, candidates),
    )


def selection_ask(question: str, candidates: Sequence[str]) -> ChatMessage:
    """The last message of :func:`select`'s prompt, to measure how many candidates it has room for."""
    return SELECT.ask(**_selected_from(question, candidates))


def reflect(
    model: ChatModel,
    question: str,
    tried: Sequence[str],
    facts: Sequence[str],
    *,
    cancel: threading.Event | None = None,
    deadline: float | None = None,
) -> Structured[Reflection]:
    """Whether ``facts`` answer the question, and new queries in other words than those ``tried``."""
    material = _reflected_on(question, tried, facts)
    return call(REFLECT, model, Reflection, cancel=cancel, deadline=deadline, **material)


def reflection_ask(question: str, tried: Sequence[str], facts: Sequence[str]) -> ChatMessage:
    """The last message of :func:`reflect`'s prompt, to measure how many facts it has room for."""
    return REFLECT.ask(**_reflected_on(question, tried, facts))


def _selected_from(question: str, candidates: Sequence[str]) -> dict[str, str]:
    return {"question": question, "candidates": numbered(candidates)}


def _reflected_on(question: str, tried: Sequence[str], facts: Sequence[str]) -> dict[str, str]:
    return {
        "question": question,
        "tried": fenced("; ".join(tried)) or "none",
        "facts": "\n".join(f"- {fenced(fact)}" for fact in facts) or "- none",
    }
