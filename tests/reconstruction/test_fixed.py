from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from importlib import resources
from typing import Any

import pytest

from localmem.entries import Layer, Summary
from localmem.errors import ModelCrashed
from localmem.events import Answered
from localmem.importers.run import import_files
from localmem.memory import Memory
from localmem.models.protocols import ChatMessage
from localmem.models.scripted import ScriptedModel
from localmem.reconstruction.fixed import FIXED, Fixed
from localmem.reconstruction.reconstruct import LEAST
from localmem.reconstruction.selection import KEPT
from localmem.roles.trust import Trust
from localmem.types import Answer, NewSession

Said = Callable[..., NewSession]

QUESTION = "How many days did it take for me to receive the new remote shutter release after I ordered it?"
SPLIT = json.dumps({"queries": ["ordered the shutter release", "shutter release arrived"]})


@pytest.fixture
def demo(memory: Memory) -> Memory:
    with resources.as_file(resources.files("localmem.demo") / "history.jsonl") as history:
        import_files([history], "auto", memory.add)
    memory.wait_embedded()
    return memory


def ask(
    memory: Memory,
    fixed: Fixed = FIXED,
    question: str = QUESTION,
    model: ScriptedModel | None = None,
    cancel: threading.Event | None = None,
) -> Answer:
    *_, last = memory.answer(question, model=model, fixed=fixed, cancel=cancel)
    assert isinstance(last, Answered)
    return last.answer


def names(answer: Answer, ids: tuple[int, ...]) -> set[str]:
    evidence = {item.message.id: item.message.external_id for item in answer.evidence}
    return {evidence[message_id] for message_id in ids}


def controller(select: str | Exception, decompose: str | Exception = SPLIT) -> ScriptedModel:
    """A model that decomposes, then selects."""

    def reply(prompt: tuple[ChatMessage, ...]) -> str:
        made = select if "\nNotes:" in prompt[-1].text else decompose
        if isinstance(made, Exception):
            raise made
        return made

    return ScriptedModel(reply)


def body(memory: Memory, trace: int) -> dict[str, Any]:
    return memory.trace(trace).body


def test_an_interval_told_in_two_sessions_is_answered_and_both_messages_are_cited(shutter: Memory) -> None:
    answer = ask(shutter)
    assert answer.text == "5 days: from 5 February 2023 to 10 February 2023."
    assert names(answer, answer.citations) == {"order:0", "drive:0"}
    assert answer.policy == "fixed"
    met = {need.text: names(answer, need.met_by) for need in answer.requirements}
    assert "order:0" in met["I ordered new remote shutter release"]
    assert all(met.values())


def test_the_rounds_account_for_all_evidence_and_every_call(shutter: Memory) -> None:
    answer = ask(shutter)
    new = [message_id for one in answer.rounds for message_id in one.new]
    assert len(new) == len(set(new))
    assert set(new) == {item.message.id for item in answer.evidence}
    assert [one.view for one in answer.rounds] == ["pool", "ranking", "ranking", "links", "ranking"]
    assert len(answer.rounds[0].new) == LEAST
    assert answer.ledger.retrieval_calls == len(answer.rounds)
    assert answer.ledger.records == len(answer.evidence)
    assert answer.stop_reason == "rounds spent"


@pytest.mark.parametrize(("calls", "records"), [(1, 1), (1, 40), (2, 5), (3, 3), (4, 17), (7, 34)])
def test_neither_calls_nor_records_are_more_than_allowed(shutter: Memory, calls: int, records: int) -> None:
    answer = ask(shutter, Fixed(calls, records))
    assert answer.ledger.retrieval_calls == len(answer.rounds) <= calls
    assert 1 <= answer.ledger.records == len(answer.evidence) <= records
    evidence = {item.message.id for item in answer.evidence}
    assert evidence.issuperset(answer.citations)
    assert all(evidence.issuperset(need.met_by) for need in answer.requirements)


def test_a_requirement_that_no_message_meets_is_not_found(memory: Memory, said: Said) -> None:
    memory.add(said("Emma lives in Oslo.", "Nice."))
    memory.wait_embedded()
    answer = ask(memory, question="Where does Emma or Zorblax live?")
    met = {need.text: need.met_by for need in answer.requirements}
    assert met["Where does Emma live?"]
    assert met["Where does Zorblax live?"] == ()
    kept = body(memory, answer.trace)["requirements"]
    assert [tuple(ids) for (ids,) in kept] == [need.met_by for need in answer.requirements]


def test_a_time_that_no_message_met_alone_is_met_by_what_the_answer_cites(demo: Memory) -> None:
    answer = ask(demo, question="How many books have I finished reading since March?")
    assert answer.text.startswith("4, ")
    month = next(need for need in answer.requirements if need.text == "March")
    assert month.met_by
    assert set(month.met_by) <= set(answer.citations)


@pytest.mark.parametrize("kind", ["count", "other"])
def test_a_count_takes_more_evidence_so_that_links_displace_no_instance(demo: Memory, kind: str) -> None:
    question = {"count": "How many books did I finish reading?", "other": "What do I read?"}[kind]
    evidence = {item.message.id for item in ask(demo, question=question).evidence}
    best = {hit.message.id for hit in demo.search(question, 34)}
    assert len(evidence) == {"count": 40, "other": 34}[kind]
    assert (best <= evidence) == (kind == "count")


def test_a_trace_keeps_views_and_ids_and_no_text(shutter: Memory) -> None:
    answer = ask(shutter, Fixed(controller=controller('{"numbers": ["1"]}')))
    kept = body(shutter, answer.trace)
    assert [one["view"] for one in kept["rounds"]] == [one.view for one in answer.rounds]
    assert [tuple(one["new"]) for one in kept["rounds"]] == [one.new for one in answer.rounds]
    assert {one["cue"] for one in kept["rounds"]} == {None}
    told = json.dumps(kept)
    assert "shutter" not in told  # of the question, of the model's queries, of what was found
    assert "February" not in told


def test_a_trusted_controller_decomposes_and_selects(shutter: Memory) -> None:
    model = controller('{"numbers": ["2"]}')
    answer = ask(shutter, Fixed(controller=model))
    assert [need.text for need in answer.requirements] == [
        "ordered the shutter release",
        "shutter release arrived",
    ]
    offered = re.findall(r"^\d+\. (.+)$", model.history[1][-1].text, re.MULTILINE)
    assert 2 < len(offered) <= KEPT
    first = next(i.message for i in answer.evidence if i.message.id == answer.rounds[0].new[0])
    (summary,) = shutter.layer(first.session_id, Layer.SUMMARY)[:1]
    assert isinstance(summary.content, Summary)
    assert summary.content.text == offered[1]
    ledger = answer.ledger
    assert ledger.model_calls == 2
    assert ledger.tokens_read > 0
    assert ledger.seconds["controller"] > 0
    assert ledger.fallbacks == []


@pytest.mark.parametrize(
    ("decompose", "select", "fallbacks"),
    [
        (ModelCrashed("it died"), ModelCrashed("it died"), ["controller: it died"] * 2),
        (SPLIT, ModelCrashed("it died"), ["controller: it died"]),
        (ModelCrashed("it died"), '{"numbers": ["1"]}', ["controller: it died"]),
    ],
)
def test_where_the_controller_fails_the_rule_decides_and_the_ledger_counts_it(
    shutter: Memory, decompose: str | Exception, select: str | Exception, fallbacks: list[str]
) -> None:
    answer = ask(shutter, Fixed(controller=controller(select, decompose)))
    assert answer.ledger.fallbacks == fallbacks
    assert answer.text.startswith("5 days")
    if len(fallbacks) == 2:
        assert answer.rounds == ask(shutter).rounds


def test_a_controller_that_makes_no_sense_or_has_a_small_window_is_replaced(shutter: Memory) -> None:
    nonsense = ask(shutter, Fixed(controller=ScriptedModel(lambda prompt: "as you like")))
    assert len(nonsense.ledger.fallbacks) == 2
    assert nonsense.rounds == ask(shutter).rounds
    small = ask(shutter, Fixed(controller=ScriptedModel(lambda prompt: SPLIT, context=60)))
    assert "controller: no two notes fit its window" in small.ledger.fallbacks


def test_a_controller_that_is_not_trusted_is_not_asked_and_a_forced_one_is_told_of(shutter: Memory) -> None:
    model = controller('{"numbers": ["1"]}')
    weak = ask(shutter, Fixed(controller=model, trust=Trust(trusted=False, reason="weak")))
    assert model.history == []
    assert weak.ledger.fallbacks == ["controller: weak"]
    forced = ask(shutter, Fixed(controller=model, trust=Trust(forced=True, reason="forced")))
    assert len(model.history) == 2
    assert forced.ledger.forced == ["controller: forced"]


def test_an_answer_stopped_while_the_controller_works_is_the_rules(shutter: Memory) -> None:
    cancel = threading.Event()

    def reply(prompt: tuple[ChatMessage, ...]) -> str:
        cancel.set()
        return SPLIT

    answer = ask(shutter, Fixed(controller=ScriptedModel(reply)), model=ScriptedModel(), cancel=cancel)
    assert answer.stop_reason == "stopped by the user"
    assert answer.text.startswith("5 days")
    assert answer.ledger.fallbacks == []
