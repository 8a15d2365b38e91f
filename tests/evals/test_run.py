from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localmem.cli import main
from localmem.errors import BadInput, ImportFailed
from localmem.evals.arms import ARMS, UNRANKED
from localmem.evals.asking import Resources
from localmem.evals.datasets import read_cases
from localmem.evals.log import read_logs
from localmem.evals.run import Run, evaluate
from localmem.evals.summing import summary
from localmem.evals.vectors import CachingEmbedder
from localmem.models.hashing import HashEmbedder
from localmem.models.protocols import Vectors
from localmem.reconstruction.reconstruct import Policy


def run(benchmark: str, data: Path, out: Path | None = None, **changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"arm": "hybrid", "k": (1, 3), **changes}
    run = Run(benchmark, data=data, **fields)
    return summary(evaluate(run, Resources(HashEmbedder()), out, lambda done, total: None))


def test_locomo_gold_is_read_wherever_it_stands_and_lost_ids_are_left_out(locomo: Path) -> None:
    (case,) = read_cases("locomo", locomo)
    assert [sorted(question.gold) for question in case.questions] == [
        ["D1:1"], ["D1:3", "D2:3"], [], [], ["D1:1"],
    ]  # fmt: skip
    assert [question.abstain for question in case.questions] == [False] * 4 + [True]
    assert case.questions[0].category == "4 single-hop"


def test_longmemeval_gold_is_in_the_second_session_of_a_repeated_id(longmemeval: Path) -> None:
    first, second = read_cases("longmemeval", longmemeval)
    assert first.questions[0].gold == {"s1#2:0"}
    assert not first.questions[0].abstain
    assert second.questions[0].abstain


def test_questions_without_annotation_count_in_turn_hit_only(locomo: Path) -> None:
    result = run("locomo", locomo)
    assert result["n"] == 2
    assert result["metrics"]["unannotated"] == 2
    assert result["metrics"]["turn_hit"] == result["metrics"]["turn_hit_annotated"] / 2
    found = {name: part["n"] for name, part in result["by_type"].items()}
    assert found == {"1 multi-hop": 1, "2 temporal": 0, "3 open-domain": 0, "4 single-hop": 1}
    assert result["by_type"]["2 temporal"]["metrics"]["gold_hit"] is None


def kept(folder: Path) -> list[list[str]]:
    (log,) = read_logs(folder)
    return [line["kept"] for line in log.lines.values()]


@pytest.mark.parametrize("arm", list(ARMS))
def test_every_arm_finds_the_plain_answer_and_takes_no_record_twice(
    arm: str, locomo: Path, longmemeval: Path, tmp_path: Path
) -> None:
    k = (1, 5) if arm == "rag-layers" else (1, 3)  # it takes whole turns
    assert run("longmemeval", longmemeval, arm=arm, k=k)["metrics"]["gold_hit"] == 1
    result = run("locomo", locomo, tmp_path / arm, arm=arm, k=k)
    assert result["by_type"]["4 single-hop"]["metrics"]["complete_evidence_recall"] == 1
    assert all(len(ids) == len(set(ids)) for ids in kept(tmp_path / arm))
    assert bool(result["at_k"]) == (arm not in UNRANKED)


@pytest.mark.parametrize("arm", sorted(set(ARMS) - set(Policy) - UNRANKED - {"agent"}))
def test_an_arm_that_ranks_returns_no_more_than_was_asked_for(arm: str, locomo: Path, tmp_path: Path) -> None:
    run("locomo", locomo, tmp_path / arm, arm=arm)
    assert max(map(len, kept(tmp_path / arm))) <= 3


@pytest.mark.parametrize("arm", list(Policy))
@pytest.mark.parametrize(("calls", "records"), [(0, 0), (1, 2), (2, 1)])
def test_an_arm_that_builds_a_set_keeps_its_budget(
    arm: str, calls: int, records: int, locomo: Path, tmp_path: Path
) -> None:
    result = run("locomo", locomo, tmp_path / arm, arm=arm, calls=calls, records=records)
    composed = run("locomo", locomo, arm=arm, calls=0)["ledger"]["records"]
    assert result["ledger"]["completion_calls_max"] <= calls
    assert result["ledger"]["records"] <= composed + records


def test_full_context_is_the_whole_history(locomo: Path) -> None:
    ledger = run("locomo", locomo, arm="full-context")["ledger"]
    assert ledger["records"] == ledger["messages"] == 6


@pytest.mark.parametrize("arm", ["bm25", "com-flat", "fixed", "rsc"])
def test_the_same_run_gives_the_same_bytes(arm: str, locomo: Path) -> None:
    first, again = (run("locomo", locomo, arm=arm, seed=5, limit=3) for _ in range(2))
    assert json.dumps(first) == json.dumps(again)


def test_an_operating_point_is_printed_beside_what_the_paper_reports(locomo: Path) -> None:
    ledger = run("locomo", locomo, arm="bfr-text", point="C2")["ledger"]
    assert ledger["paper"] == {"completion_calls": 2.0, "records": 26.0}
    assert ledger["completion_calls"] == 2
    assert run("locomo", locomo, arm="fixed", point="C2")["ledger"]["paper"] is None
    with pytest.raises(BadInput, match="operating point"):
        run("locomo", locomo, arm="bfr-text", point="C2", calls=3)


def test_a_run_that_was_cut_off_goes_on_and_asks_no_question_twice(locomo: Path, tmp_path: Path) -> None:
    whole = run("locomo", locomo, tmp_path / "whole")
    path = tmp_path / "whole" / "hybrid.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:4]) + "\n" + lines[4][:20])  # killed while it wrote a line
    again = run("locomo", locomo, tmp_path / "whole")
    ids = [line["id"] for text in path.read_text().splitlines() if "id" in (line := json.loads(text))]
    assert len(ids) == len(set(ids)) == 4
    assert again == whole


def test_the_log_of_another_run_is_refused(locomo: Path, tmp_path: Path) -> None:
    run("locomo", locomo, tmp_path / "out")
    with pytest.raises(BadInput, match="seed differ"):
        run("locomo", locomo, tmp_path / "out", seed=7)


def test_runs_of_several_arms_share_a_folder(locomo: Path, tmp_path: Path) -> None:
    for arm in ("bm25", "fixed"):
        run("locomo", locomo, tmp_path, arm=arm)
    run("locomo", locomo, tmp_path, arm="bfr-mv", point="C3")
    run("locomo", locomo, tmp_path, arm="agent", without=("reflect", "read_raw"))
    assert [log.label for log in read_logs(tmp_path)] == [
        "agent-without-read_raw-without-reflect", "bfr-mv-C3", "bm25", "fixed",
    ]  # fmt: skip


def test_a_limit_draws_the_same_questions_for_the_same_seed(locomo: Path, tmp_path: Path) -> None:
    def drawn(seed: int, name: str) -> list[str]:
        run("locomo", locomo, tmp_path / name, limit=2, seed=seed)
        return list(read_logs(tmp_path / name)[0].lines)

    assert drawn(3, "a") == drawn(3, "b")
    assert len({tuple(drawn(seed, f"s{seed}")) for seed in range(8)}) > 1


def test_a_file_of_another_shape_is_refused(locomo: Path) -> None:
    with pytest.raises(ImportFailed):
        run("longmemeval", locomo)
    with pytest.raises(BadInput, match="nonsense"):
        run("nonsense", locomo)


def test_the_command_prints_the_documented_json(
    locomo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = str(tmp_path / "home")
    assert main(["--home", home, "models", "use", "embedder", "hash"]) == 0
    command = ["eval", "run", "--benchmark", "locomo", "--arm", "bm25", "--data", str(locomo), "--no-llm"]
    assert main(["--home", home, *command, "--k", "1,3", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result) == {"arm", "benchmark", "n", "metrics", "at_k", "by_type", "ledger"}
    assert set(result["at_k"]["3"]) == {"gold_hit", "evidence_recall", "complete_evidence_recall"}
    assert main(["--home", home, *command, "--k", "0"]) == 2
    assert main(["--home", home, *command]) == 0
    assert "gold hit @10" in capsys.readouterr().out
    command[command.index("bm25")] = "bfr-mv"
    assert main(["--home", home, *command, "--point", "C6"]) == 0
    assert "the paper: 39.88 records, 5.99 completion calls" in capsys.readouterr().out
    assert main(["--home", home, *command, "--point", "C6", "--max-calls", "2"]) != 0
    assert main(["--home", home, *command, "--max-calls", "1", "--keep", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ledger"]["completion_calls_max"] == 1


def test_vectors_are_made_once_and_the_same(tmp_path: Path) -> None:
    made: list[str] = []

    class Counting(HashEmbedder):
        def embed_documents(self, texts: Any) -> Vectors:
            made.extend(texts)
            return super().embed_documents(texts)

    for _ in range(2):
        cached = CachingEmbedder(Counting(), tmp_path / "vectors.db")
        vectors = cached.embed_documents(["tea", "cat", "tea"])
        assert (vectors == HashEmbedder().embed_documents(["tea", "cat", "tea"])).all()
        cached.close()
    assert made == ["tea", "cat"]
