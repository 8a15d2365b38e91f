from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localmem.cli import main
from localmem.models.library import Library
from localmem.models.protocols import ChatMessage
from localmem.models.scripted import ScriptedModel
from localmem.probing.team import Team
from localmem.roles.trust import TRUSTED, Trust

Run = Callable[..., tuple[int, str, str]]
QUESTION = "On which day is my weekly team meeting?"
AGENT = ("--no-llm", "--policy", "agent")


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command on the sample history, with the embedder that needs no weights."""

    def run_one(*arguments: str) -> tuple[int, str, str]:
        code = main(["--db", str(tmp_path / "t.db"), "--home", str(tmp_path / "home"), *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    assert run_one("models", "use", "embedder", "hash")[0] == 0
    with resources.as_file(resources.files("localmem.demo") / "history.jsonl") as history:
        assert run_one("import", str(history))[0] == 0
    return run_one


def as_json(result: tuple[int, str, str]) -> Any:
    assert result[0] == 0, result
    return json.loads(result[1])


def test_the_agent_tells_its_steps_on_stderr_and_its_cost_on_stdout(run: Run) -> None:
    code, out, err = run("ask", QUESTION, *AGENT)
    assert code == 0
    assert "Thursday" in out
    assert "1. search" in err
    assert "draft" in err
    assert "search" not in out.split("\n")[0]
    for words in (
        "opened: ",
        "retrieval calls",
        "seconds: ",
        "tokens read, 0 reused",
        "(policy agent, trace 1)",
    ):
        assert words in out


def test_json_has_the_controllers_part_of_the_ledger(run: Run) -> None:
    found = as_json(run("ask", QUESTION, *AGENT, "--json"))
    assert found["policy"] == "agent"
    assert found["ledger"]["steps"] > 0
    assert sum(found["ledger"]["depth"].values()) == found["ledger"]["sessions_opened"]
    assert {one["layer"] for one in found["evidence"]} <= set(found["ledger"]["layers"])
    assert found["requirements"][0]["met_by"]


def test_single_limits_replace_those_of_the_effort(run: Run) -> None:
    found = as_json(
        run(
            *("ask", "What is my blood type?", *AGENT, "--json", "--effort", "low"),
            *("--max-steps", "2", "--max-calls", "1", "--max-records", "7"),
        )
    )
    ledger = found["ledger"]
    assert (ledger["steps"], ledger["retrieval_calls"]) == (2, 1)
    assert ledger["records"] <= 7
    assert found["stop_reason"]


def test_an_answer_is_resumed_by_its_trace(run: Run) -> None:
    first = as_json(run("ask", "What is my blood type?", *AGENT, "--json", "--max-steps", "2"))
    code, out, err = run("ask", "--resume", str(first["trace"]), "--effort", "high", "--no-llm")
    assert code == 0
    assert err.count("(saved before)") == 2
    assert f"trace {first['trace']})" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ask"], "Give a question, or --resume"),
        (["ask", "Who?", "--resume", "1"], "Give a question, or --resume"),
        (["ask", "--resume", "77", "--no-llm"], "no trace 77"),
        (["ask", "Who?", "--max-steps", "0"], "0 is not in the range"),
        (["ask", "Who?", "--effort", "huge"], "huge"),
        (["ask", "Who?", "--max-seconds", "0"], "0"),
    ],
)
def test_a_wrong_call_says_what_to_do(run: Run, arguments: list[str], says: str) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert says in err


def test_the_date_of_the_question_is_what_its_words_count_from(run: Run) -> None:
    _, _, err = run("ask", "What did I tell you yesterday?", *AGENT, "--date", "2026-03-17")
    assert '"yesterday": 16 March 2026' in err


@pytest.mark.parametrize(("trust", "policy"), [(TRUSTED, "agent"), (Trust(False, reason="weak"), "fixed")])
def test_auto_takes_the_agent_if_its_controller_is_trusted(
    run: Run, monkeypatch: pytest.MonkeyPatch, trust: Trust, policy: str
) -> None:
    model = ScriptedModel(lambda prompt: "{}")
    monkeypatch.setattr(Library, "chat_model", lambda self, role, background=False: model)
    monkeypatch.setattr(Team, "standing", lambda self, role: SimpleNamespace(trust=trust))
    monkeypatch.setattr(Team, "if_trusted", lambda self, role, background=False: None)
    assert as_json(run("ask", QUESTION, "--json"))["policy"] == policy


def test_without_a_chat_model_the_agent_names_the_command_that_gets_it(run: Run) -> None:
    code, _, err = run("ask", QUESTION, "--policy", "agent")
    assert code == 3
    assert "localmem models pull" in err


def test_stats_of_traces_advise_on_the_most_steps(run: Run) -> None:
    assert "No answer of policy agent" in run("stats", "--traces")[2]
    for question in (QUESTION, "What is my blood type?"):
        run("ask", question, *AGENT, "--effort", "high")
    found = as_json(run("stats", "--traces", "--json"))
    assert found["answers"] == 2
    assert found["median"] <= found["p95"] <= found["p99"] <= found["most"] < 20
    text = run("stats", "--traces")[1]
    assert "2 answers of policy agent" in text
    assert f"--max-steps {found['advice']}" in text


FIXED = ("--no-llm", "--policy", "fixed")


def test_json_of_policy_fixed_has_the_rounds_and_what_met_each_requirement(run: Run) -> None:
    found = as_json(run("ask", QUESTION, *FIXED, "--json"))
    assert found["policy"] == "fixed"
    evidence = {one["message_id"] for one in found["evidence"]}
    assert [set(one) for one in found["rounds"]] == [{"view", "cue", "new"}] * len(found["rounds"])
    assert {message for one in found["rounds"] for message in one["new"]} == evidence
    assert {one["cue"] for one in found["rounds"]} == {QUESTION}
    assert found["ledger"]["retrieval_calls"] == len(found["rounds"]) > 1
    for need in found["requirements"]:
        assert set(need) == {"text", "met_by"}
        assert evidence.issuperset(need["met_by"])


def test_limits_of_calls_and_records_hold_for_policy_fixed(run: Run) -> None:
    limits = ("--max-calls", "2", "--max-records", "7")
    found = as_json(run("ask", QUESTION, *FIXED, "--json", *limits))
    assert found["ledger"]["retrieval_calls"] == len(found["rounds"]) == 2
    assert found["ledger"]["records"] == len(found["evidence"]) == 7
    assert found["stop_reason"] in {"calls spent", "records spent"}


def test_requirements_are_printed_when_there_are_several_or_one_is_not_found(run: Run) -> None:
    assert "\n  for " not in run("ask", "What is my cat called?", *FIXED)[1]
    alone = run("ask", "Who is Zorblax?", *FIXED)[1]
    assert '  for "Who is Zorblax?": not found' in alone
    several = run("ask", "When did I adopt Miso?", *FIXED)[1]
    lines = [line for line in several.splitlines() if line.startswith('  for "')]
    assert len(lines) > 1
    assert any(re.search(r": \S+ \(\d{4}-\d\d-\d\d\)", line) for line in lines)


def test_the_date_of_the_question_counts_for_policy_fixed_too(run: Run) -> None:
    asked = ("ask", "What did I do last month?", *FIXED, "--json")
    march, april = (
        {need["text"]: need["met_by"] for need in as_json(run(*asked, "--date", day))["requirements"]}
        for day in ("2026-04-12", "2026-05-12")
    )
    assert march["last month"] != april["last month"]


def test_policy_fixed_asks_its_controller_if_it_is_trusted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def reply(prompt: tuple[ChatMessage, ...]) -> str:
        return '{"numbers": ["1"]}' if "\nNotes:" in prompt[-1].text else '{"queries": ["weekly meeting"]}'

    monkeypatch.setattr(Library, "chat_model", lambda self, role, background=False: ScriptedModel(reply))
    for trusted, needs in ((True, "weekly meeting"), (False, QUESTION)):
        standing = SimpleNamespace(trust=Trust(trusted, reason="probed"), trusted=trusted)
        monkeypatch.setattr(Team, "standing", lambda self, role, s=standing: s)
        found = as_json(run("ask", QUESTION, "--policy", "fixed", "--json"))
        assert found["requirements"][0]["text"] == needs
        assert not [one for one in found["ledger"]["fallbacks"] if one.startswith("controller")]
