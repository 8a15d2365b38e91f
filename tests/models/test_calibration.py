"""Calibration with a model whose cost is known: it reports seconds by a law, no clock is asked."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localmem.models import measuring
from localmem.models.calibration import GRAMMAR_COST, Calibration, Calibrations, Record, machine_name
from localmem.models.costlaw import GENERAL, Law, Timed, fit, reading_of, writing_of
from localmem.models.errors import ModelError
from localmem.models.library import DEFAULT_CHAT, Library
from localmem.models.measuring import PASSES, WRITTEN
from localmem.models.protocols import ChatMessage, Finished, StopReason, TextDelta

SMALL = Law(
    read_call=0.02, read_token=1 / 200, read_position=2e-6, written_token=1 / 60, written_position=2e-6
)
seconds = st.floats(0, 1e3)
laws = st.builds(
    Law,
    read_call=seconds,
    read_token=seconds,
    read_position=seconds,
    written_token=seconds,
    written_position=seconds,
)
tokens = st.integers(0, 100_000)


class CostedModel:
    """Costs what ``law`` says, times ``pace`` and some noise. A token is a word."""

    name, fingerprint = "costed", "sha256:c057"

    def __init__(self, law: Law = SMALL, context: int = 8192, noise: float = 0.0, wordy: bool = True) -> None:
        self.law = law
        self.context = context
        self.pace = 1.0
        self.reads: list[int] = []
        self._noise = noise
        self._wordy = wordy
        self._random = random.Random(5)
        self._state: list[str] = []

    def count(self, messages: Sequence[ChatMessage]) -> int:
        return len(" ".join(message.text for message in messages).split())

    def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        max_tokens: int,
        fixed: int = 0,
        grammar: str | None = None,
        think: int = 0,
        cancel: threading.Event | None = None,
        deadline: float | None = None,
    ) -> Iterator[TextDelta | Finished]:
        if cancel is not None and cancel.is_set():
            yield Finished(StopReason.CANCELLED, 0, 0, 0, 0.0, 0.0)
            return
        words = " ".join(message.text for message in messages).split()
        assert len(words) + max_tokens <= self.context
        shared = 0
        while shared < min(len(self._state), len(words) - 1) and self._state[shared] == words[shared]:
            shared += 1
        self._state = words
        self.reads.append(len(words) - shared)
        yield self.call(len(words), max_tokens if self._wordy else 1, shared, grammar is not None)

    def call(self, prompt: int, new: int, reused: int = 0, grammar: bool = False) -> Finished:
        read = self.law.reading(reused, prompt - reused)
        written = self.law.writing(prompt, new - 1) * (2.0 if grammar else 1.0)
        return Finished(
            StopReason.LENGTH, prompt - reused, reused, new, self._took(read), self._took(written)
        )

    def close(self) -> None:
        pass

    def _took(self, expected: float) -> float:
        return expected * self.pace * self._random.lognormvariate(0, self._noise)


def cost(law: Law, prompt: int, new: int, reused: int = 0) -> float:
    return law.reading(reused, prompt - reused) + law.writing(prompt, new)


def known(law: Law) -> Calibration:
    return Calibration(Record(measured=True, law=law), lambda record: None)


def test_a_law_counts_the_position_of_each_token() -> None:
    law = Law(read_call=1, read_token=2, read_position=3, written_token=4, written_position=5)
    assert law.reading(10, 2) == 1 + 2 * 2 + 3 * (10 * 2 + 2)
    assert law.writing(10, 2) == 4 * 2 + 5 * (10 * 2 + 2)
    assert law.reading(10, 0) == 0


@given(laws, tokens, tokens, tokens)
def test_a_larger_call_never_costs_less_and_none_costs_less_than_nothing(
    law: Law, prompt: int, new: int, reused: int
) -> None:
    reused = min(reused, prompt)
    calibration = known(law)
    expected = calibration.predict(prompt, new, reused)
    assert expected >= 0
    assert calibration.predict(prompt + 1, new, reused) >= expected
    assert calibration.predict(prompt, new + 1, reused) >= expected
    if reused:
        assert calibration.predict(prompt, new, reused - 1) >= expected


@pytest.mark.parametrize(("prompt", "new", "reused"), [(-1, 0, 0), (5, -1, 0), (5, 1, -1), (5, 1, 6)])
def test_a_call_that_cannot_be_is_refused(prompt: int, new: int, reused: int) -> None:
    with pytest.raises(ValueError, match="no call"):
        known(SMALL).predict(prompt, new, reused)


def test_a_call_evaluates_its_last_token_only_to_say_that_it_was_done() -> None:
    assert writing_of(Finished(StopReason.LENGTH, 30, 10, 5, 1.0, 2.0)) == Timed(40, 4, 2.0)
    assert writing_of(Finished(StopReason.END, 30, 10, 5, 1.0, 2.0)) == Timed(40, 5, 2.0)
    assert writing_of(Finished(StopReason.LENGTH, 30, 10, 1, 1.0, 1e-5)) is None
    assert reading_of(Finished(StopReason.END, 30, 10, 0, 1.0, 0.0)) == Timed(10, 30, 1.0)
    assert reading_of(Finished(StopReason.CANCELLED, 30, 10, 0, 1.0, 0.0)) is None


def test_a_fit_finds_the_law_that_exact_times_follow() -> None:
    stretches = [(0, 32), (32, 128), (160, 512), (0, 2048), (672, 2000)]
    reads = [Timed(start, count, SMALL.reading(start, count)) for start, count in stretches]
    writes = [Timed(start, 32, SMALL.writing(start, 32)) for start in (50, 600, 2500)]
    law, error = fit(reads, writes)
    assert law.model_dump() == pytest.approx(SMALL.model_dump(), rel=1e-6)
    assert error == pytest.approx(0, abs=1e-9)


def test_a_fit_gives_no_negative_part_where_plain_least_squares_would() -> None:
    # 100 tokens in 1 s and 2,000 in 10 s: a line through both has a constant, a parabola turns down.
    timed = [Timed(0, 100, 1.0), Timed(0, 1000, 8.0), Timed(0, 2000, 10.0)]
    law, error = fit(timed, [Timed(0, 10, 1.0), Timed(2000, 10, 0.5)])
    assert min(law.model_dump().values()) >= 0
    assert law.read_position == 0
    assert law.written_position == 0
    assert 0 < error < 0.5


def test_a_fit_of_short_prompts_takes_the_weight_of_positions_from_the_general_law() -> None:
    law, _ = fit([Timed(0, 30, 1.0), Timed(0, 120, 3.9)], [Timed(40, 30, 1.0)])
    general = GENERAL.read_position / GENERAL.read_token
    assert law.read_position / law.read_token == pytest.approx(general)


@pytest.mark.parametrize("context", [512, 1024, 8192])
def test_a_measured_model_is_predicted_at_other_sizes(tmp_path: Path, context: int) -> None:
    model = CostedModel(context=context, noise=0.03)
    shares: list[float] = []
    calibration = Calibrations(tmp_path).measure(model, shares.append)
    assert calibration.measured
    assert not calibration.stale
    for prompt, new, reused in [(300, 20, 0), (context // 2, 50, 0), (context - 100, 80, context // 3)]:
        expected = cost(SMALL, prompt, new, reused)
        assert calibration.predict(prompt, new, reused) == pytest.approx(expected, rel=0.15)
    assert calibration.predict(100, 1000, grammar=True) > 1.5 * calibration.predict(100, 1000)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_measurement_reads_each_pass_once_and_a_slow_model_only_short_prompts(tmp_path: Path) -> None:
    fast = CostedModel()
    Calibrations(tmp_path / "a").measure(fast)
    assert sum(fast.reads) < 1.3 * sum(sizes[-1] for sizes in PASSES)
    slow = CostedModel(SMALL.model_copy(update={"read_token": 0.1, "written_token": 0.05}))
    calibration = Calibrations(tmp_path / "b").measure(slow)
    assert sum(slow.reads) < 500
    assert calibration.predict(2000, 100) == pytest.approx(cost(slow.law, 2000, 100), rel=0.4)


def test_a_measurement_that_is_cancelled_leaves_what_was_known(tmp_path: Path) -> None:
    calibrations = Calibrations(tmp_path)
    model = CostedModel()
    before = calibrations.measure(model).predict(700, 80)
    stop = threading.Event()
    model.pace = 5.0
    calibrations.measure(model, lambda share: stop.set(), stop)
    assert calibrations.of(model).predict(700, 80) == before


def test_a_model_that_writes_nothing_cannot_be_measured(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="next to nothing"):
        Calibrations(tmp_path).measure(CostedModel(wordy=False))


def test_a_model_that_was_never_measured_is_calibrated_by_its_calls(tmp_path: Path) -> None:
    calibration = Calibrations(tmp_path).of(CostedModel())
    assert not calibration.measured
    assert calibration.stale
    assert calibration.uncertainty == pytest.approx(9)
    assert not calibration.affords(1.5 * cost(SMALL, 700, 80), 700, 80)
    calibration.observe(CostedModel().call(500, 100))
    assert calibration.uncertainty == pytest.approx(0.5)
    assert calibration.predict(500, 100) == pytest.approx(cost(SMALL, 500, 100))
    for _ in range(10):
        calibration.observe(CostedModel().call(700, 80))
    assert calibration.uncertainty < 0.15
    assert calibration.affords(6.2, 700, 80)
    assert not calibration.affords(cost(SMALL, 700, 80), 700, 80)


def test_a_grammar_costs_its_usual_part_more_until_calls_say_how_much(tmp_path: Path) -> None:
    model = CostedModel()
    calibration = Calibrations(tmp_path).of(model)
    calibration.observe(model.call(10, 500))
    free = calibration.predict(0, 500)
    assert calibration.predict(0, 500, grammar=True) == pytest.approx(GRAMMAR_COST * free)
    calibration.observe(model.call(10, 500, grammar=True), grammar=True)
    assert calibration.predict(0, 500, grammar=True) == pytest.approx(2 * free, rel=0.01)
    assert calibration.predict(0, 500) == free


@pytest.mark.parametrize("pace", [3.0, 1 / 3])
def test_a_machine_at_a_third_of_its_speed_or_three_times_it_is_followed(tmp_path: Path, pace: float) -> None:
    model = CostedModel(noise=0.05)
    calibration = Calibrations(tmp_path).measure(model)
    model.pace = pace
    calls = 0
    while not 0.8 < calibration.predict(700, 80) / (pace * cost(SMALL, 700, 80)) < 1.25:
        calibration.observe(model.call(700, 80))
        calls += 1
    assert calls <= 6
    assert calibration.uncertainty > 0.5
    for _ in range(20):
        calibration.observe(model.call(700, 80))
    assert calibration.stale
    calibration = Calibrations(tmp_path).measure(model)
    assert not calibration.stale
    assert calibration.uncertainty < 0.3


def test_one_call_on_a_machine_that_slept_moves_little_and_makes_nothing_stale(tmp_path: Path) -> None:
    model = CostedModel()
    calibration = Calibrations(tmp_path).measure(model)
    before = calibration.predict(700, 80)
    slept = model.call(700, 80)
    calibration.observe(Finished(StopReason.END, 700, 0, 80, 28_800.0, slept.seconds_written))
    assert calibration.predict(700, 80) < 1.6 * before
    for _ in range(12):
        calibration.observe(model.call(700, 80))
    assert calibration.predict(700, 80) == pytest.approx(before, rel=0.05)
    assert not calibration.stale


def test_a_call_of_few_tokens_says_little(tmp_path: Path) -> None:
    model = CostedModel()
    calibration = Calibrations(tmp_path).measure(model)
    before = calibration.predict(700, 80)
    model.pace = 3.0
    calibration.observe(model.call(705, 1, 700))
    assert calibration.predict(700, 80) == pytest.approx(before, rel=0.05)


def test_a_call_cancelled_while_it_read_says_nothing() -> None:
    calibration = known(SMALL)
    before = calibration.predict(700, 80)
    calibration.observe(Finished(StopReason.CANCELLED, 512, 0, 0, 60.0, 0.0))
    calibration.observe(Finished(StopReason.CANCELLED, 0, 0, 0, 0.0, 0.0))
    assert calibration.predict(700, 80) == before


@given(
    st.lists(
        st.builds(
            Finished,
            st.sampled_from(StopReason),
            st.integers(0, 10_000),
            st.integers(0, 10_000),
            st.integers(0, 10_000),
            st.floats(0, 1e9),
            st.floats(0, 1e9),
        ),
        max_size=40,
    ),
    st.booleans(),
)
def test_whatever_calls_report_a_prediction_stays_finite_and_positive(
    calls: list[Finished], measured: bool
) -> None:
    calibration = Calibration(Record(measured=measured), lambda record: None)
    for call in calls:
        calibration.observe(call)
    expected = calibration.predict(700, 80)
    assert cost(GENERAL, 700, 80) / 101 < expected < 101 * cost(GENERAL, 700, 80)
    assert 0 < calibration.uncertainty < float("inf")


def test_what_was_measured_and_observed_is_there_in_the_next_run(tmp_path: Path) -> None:
    model = CostedModel()
    first = Calibrations(tmp_path).measure(model)
    model.pace = 1.3
    first.observe(model.call(700, 80))
    again = Calibrations(tmp_path).of(model)
    assert again.measured
    assert again.predict(700, 80) == first.predict(700, 80)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["calibration.json"]


def test_models_machines_and_processes_do_not_overwrite_each_other(tmp_path: Path) -> None:
    here, there = Calibrations(tmp_path, "a laptop"), Calibrations(tmp_path, "a server")
    one, other = CostedModel(), CostedModel()
    other.fingerprint = "sha256:07be"
    assert here.of(one) is here.of(one)
    for calibrations, model, tokens in [(here, one, 10), (here, other, 20), (there, one, 30)]:
        calibrations.of(model).observe(model.call(100, tokens))
    assert len(json.loads((tmp_path / "cache" / "calibration.json").read_text())["records"]) == 3


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\x00",
        b"[]",
        b'{"records": {"x": {"measured": true, "law": {"read_call": -1}}}}',
        b'{"records": {}, "from_a_later_version": 1}',
    ],
)
def test_a_damaged_file_is_said_to_be_and_made_anew(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cache" / "calibration.json"
    path.parent.mkdir()
    path.write_bytes(content)
    calibrations = Calibrations(tmp_path)
    calibration = calibrations.of(CostedModel())
    assert not calibration.measured
    assert str(path) in calibrations.problem
    assert "made anew" in calibrations.problem
    calibration.observe(CostedModel().call(100, 10))
    later = Calibrations(tmp_path)
    assert later.of(CostedModel()).predict(100, 10) == calibration.predict(100, 10)
    assert later.problem == ""


def test_a_file_that_cannot_be_written_costs_no_call_and_is_said(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    calibrations = Calibrations(tmp_path)
    calibration = calibrations.of(CostedModel())
    calibration.observe(CostedModel().call(100, 10))
    assert calibration.predict(100, 10) == pytest.approx(cost(SMALL, 100, 10))
    assert "could not be kept" in calibrations.problem


def test_threads_observe_without_losing_a_call(tmp_path: Path) -> None:
    calibrations = Calibrations(tmp_path)
    model = CostedModel()

    def work() -> None:
        for _ in range(20):
            calibrations.of(model).observe(model.call(64, 16))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calibrations.of(model).predict(64, 16) == pytest.approx(cost(SMALL, 64, 16), rel=0.01)
    assert Calibrations(tmp_path).of(model).predict(64, 16) == calibrations.of(model).predict(64, 16)


def test_a_machine_has_a_name_that_says_what_its_speed_depends_on() -> None:
    assert machine_name() == machine_name()
    assert "cores" in machine_name()
    assert "llama-cpp-python" in machine_name()


@pytest.mark.real_model
def test_the_small_model_is_measured_in_seconds_and_predicted(
    models_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "PASSES", ((32, 128, 512), (64,)))
    model = Library(models_home).chat_model("answerer")
    assert model.name == DEFAULT_CHAT
    calibration = Calibrations(tmp_path).measure(model)
    prompt = [ChatMessage("user", "Say this again: " + "the fox runs to the river at noon. " * 40)]
    *_, last = model.stream(prompt, max_tokens=WRITTEN)
    model.close()
    assert isinstance(last, Finished)
    took = last.seconds_read + last.seconds_written
    read = last.tokens_read + last.tokens_reused
    # A shared machine may be several times slower in one of the two: this holds the order of magnitude.
    assert took / 4 < calibration.predict(read, last.tokens_written, last.tokens_reused) < took * 4
