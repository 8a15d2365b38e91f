"""Ablations: a tool that may not be used is not used, whoever decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from localmem.disclosure.agent import Agent
from localmem.disclosure.budget import EFFORTS
from localmem.disclosure.state import LIMITS, State
from localmem.events import Answered, StepTaken
from localmem.memory import Memory
from localmem.steps import (
    TOOL_NAMES,
    Decision,
    Decompose,
    Draft,
    InterpretDates,
    Level,
    ReadFacts,
    ReadRaw,
    ReadTurns,
    Reflect,
    Search,
)
from localmem.types import NewSession

QUESTION = "How many museums did I visit with Ada and with Grace last spring?"


@pytest.fixture
def museums(memory: Memory, session: Callable[..., NewSession]) -> Memory:
    for day, name in enumerate(("Ada", "Grace", "Mary", "Rosa")):
        said = (f"I visited the railway museum with {name}.", "How was it?", f"{name} loved the trains.")
        memory.add(session(name, *said, "Nice.", day=day))
    memory.wait_embedded()
    return memory


def everything(state: State) -> Decision:
    """Proposes every tool once, then drafts."""
    if len(state.steps) > 1:
        return Draft()
    if not state.tried:
        return (Search((QUESTION,)), Decompose(), InterpretDates(QUESTION))
    session = next(iter(state.found))
    return (ReadFacts(session), ReadTurns(session), ReadRaw(session), Reflect())


def calls(memory: Memory, **agent: Any) -> Iterator[Any]:
    for event in memory.answer(QUESTION, model=None, agent=Agent(EFFORTS["high"], **agent)):
        if isinstance(event, StepTaken):
            yield from event.step.calls
        if isinstance(event, Answered):
            assert event.answer.evidence


@pytest.mark.parametrize("decide", [None, everything], ids=["twin", "scripted"])
@pytest.mark.parametrize("tool", sorted(set(TOOL_NAMES.values()) - {"search"}))
def test_a_tool_that_may_not_be_used_is_not_used(museums: Memory, tool: str, decide: Any) -> None:
    used = {TOOL_NAMES[type(call.action)] for call in calls(museums, decide=decide)}
    limits = replace(LIMITS, without=frozenset({tool}))
    left = {TOOL_NAMES[type(call.action)] for call in calls(museums, decide=decide, limits=limits)}
    assert tool in used or decide is None
    assert tool not in left
    assert "search" in left


def test_without_facts_a_search_opens_none_by_itself(museums: Memory) -> None:
    limits = replace(LIMITS, without=frozenset({"read_facts"}))
    levels = {one.level for call in calls(museums, limits=limits) for one in call.opened}
    assert levels
    assert Level.FACTS not in levels


def test_without_notes_the_twin_still_gets_to_the_messages(museums: Memory) -> None:
    limits = replace(LIMITS, without=frozenset({"read_turns"}))
    assert Level.RAW in {one.level for call in calls(museums, limits=limits) for one in call.opened}
