from __future__ import annotations

import json
from pathlib import Path

import pytest

from localmem.cli import main
from localmem.errors import BadInput
from localmem.evals import suites
from localmem.evals.peers import PEERS
from localmem.evals.run import Run, evaluate
from localmem.evals.suites import SUITES, runs_of


@pytest.fixture
def home(tmp_path: Path) -> str:
    home = str(tmp_path / "home")
    assert main(["--home", home, "models", "use", "embedder", "hash"]) == 0
    return home


def without_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites, "available", lambda name: "it is not installed: get it")


def test_a_suite_prints_every_arm_beside_what_the_papers_report(
    locomo: Path,
    tmp_path: Path,
    home: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_peers(monkeypatch)
    command = ["--home", home, "eval", "run", "--suite", "paper-locomo", "--data", str(locomo), "--no-llm"]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    measured, _, published = printed.partition("published, not measured here")
    for arm, point in SUITES["paper-locomo"].arms:
        assert f"\n{arm}-{point} " in measured if point else f"\n{arm} " in measured
    assert "not scored" in measured
    assert all(f"{peer}: skipped, it is not installed" in measured for peer in PEERS)
    assert "A-Mem" in published
    assert main([*command, "--out", str(tmp_path / "out"), "--json"]) == 0  # everything is in the logs
    found = json.loads(capsys.readouterr().out)
    assert found["runs"]["fixed"]["n"] == 2
    assert set(found["skipped"]) == set(PEERS)
    assert found["published"][0]["rows"]


def test_conv30_asks_only_the_questions_of_that_conversation(tmp_path: Path) -> None:
    runs = list(runs_of("paper-conv30", Run("locomo", "", tmp_path)))
    assert {run.conversation for run in runs} == {"conv-30"}
    assert ("bfr-mv", "C6") in {(run.arm, run.point) for run in runs}


def test_peers_that_are_installed_are_in_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites, "available", lambda name: None)
    arms = [run.arm for run in runs_of("paper-longmemeval", Run("", "", tmp_path))]
    assert set(PEERS) < set(arms)


def test_a_peer_that_is_missing_is_an_error_and_no_number(
    locomo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localmem.evals.run.available", lambda name: "mem0 is not installed: pip install it")
    with pytest.raises(BadInput, match="pip install"):
        evaluate(Run("locomo", "peer-mem0", locomo), None, tmp_path, lambda done, total: None)  # type: ignore[arg-type]
    assert not list(tmp_path.glob("*.jsonl"))


@pytest.mark.parametrize(
    "options",
    [
        ["--suite", "paper-locomo", "--arm", "fixed", "--benchmark", "locomo"],
        ["--arm", "fixed"],
        [],
        ["--arm", "fixed", "--benchmark", "locomo", "--runs", "2", "--no-llm"],
        ["--arm", "fixed", "--benchmark", "locomo", "--shard", "3/2"],
        ["--arm", "fixed", "--benchmark", "locomo", "--model", "cook=x"],
    ],
)
def test_options_that_do_not_go_together_are_usage_errors(
    options: list[str], locomo: Path, home: str
) -> None:
    assert main(["--home", home, "eval", "run", "--data", str(locomo), *options]) == 2
