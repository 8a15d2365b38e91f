from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from localmem.disclosure.agent import Agent
from localmem.disclosure.budget import EFFORTS
from localmem.disclosure.state import State
from localmem.disclosure.tracing import GAP, own_words, step_from_json
from localmem.errors import BadInput, ModelCrashed
from localmem.events import Answered, StepTaken
from localmem.importers.run import import_files
from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.roles.trust import Trust
from localmem.steps import Decision, Kind, ReadTurns, Reflect, Search
from localmem.types import Answer, NewSession

MakeSession = Callable[..., NewSession]
DEMO = resources.files("localmem.demo")


def asked(events: Any) -> tuple[list[StepTaken], Answer]:
    steps = []
    for event in events:
        if isinstance(event, StepTaken):
            steps.append(event)
        if isinstance(event, Answered):
            return steps, event.answer
    raise AssertionError("no answer")


@pytest.fixture
def demo(memory: Memory) -> Memory:
    with resources.as_file(DEMO / "history.jsonl") as history:
        import_files([history], "auto", memory.add)
    memory.wait_embedded()
    return memory


@pytest.fixture
def dentist(memory: Memory, session: MakeSession) -> Memory:
    memory.add(session("old", "My dentist is Dr Alba in Mill Street.", "Noted."))
    memory.add(session("new", "My dentist is Dr Brook now.", "Good.", day=30))
    memory.add(session("garden", "I planted tulips yesterday.", "Lovely.", day=31))
    memory.wait_embedded()
    return memory


def test_the_twin_answers_each_question_of_the_sample_history(demo: Memory) -> None:
    for item in json.loads((DEMO / "questions.json").read_text(encoding="utf-8")):
        _, answer = asked(demo.answer(item["question"], model=None, agent=Agent()))
        assert answer.policy == "agent"
        assert answer.stop_reason
        if item["expected"] is None:
            assert answer.abstained, item
        else:
            assert item["expected"] in answer.text.split(" Earlier:")[0], (item, answer.text)
            assert set(answer.citations) <= {one.message.id for one in answer.evidence}
            assert any(requirement.met_by for requirement in answer.requirements)


def test_the_ledger_adds_up(demo: Memory) -> None:
    steps, answer = asked(demo.answer("On which day is my weekly team meeting?", model=None, agent=Agent()))
    ledger = answer.ledger
    opened = {one.session_id: one.level for s in steps for c in s.step.calls for one in c.opened}
    assert ledger.sessions_opened == len(opened) == sum(ledger.depth.values()) < ledger.sessions
    assert ledger.steps == len(steps) <= EFFORTS["medium"].steps
    assert ledger.records == len(answer.evidence) <= ledger.messages
    assert {one.layer for one in answer.evidence} <= set(ledger.layers) == set(opened.values())
    assert 0 < ledger.history_share < 1
    assert ledger.retrieval_calls == sum(
        len(c.action.queries) for s in steps for c in s.step.calls if isinstance(c.action, Search)
    )
    assert {"search", "controller", "layers", "notes"} <= set(ledger.seconds)
    assert (ledger.model_calls, ledger.tokens_read) == (0, 0)


def test_an_empty_memory_abstains(memory: Memory) -> None:
    _, answer = asked(memory.answer("Who am I?", model=None, agent=Agent()))
    assert answer.abstained


def test_an_empty_question_is_refused(memory: Memory) -> None:
    with pytest.raises(BadInput, match="empty"):
        asked(memory.answer("  ", model=None, agent=Agent()))


def test_a_trusted_model_chooses_tools_and_is_counted(dentist: Memory) -> None:
    replies = [
        '{"tool": "search"}',
        '{"queries": ["dentist name"]}',
        '{"tool": "reflect"}',
        '{"sufficient": true, "found": ["Dr Brook"], "gaps": [], "queries": []}',
    ]
    controller = ScriptedModel(replies)
    agent = Agent(EFFORTS["high"], controller=controller)
    steps, answer = asked(
        dentist.answer("Who is my dentist?", model=ScriptedModel(["Your dentist is Dr Brook."]), agent=agent)
    )
    actions = [call.action for step in steps for call in step.step.calls]
    assert actions == [Search(("Who is my dentist?", "dentist name")), Reflect()]
    assert answer.text == "Your dentist is Dr Brook."
    assert answer.ledger.model_calls == 5
    assert answer.ledger.fallbacks == []


def test_a_model_selects_the_sessions_that_it_opens(dentist: Memory) -> None:
    def reply(prompt: Any) -> str:
        ask = prompt[-1].text
        if ask.startswith("Question: Who is my dentist?\nNotes:"):
            return '{"numbers": ["2"]}'
        chosen = ["read_turns", "reflect"] if "read_facts of" in ask else ["search"]
        if "Done so far" in ask:
            return json.dumps({"tool": chosen["read_turns of" in ask]})
        if "Queries tried" in ask:
            return '{"sufficient": true, "found": [], "gaps": [], "queries": []}'
        return '{"queries": ["dentist"]}'

    agent = Agent(EFFORTS["high"], controller=ScriptedModel(reply))
    steps, answer = asked(dentist.answer("Who is my dentist?", model=None, agent=agent))
    found = [one.session_id for one in steps[0].step.calls[0].found]
    assert [call.action for call in steps[1].step.calls] == [ReadTurns(found[1])]
    assert answer.ledger.depth["notes"] == 1


@pytest.mark.parametrize("reply", ["no JSON at all", "", '{"tool": "fly"}', ModelCrashed("it died")])
def test_the_twin_decides_a_step_that_the_model_cannot(dentist: Memory, reply: Any) -> None:
    agent = Agent(EFFORTS["high"], controller=ScriptedModel(lambda prompt: reply))
    steps, answer = asked(dentist.answer("Who is my dentist?", model=None, agent=agent))
    assert "Dr Brook" in answer.text
    assert steps[-1].step.kind is Kind.DRAFT
    assert len(answer.ledger.fallbacks) >= 2
    assert all(reason.startswith("controller: ") for reason in answer.ledger.fallbacks)


@pytest.mark.parametrize("tool", ["answer", "read_facts", "read_turns", "read_raw"])
def test_a_tool_for_which_nothing_was_found_yet_is_left_to_the_twin(dentist: Memory, tool: str) -> None:
    replies = [json.dumps({"tool": tool}), '{"tool": "answer"}', '{"tool": "answer"}', '{"tool": "answer"}']
    agent = Agent(EFFORTS["high"], controller=ScriptedModel(replies))
    steps, answer = asked(dentist.answer("Who is my dentist?", model=None, agent=agent))
    assert isinstance(steps[0].step.calls[0].action, Search)
    assert "Dr Brook" in answer.text
    assert answer.ledger.fallbacks == [f"controller: it chose {tool}, for which nothing was found yet"]


def test_model_tokens_stay_within_the_budget(dentist: Memory) -> None:
    budget = EFFORTS["high"].but(model_tokens=1200)
    agent = Agent(budget, controller=ScriptedModel(lambda prompt: '{"tool": "search"}'))
    _, answer = asked(dentist.answer("Who is my dentist?", model=ScriptedModel(["Dr Brook."]), agent=agent))
    spent = answer.ledger.tokens_read + answer.ledger.tokens_written
    assert 0 < spent <= 1200
    assert any("model tokens" in reason for reason in answer.ledger.fallbacks)
    assert "Dr Brook" in answer.text


def test_a_controller_that_is_not_trusted_is_not_asked(dentist: Memory) -> None:
    controller = ScriptedModel()
    trust = Trust(trusted=False, reason="its probe's 0.20 is below 0.85")
    _, answer = asked(
        dentist.answer("Who is my dentist?", model=None, agent=Agent(controller=controller, trust=trust))
    )
    assert controller.history == []
    assert answer.ledger.fallbacks == ["controller: its probe's 0.20 is below 0.85"]
    assert "Dr Brook" in answer.text


def test_a_controller_that_was_forced_is_asked_and_the_ledger_says_so(dentist: Memory) -> None:
    agent = Agent(controller=ScriptedModel(lambda prompt: "?"), trust=Trust(forced=True, reason="forced"))
    _, answer = asked(dentist.answer("Who is my dentist?", model=None, agent=agent))
    assert answer.ledger.forced == ["controller: forced"]


def test_a_user_who_stops_gets_what_was_found(dentist: Memory) -> None:
    cancel = threading.Event()

    def decide(state: State) -> Decision:
        if state.tried:
            cancel.set()
        return (Search(("dentist", str(len(state.steps)))),)

    model = ScriptedModel()
    agent = Agent(decide=decide)
    steps, answer = asked(dentist.answer("Who is my dentist?", model=model, agent=agent, cancel=cancel))
    assert answer.stop_reason == "stopped by the user"
    assert "Dr Brook" in answer.text
    assert model.history == []
    assert len(steps) == 2


def test_a_steps_trace_keeps_no_text_of_memory(dentist: Memory) -> None:
    def reply(prompt: Any) -> str:
        ask = prompt[-1].text
        if "Queries tried" in ask:
            return (
                '{"sufficient": false, "found": ["Dr Alba"], "gaps": ["Mill Street"], '
                '"queries": ["dentist Alba in Mill Street"]}'
            )
        if "Done so far" in ask:
            return '{"tool": "reflect"}' if "search" in ask else '{"tool": "search"}'
        return '{"queries": ["dentist Brook"]}'

    agent = Agent(EFFORTS["high"], controller=ScriptedModel(reply))
    _, answer = asked(dentist.answer("Who is my dentist?", model=None, agent=agent))
    kept = dentist.trace(answer.trace)
    text = json.dumps([kept.body, kept.steps], ensure_ascii=False)
    for word in ("Alba", "Mill", "Street", "Brook", "tulips"):
        assert word not in text
    assert "dentist" in text
    assert GAP in text


def test_words_that_are_not_the_questions_own_leave_a_gap() -> None:
    question = "Who is my dentist?"
    assert own_words("my dentist in Mill Street", question) == f"my dentist in {GAP}"
    assert own_words("dentists, 7 of them", question) == f"dentists, {GAP} of them"
    assert own_words(question, question) == question


def test_a_saved_step_is_the_step_again(demo: Memory) -> None:
    steps, answer = asked(demo.answer("What is my blood type?", model=None, agent=Agent()))
    saved = [step_from_json(n, body) for n, body in enumerate(demo.trace(answer.trace).steps, 1)]
    for before, after in zip([one.step for one in steps], saved, strict=True):
        assert (after.number, after.kind) == (before.number, before.kind)
        assert [call.opened for call in after.calls] == [call.opened for call in before.calls]
        assert [call.found for call in after.calls] == [call.found for call in before.calls]
        assert [type(call.action) for call in after.calls] == [type(call.action) for call in before.calls]


def test_more_effort_goes_on_where_the_budget_had_ended(demo: Memory) -> None:
    question = "How many books have I finished reading since March?"
    first, few = asked(demo.answer(question, model=None, agent=Agent(EFFORTS["medium"].but(steps=3))))
    assert few.stop_reason == "all 3 steps are used up"
    again, more = asked(demo.resume(few.trace, model=None, agent=Agent(EFFORTS["high"])))
    assert [one.replayed for one in again[:3]] == [True] * 3
    assert [one.step.number for one in again] == list(range(1, len(again) + 1))
    assert len(again) > 3
    assert more.trace == few.trace
    assert more.ledger.retrieval_calls > few.ledger.retrieval_calls
    assert more.ledger.records >= few.ledger.records
    assert more.text.startswith("4, ")
    assert len(first) == 3
    _, unbroken = asked(demo.answer(question, model=None, agent=Agent(EFFORTS["high"])))
    assert {one.message.id for one in unbroken.evidence} == {one.message.id for one in more.evidence}


def test_resuming_without_a_larger_budget_gives_the_answer_again(demo: Memory) -> None:
    question, agent = "What is my blood type?", Agent(EFFORTS["medium"].but(steps=2))
    _, one = asked(demo.answer(question, model=None, agent=agent))
    steps, other = asked(demo.resume(one.trace, model=None, agent=agent))
    assert all(step.replayed for step in steps)
    assert (other.text, other.stop_reason) == (one.text, one.stop_reason)


def test_what_was_forgotten_before_it_was_resumed_stays_away(demo: Memory) -> None:
    agent = Agent(EFFORTS["medium"].but(steps=3))
    _, one = asked(demo.answer("Who is Miso?", model=None, agent=agent))
    gone = one.evidence[0].message
    connection = demo._database.connection()
    connection.execute("DELETE FROM message WHERE id = ?", (gone.id,))
    _, other = asked(demo.resume(one.trace, model=None, agent=agent))
    assert gone.id not in {item.message.id for item in other.evidence}
    assert other.evidence


def test_only_traces_of_a_controller_can_be_resumed(dentist: Memory) -> None:
    with pytest.raises(BadInput, match="no trace 99"):
        asked(dentist.resume(99, model=None, agent=Agent()))
    _, fixed = asked(dentist.answer("Who is my dentist?", model=None))
    with pytest.raises(BadInput, match="policy fixed"):
        asked(dentist.resume(fixed.trace, model=None, agent=Agent()))


KILLED = """
import os, signal, sys
from pathlib import Path
from localmem.steps import ReadTurns, Search
from localmem.disclosure.agent import Agent
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder

def decide(state):
    if len(state.steps) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return (Search(("dentist",)),) if not state.steps else (ReadTurns(state.best[0]),)

memory = Memory(Path(sys.argv[1]), HashEmbedder())
for _ in memory.answer("Who is my dentist?", model=None, agent=Agent(decide=decide)):
    pass
"""


def test_an_answer_that_was_killed_goes_on_from_its_last_finished_step(
    dentist: Memory, open_memory: Callable[[], Memory], tmp_path: Path
) -> None:
    dentist.close()
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "memory.db")], timeout=60)
    assert killed.returncode == -signal.SIGKILL
    memory = open_memory()
    assert len(memory.trace(1).steps) == 2
    assert memory.step_counts() == []  # it was not finished
    steps, answer = asked(memory.resume(1, model=None, agent=Agent(EFFORTS["high"])))
    assert [step.replayed for step in steps[:3]] == [True, True, False]
    assert isinstance(steps[1].step.calls[0].action, ReadTurns)
    assert "Dr Brook" in answer.text
    assert [one.steps for one in memory.step_counts()] == [len(steps)]


def test_the_seconds_of_tools_are_averaged_over_saved_steps(dentist: Memory) -> None:
    asked(dentist.answer("Who is my dentist?", model=None, agent=Agent()))
    averages = dentist._traces.seconds_by_tool()
    assert 0 < averages["search"] < 5
    assert "reflect" in averages
