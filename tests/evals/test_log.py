from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localmem.cli import main
from localmem.errors import BadInput
from localmem.evals.asking import Resources
from localmem.evals.crew import Crew, Member
from localmem.evals.log import Log, merge, read_log, read_logs
from localmem.evals.run import Run, evaluate
from localmem.evals.summing import summary
from localmem.models.catalog import ModelRole
from localmem.models.hashing import HashEmbedder
from localmem.models.scripted import ScriptedModel


def ran(data: Path, out: Path, **changes: Any) -> Log:
    fields: dict[str, Any] = {"arm": "bm25", "k": (1, 3), **changes}
    return evaluate(
        Run("locomo", data=data, **fields), Resources(HashEmbedder()), out, lambda done, total: None
    )


def steady(log: Log) -> dict[str, dict[str, Any]]:
    """Lines without what a clock measured."""
    return {
        identity: {key: value for key, value in line.items() if key not in ("seconds", "online")}
        for identity, line in log.lines.items()
    }


def test_shards_share_no_question_and_together_are_the_run(locomo: Path, tmp_path: Path) -> None:
    whole = ran(locomo, tmp_path / "whole")
    shards = [ran(locomo, tmp_path / "shards", shard=(part, 3)) for part in (1, 2, 3)]
    assert sum(len(shard.lines) for shard in shards) == len(whole.lines)
    merged = merge(read_logs(tmp_path / "shards"), tmp_path / "merged")
    assert steady(merged) == steady(whole)
    assert merged.label == "bm25"
    assert summary(merged) == summary(whole)
    assert read_logs(tmp_path / "merged")[0].lines == merged.lines


def test_a_missing_shard_one_given_twice_and_one_of_another_run_are_refused(
    locomo: Path, tmp_path: Path
) -> None:
    one, two = (ran(locomo, tmp_path, shard=(part, 2)) for part in (1, 2))
    for logs in ([one], [one, one], [one, two, two]):
        with pytest.raises(BadInput, match="each once"):
            merge(logs, tmp_path / "merged")
    other = ran(locomo, tmp_path / "other", shard=(2, 2), seed=9)
    with pytest.raises(BadInput, match="seed"):
        merge([one, other], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_a_merged_log_is_not_overwritten(locomo: Path, tmp_path: Path) -> None:
    ran(locomo, tmp_path)
    shards = [ran(locomo, tmp_path / "shards", shard=(part, 2)) for part in (1, 2)]
    before = (tmp_path / "bm25.jsonl").read_bytes()
    with pytest.raises(BadInput, match="there already"):
        merge(shards, tmp_path)
    assert (tmp_path / "bm25.jsonl").read_bytes() == before


@pytest.mark.parametrize("text", ["", "no json\n", "[]\n", '{"other": 1}\n', "\xff"])
def test_what_is_no_log_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(BadInput, match=r"x\.jsonl is no log"):
        read_log(path)


def test_a_folder_without_a_log_says_how_to_make_one(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(BadInput, match="eval run"):
            read_logs(folder)


def test_a_log_names_all_that_its_results_depend_on(locomo: Path, tmp_path: Path) -> None:
    log = ran(locomo, tmp_path)
    assert log.run["data"].startswith("sha256:")
    assert log.run["code"].startswith("sha256:")
    assert log.run["embedder"] == HashEmbedder().fingerprint
    stores = [json.loads(line) for line in log.path.read_text().splitlines() if '"store"' in line]
    assert [store["store"]["messages"] for store in stores] == [6]


def test_the_command_merges_shards_with_the_judges_calibration(locomo: Path, tmp_path: Path) -> None:
    crew = Crew({ModelRole.ANSWERER: Member(ScriptedModel(lambda prompt: "Miso"))})
    resources = Resources(HashEmbedder(), crew)
    for part in (1, 2):
        run = Run("locomo", "bm25", locomo, shard=(part, 2), answers=True)
        evaluate(run, resources, tmp_path / "shards", lambda done, total: None)
    assert main(["eval", "merge", str(tmp_path / "shards"), "--out", str(tmp_path / "whole")]) == 0
    merged = read_log(tmp_path / "whole" / "bm25.jsonl")
    assert merged.calibration is not None
    assert (merged.calibration["answers"], len(merged.lines)) == (5, 5)
    assert merged.calibration["by_rule"] == merged.calibration["ruled"] / 5
