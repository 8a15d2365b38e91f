from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from localmem.bench import generation
from localmem.bench.chart import write_speed_chart
from localmem.bench.conversation import QUESTIONS, RULES, sized_prompt, summary_prompt
from localmem.bench.generation import hosted
from localmem.bench.pairing import LEAST, ratio, rounds
from localmem.bench.raw_llama import RawLlama, Run
from localmem.bench.rereading import Rereading, ten_turns
from localmem.cli import main
from localmem.errors import ModelCrashed
from localmem.models import measuring
from localmem.models.library import DEFAULT_CHAT, Library
from localmem.models.protocols import ChatMessage, ChatModel, Finished, StopReason, TextDelta
from localmem.models.scripted import ScriptedModel


class Remembering(ScriptedModel):
    """Reuses what its last ``windows`` prompts and their answers have in common with the next one.

    A token is a word; the messages stand one after the other.
    """

    def __init__(self, windows: int) -> None:
        super().__init__()
        self._windows = windows
        self._states: list[list[str]] = []

    def stream(self, messages: Sequence[ChatMessage], **options: Any) -> Iterator[TextDelta | Finished]:
        tokens = _words(messages)
        reused = max((_shared(state, tokens[:-1]) for state in self._states), default=0)
        reply = ["It", "will", "be", "fine."]
        self._states = [*self._states, tokens + reply][-self._windows :] if self._windows else []
        yield TextDelta(" ".join(reply))
        yield Finished(StopReason.END, len(tokens) - reused, reused, len(reply), 0.1, 0.1)

    def count(self, messages: Sequence[ChatMessage]) -> int:
        return len(_words(messages))


def _words(messages: Sequence[ChatMessage]) -> list[str]:
    return [word for message in messages for word in message.text.split()]


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return length


def test_a_ratio_is_the_median_over_pairs_and_one_disturbed_pair_moves_it_little() -> None:
    found = ratio([(90, 100), (95, 100), (99, 100), (97, 100), (10, 100)])
    assert found.value == 0.95
    assert (found.low, found.high, found.pairs) == (0.1, 0.99, 5)
    assert ratio([(90, 100)] * 9) == ratio([(45, 50)] * 9)
    assert ratio([(90, 100)] * 9).width == 0


def test_a_pair_without_a_speed_is_left_out_and_without_any_pair_nothing_is_claimed() -> None:
    assert ratio([(math.nan, 1.0), (3.0, 2.0)]).value == 1.5
    nothing = ratio([])
    assert math.isnan(nothing.value)
    assert nothing.pairs == 0


def test_rounds_go_on_until_the_interval_is_narrow_or_the_next_would_be_too_late() -> None:
    now = [0.0]

    def run(seconds: float, narrow_after: int) -> int:
        now[0] = 0.0
        for _ in rounds(seconds, lambda: now[0] >= 10 * narrow_after, lambda: now[0]):
            now[0] += 10
        return int(now[0] / 10)

    assert run(100, narrow_after=5) == 5
    assert run(79, narrow_after=99) == 7
    assert run(80, narrow_after=99) == 8
    assert run(0, narrow_after=99) == LEAST
    assert run(100, narrow_after=1) == LEAST


def test_a_run_has_speeds_and_none_where_one_token_was_written() -> None:
    run = Run(100, 0, 20, 20, 0.5, 0.4, "text")
    assert run.read_per_s == 200
    assert run.write_per_s == pytest.approx(50)
    assert math.isnan(Run(100, 0, 0, 0, 0.5, 0.0, "").write_per_s)


def test_rereading_counts_known_tokens_that_were_not_reused() -> None:
    counted = Rereading()
    counted.add(Finished(StopReason.END, 100, 0, 20, 1.0, 1.0), known=0)
    counted.add(Finished(StopReason.END, 60, 90, 20, 1.0, 1.0), known=120)  # 30 of the 60 were known
    counted.add(Finished(StopReason.END, 1, 149, 20, 1.0, 1.0), known=150)  # one is always read
    assert counted.shares() == {
        "prompt_tokens": 400,
        "reread_tokens": 30,
        "reread_share": 30 / 400,
        "reread_share_without_reuse": (120 + 149) / 400,
    }


@pytest.mark.parametrize("summaries", [False, True])
def test_ten_turns_of_a_model_that_keeps_its_states_reread_nothing(summaries: bool) -> None:
    shares = ten_turns(Remembering(windows=2), 40, summaries=summaries)
    assert shares["turns"] == len(QUESTIONS) == 10
    assert shares["reread_share"] == 0
    assert shares["reread_share_without_reuse"] > 0.5


def test_ten_turns_show_what_a_single_state_or_none_costs() -> None:
    none = ten_turns(Remembering(windows=0), 40, summaries=False)
    assert none["reread_share"] == none["reread_share_without_reuse"] > 0.5
    single = ten_turns(Remembering(windows=1), 40, summaries=True)
    assert single["reread_share"] == pytest.approx(single["reread_share_without_reuse"], abs=0.02)


def test_prompts_have_the_size_asked_for_and_differ() -> None:
    model = ScriptedModel()
    for tokens in (32, 500):
        prompts = [sized_prompt(model, tokens, seed) for seed in (1, 2)]
        assert prompts[0] != prompts[1]
        assert all(0.9 * tokens < model.count(prompt) <= tokens for prompt in prompts)
    assert model.count(sized_prompt(model, 1, 1)) < 15
    assert len({prompt[1].text for prompt in map(summary_prompt, range(10))}) == 10


def test_a_hosted_call_counts_evaluations_and_keeps_its_text() -> None:
    run = hosted(ScriptedModel(["one two three four"]), [RULES], 3)
    assert (run.text, run.evaluated) == ("one two three", 2)
    assert run.seconds_read > 0


def result() -> dict[str, Any]:
    speed = {"read_per_s": {"median": 200.0}, "write_per_s": {"median": None}}
    rows = [{"prompt_tokens": n, "host": speed, "raw": speed, "high": speed} for n in (128, 2048)]
    return {"rows": rows}


def test_a_chart_has_bars_for_each_way_and_size(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    write_speed_chart(result(), tmp_path / "chart.svg")
    drawn = (tmp_path / "chart.svg").read_text()
    assert drawn.count("clip-path") >= 2 * 3 * 2
    assert (tmp_path / "chart.svg").stat().st_size > 5000


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--model", "nobody"], 2, "nobody"),
        (["--model", DEFAULT_CHAT], 3, f"models pull {DEFAULT_CHAT}"),
        (["--prompts", "many"], 2, "many"),
        (["--chart", "a.png"], 2, ".svg"),
    ],
)
def test_the_command_refuses_what_it_cannot_do(
    options: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda module: True)
    assert main(["--home", str(tmp_path), "bench", "generation", *options]) == code
    assert said in capsys.readouterr().err


def test_raw_llama_that_dies_is_said_to_have(tmp_path: Path) -> None:
    raw = RawLlama(tmp_path / "no.gguf", 512)
    try:
        with pytest.raises(ModelCrashed, match="raw llama"):
            raw.run("raw", [RULES], 2)
    finally:
        raw.close()


@pytest.fixture(scope="module")
def small(models_home: Path) -> Iterator[tuple[ChatModel, Path]]:
    library = Library(models_home)
    yield library.open_chat(DEFAULT_CHAT), library.path(DEFAULT_CHAT)
    library.close()


@pytest.mark.real_model
def test_every_way_reads_the_same_tokens_and_writes_the_same_text(small: tuple[ChatModel, Path]) -> None:
    model, path = small
    prompt = sized_prompt(model, 60, seed=7)
    host = hosted(model, prompt, 12)
    raw = RawLlama(path, model.context)
    try:
        runs = [raw.run(way, prompt, 12) for way in ("raw", "high")]
        lookup = raw.run("lookup", summary_prompt(0), 24)
        known = raw.run("raw", prompt, 12, reused=20)
    finally:
        raw.close()
    assert {run.read for run in runs} == {host.read + host.reused}
    assert {run.text for run in [*runs, known]} == {host.text}
    assert {run.evaluated for run in [*runs, known]} == {host.evaluated} == {11}
    assert (known.read, known.reused) == (runs[0].read - 20, 20)
    assert lookup.evaluated == 23
    assert lookup.steps <= lookup.evaluated


@pytest.mark.real_model
def test_the_command_prints_figures_as_json(
    models_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "PASSES", ((32, 128), (64,)))
    monkeypatch.setattr(generation, "HELD_OUT", (100,))
    monkeypatch.setattr(generation, "REPEATS", 1)
    monkeypatch.setattr(generation, "SUMMARIES", 1)
    command = ["--home", str(models_home), "--quiet", "bench", "generation"]
    tiny = ["--prompts", "40", "--written", "8", "--max-seconds", "1"]
    assert main([*command, *tiny, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    for key in ("read_ratio", "write_ratio", "first_token_s"):
        assert 0 < printed[key] < 100
    assert printed["reread_share"] < 0.1 < printed["chat"]["reread_share_without_reuse"]
    assert printed["chat_with_summaries"]["reread_share"] < 0.1
    (row,) = printed["rows"]
    assert row["rounds"] == LEAST
    assert row["same_text"] == 1.0
    assert printed["speculation"]["tokens_per_evaluation"] >= 1
    assert printed["calibration"]["error"] < 20
    assert printed["first_token"]["cold_s"] > printed["first_token_s"]
