from __future__ import annotations

import json
from math import comb
from pathlib import Path
from typing import Any

import pytest

from localmem.errors import BadInput
from localmem.evals.comparing import (
    DETERMINISTIC,
    LESS_IS_BETTER,
    QUALITY,
    compare,
    compare_with,
    comparison_lines,
    multi_run,
    multi_run_lines,
    to_json,
)
from localmem.evals.folds import grouped_folds, leave_one_out
from localmem.evals.log import Line, Log
from localmem.evals.pareto import Point, pareto_front, sweep
from localmem.evals.published import published
from localmem.evals.scores import SCORES
from localmem.evals.statistics import holm, mcnemar, paired_bootstrap

SCORED = {"first": lambda line: line["one"], "second": lambda line: line["two"]}
FIRST = {"first": SCORED["first"]}


def log(values: list[float | None], *, conversations: int = 4, path: str = "runs/a.jsonl", **run: Any) -> Log:
    """A run that scored ``values``: question i is of conversation i modulo ``conversations``."""
    described = {
        "label": "arm", "data": "sha256:1", "arm": "arm", "temperature": None, "run_number": 1, **run,
    }  # fmt: skip
    lines: dict[str, Line] = {
        f"q{i:03}": {
            "id": f"q{i:03}",
            "source": f"conv-{i % conversations}",
            "category": ("1 multi-hop", "2 temporal")[i % 2],
            "one": value,
            "two": None if value is None else value / 2,
            "completion_calls": 3,
            "kept": ["a"] * (i % 3),
        }
        for i, value in enumerate(values)
    }
    return Log(Path(path), described, (), lines)


# --- two runs


def test_a_run_with_itself_is_all_ties_and_p_1() -> None:
    one = log([1, 0, 0.5, 1, None, 0, 1, 1])
    found = compare(one, one, SCORED)
    for difference in (*found.overall, *found.by_category):
        assert (difference.win, difference.loss, difference.tie) == (0, 0, difference.n)
        assert (difference.p, difference.holm_p, difference.significant) == (1, 1, False)
        assert difference.difference is not None
        assert difference.difference.value == 0
    assert [difference.n for difference in found.overall] == [7, 7]
    assert found.differ == ()


def test_pairs_are_counted_and_tested_as_worked_by_hand() -> None:
    """Of eight, three won alone, one lost alone: McNemar 2 * (1 + 4) / 16."""
    (difference,) = compare(log([1, 1, 1, 0, 1, 0, 1, 0]), log([0, 0, 0, 1, 1, 0, 1, 0]), FIRST).overall
    assert (difference.win, difference.tie, difference.loss) == (3, 4, 1)
    assert (difference.first, difference.second) == (5 / 8, 3 / 8)
    assert difference.difference is not None
    assert difference.difference.value == 2 / 8
    assert difference.mcnemar_p == 2 * (comb(4, 0) + comb(4, 1)) / 16
    assert difference.p == difference.mcnemar_p


def test_the_statistics_get_the_pairs_with_their_conversations() -> None:
    first = [i % 5 / 4 for i in range(40)]
    second = [i % 7 / 6 for i in range(40)]
    (difference,) = compare(log(first), log(second), FIRST, seed=3).overall
    clusters = [f"conv-{i % 4}" for i in range(40)]
    assert (difference.difference, difference.bootstrap_p) == paired_bootstrap(first, second, clusters, 3)
    assert difference.mcnemar_p is None  # not 0 or 1 throughout
    assert difference.p == difference.bootstrap_p


def test_what_is_left_out_is_counted() -> None:
    first, second = log([1, None, 0, 1, 1, 1]), log([1, 1, None, 0])
    found = compare(first, second, FIRST)
    assert (found.common, found.only_first, found.only_second) == (4, 2, 0)
    assert (found.overall[0].n, found.overall[0].unscored) == (2, 2)
    assert [(one.category, one.n, one.unscored) for one in found.by_category] == [
        ("1 multi-hop", 1, 1), ("2 temporal", 1, 1),
    ]  # fmt: skip


def test_a_score_that_nobody_has_is_told_and_not_tested() -> None:
    found = compare(log([None] * 4), log([1, 0, 1, 0]), SCORED)
    assert all((one.n, one.p, one.difference, one.first) == (0, None, None, None) for one in found.overall)
    assert "Not scored in both runs: first, second." in list(comparison_lines(found))


def test_where_less_is_better_the_smaller_wins() -> None:
    score = {"seconds": SCORED["first"]}
    (difference,) = compare(log([1, 1, 2]), log([2, 2, 1]), score).overall
    assert (difference.win, difference.loss) == (2, 1)
    assert difference.difference is not None
    assert difference.difference.value < 0
    assert set(SCORES) >= LESS_IS_BETTER
    assert not LESS_IS_BETTER & set(QUALITY)


def test_holm_goes_over_all_scores_of_all_runs_against_the_baseline() -> None:
    base = log([0] * 12)
    better, best = log([1] * 5 + [0] * 7), log([1] * 12)
    found = compare_with(base, [better, best], SCORED)
    tests = [one for comparison in found for one in comparison.overall]
    assert len(tests) == 4
    assert [one.holm_p for one in tests if one.holm_p is not None] == list(
        holm([one.p for one in tests if one.p is not None])
    )
    alone = compare(better, base, FIRST).overall[0]
    assert alone.p == alone.holm_p == mcnemar(5, 0)
    assert found[0].overall[0].holm_p > mcnemar(5, 0)  # type: ignore[operator]
    assert found[1].overall[0].significant


def test_what_holds_for_one_conversation_only_is_not_called_significant() -> None:
    """Twelve questions won, all of one of four conversations: McNemar is sure, the conversations are not."""
    first = log([float(i % 4 == 0) for i in range(48)])
    (difference,) = compare(first, log([0.0] * 48), FIRST).overall
    assert difference.holm_p == mcnemar(12, 0) < 0.001
    assert difference.difference is not None
    assert difference.difference.low == 0
    assert not difference.significant


def test_runs_over_different_data_are_refused() -> None:
    with pytest.raises(BadInput, match="different data"):
        compare(log([1, 0]), log([1, 0], data="sha256:2"), FIRST)


def test_runs_without_a_common_question_are_refused() -> None:
    one, other = log([1, 0]), log([1, 0])
    other.lines.clear()
    with pytest.raises(BadInput, match="no question in common"):
        compare(one, other, FIRST)


def test_settings_in_which_the_runs_differ_are_told() -> None:
    found = compare(log([1, 0], protocol="generous"), log([1, 0], protocol="longmemeval", limit=9), FIRST)
    assert found.differ == ("protocol",)


def test_logs_of_one_label_are_told_apart_by_their_place() -> None:
    found = compare(log([1, 0], path="x/arm.jsonl"), log([1, 0], path="y/arm.jsonl"), FIRST)
    assert (found.first, found.second) == ("arm (x/arm.jsonl)", "arm (y/arm.jsonl)")


def test_the_lines_say_which_differences_stand() -> None:
    first, second = log([1] * 40, label="ours"), log([0] * 20 + [1] * 20, label="theirs")
    text = "\n".join(comparison_lines(compare(first, second, FIRST)))
    assert "ours (first) against theirs (second)" in text
    assert "40 questions of 4 conversations in both runs; 0 left out" in text
    assert "Significant overall: first." in text
    assert "Significant by type: first (1 multi-hop, 2 temporal)." in text
    assert "With 4 conversations they are rough" in text
    same = "\n".join(comparison_lines(compare(first, first, FIRST)))
    assert "Significant overall: none." in same
    assert "*" not in same.partition("win:")[0]
    assert max(map(len, text.splitlines())) <= 120


def test_a_comparison_is_json() -> None:
    told = json.loads(json.dumps(to_json(compare(log([1, 1, 0]), log([0, 1, 0]), FIRST))))
    assert told["overall"][0]["win"] == 1
    assert told["overall"][0]["p"] == 1
    assert told["overall"][0]["significant"] is False
    assert {one["category"] for one in told["by_category"]} == {"1 multi-hop", "2 temporal"}


# --- several runs of the same


def repeated(name: str, *means: float) -> list[Log]:
    """Runs of ten questions with these means, labelled as the command labels them."""
    return [
        log([mean] * 10, label=f"{name}-run{n}", arm_label=f"{name}-run{n}", arm=name, run_number=n,
            temperature=0.7, path=f"runs/{name}-run{n}.jsonl")
        for n, mean in enumerate(means, 1)
    ]  # fmt: skip


def test_repeated_runs_give_mean_and_deviation() -> None:
    (group,) = multi_run(repeated("agent", 0.5, 0.6, 0.7), FIRST).groups
    assert (group.name, group.runs, group.questions, group.temperature) == ("agent", 3, 10, 0.7)
    (spread,) = group.spreads
    assert spread.means == pytest.approx((0.5, 0.6, 0.7))
    assert (spread.mean, spread.deviation) == pytest.approx((0.6, 0.1))


def test_two_groups_are_tested_by_welch_with_holm_over_the_scores() -> None:
    found = multi_run([*repeated("agent", 0.5, 0.6, 0.7), *repeated("hybrid", 0.4, 0.45)], SCORED)
    assert [group.name for group in found.groups] == ["agent", "hybrid"]
    first, second = found.tests
    assert first.welch is not None
    assert first.welch.difference == pytest.approx(0.175)
    assert first.bca is not None
    assert first.bca[0] < 0.175 < first.bca[1]
    assert second.welch is not None
    assert first.holm_p == pytest.approx(2 * first.welch.p)
    text = "\n".join(multi_run_lines(found))
    assert "agent: 3 runs of 10 questions at temperature 0.7" in text
    assert "0.600 ± 0.100" in text
    assert json.loads(json.dumps(to_json(found)))["tests"][0]["significant"] is False


@pytest.mark.parametrize("temperature", [None, 0])
def test_repeats_at_temperature_0_are_refused_with_the_reason(temperature: float | None) -> None:
    runs = [log([1, 0], run_number=n, temperature=temperature) for n in (1, 2)]
    with pytest.raises(BadInput) as refused:
        multi_run(runs, FIRST)
    assert str(refused.value) == DETERMINISTIC
    assert "deterministic" in DETERMINISTIC


def test_groups_that_cannot_be_summed_up_are_refused() -> None:
    runs = repeated("agent", 0.5, 0.6)
    with pytest.raises(BadInput, match="more than once"):
        multi_run([*runs, runs[1]], FIRST)
    with pytest.raises(BadInput, match="only run of its kind"):
        multi_run(runs[:1], FIRST)
    del runs[1].lines["q000"]
    with pytest.raises(BadInput, match="not over the same questions"):
        multi_run(runs, FIRST)


# --- folds


def test_leaving_one_conversation_out_gives_the_mean_of_the_rest() -> None:
    """Conversations (1, 1), (0, 0) and (1, 0), by question modulo 3."""
    folds = leave_one_out(log([1, 0, 1, 1, 0, 0], conversations=3), FIRST["first"])
    assert folds.mean == 0.5
    assert [(fold.conversations, fold.n, fold.mean) for fold in folds.folds] == [
        (("conv-0",), 4, 1 / 4), (("conv-1",), 4, 3 / 4), (("conv-2",), 4, 2 / 4),
    ]  # fmt: skip
    assert (folds.low, folds.high, folds.average, folds.deviation) == (0.25, 0.75, 0.5, 0.25)


def test_grouped_folds_part_the_conversations_by_seed() -> None:
    run = log([i % 3 / 2 for i in range(50)] + [None], conversations=10)

    def parts(seed: int) -> list[tuple[str, ...]]:
        return [fold.conversations for fold in grouped_folds(run, FIRST["first"], 3, seed).folds]

    folds = grouped_folds(run, FIRST["first"], 3)
    held = [name for fold in folds.folds for name in fold.conversations]
    assert sorted(held) == sorted({line["source"] for line in run.lines.values()})
    assert sorted(len(fold.conversations) for fold in folds.folds) == [3, 3, 4]
    assert sum(fold.n for fold in folds.folds) == 50
    assert sum(fold.n * fold.mean for fold in folds.folds) / 50 == pytest.approx(folds.mean)
    assert folds.unscored == 1
    assert parts(0) == parts(0)
    assert any(parts(0) != parts(seed) for seed in range(1, 5))


def test_too_few_conversations_make_no_folds() -> None:
    with pytest.raises(BadInput, match="at least two"):
        leave_one_out(log([1, 0], conversations=1), FIRST["first"])
    for k in (1, 5):
        with pytest.raises(BadInput, match="2 to 4 folds"):
            grouped_folds(log([1, 0, 1, 0]), FIRST["first"], k)


# --- cost and quality


def test_the_front_of_the_papers_sweep_is_the_one_it_names() -> None:
    """BFR, Appendix I: BFR-MV adds the points C4 and C9 to the front of judged accuracy; C1 is a tie."""
    (table,) = (table for table in published("paper-locomo") if table.table == "16")
    points = [
        Point(f"{row.arm} {row.point}", {"calls": row.overall["completion_calls"]}, row.overall["accuracy"])
        for row in table.rows
    ]
    assert pareto_front(points) == {
        "fca-ms C0", "bfr-text C1", "bfr-mv C1", "bfr-text C2", "bfr-text C3", "bfr-mv C4", "bfr-mv C9",
    }  # fmt: skip


def test_a_second_cost_can_only_keep_more_points_on_the_front() -> None:
    points = [Point("a", {"calls": 1, "records": 9}, 5), Point("b", {"calls": 1, "records": 3}, 4)]
    assert pareto_front(points) == {"a", "b"}
    assert pareto_front([Point(p.name, {"calls": p.costs["calls"]}, p.quality) for p in points]) == {"a"}


def test_equal_points_stand_together() -> None:
    points = [Point("C4", {"calls": 4}, 7), Point("C6", {"calls": 4}, 7), Point("C9", {"calls": 9}, 7)]
    assert pareto_front(points) == {"C4", "C6"}


def test_a_sweep_is_over_the_questions_that_all_runs_score() -> None:
    low, high = log([0, 1, None, 1], label="C1"), log([1, 1, 1, 1, 0], label="C3")
    for line in high.lines.values():
        line["completion_calls"] = 5
    found = sweep([high, low], "first", FIRST["first"], ("completion_calls", "records"))
    assert (found.n, found.left_out) == (3, 2)
    assert [point.name for point in found.points] == ["C1", "C3"]
    assert found.points[0].costs == {"completion_calls": 3, "records": pytest.approx((0 + 1 + 0) / 3)}
    assert [point.quality for point in found.points] == pytest.approx([2 / 3, 1])
    assert found.front == {"C1", "C3"}
    assert found.means["C1"].value == pytest.approx(2 / 3)


def test_sweeps_that_say_nothing_are_refused() -> None:
    with pytest.raises(BadInput, match="no cost 'money'"):
        sweep([log([1])], "first", FIRST["first"], ("money",))
    with pytest.raises(BadInput, match="different data"):
        sweep([log([1]), log([1], data="sha256:2")], "first", FIRST["first"])
    with pytest.raises(BadInput, match="No question has first"):
        sweep([log([1]), log([None])], "first", FIRST["first"])


def test_adversarial_questions_are_in_no_overall_test() -> None:
    one = log([1, 1, 1, 0])
    for line in list(one.lines.values())[:2]:
        line["category"] = "5 adversarial"
    found = compare(one, one, FIRST)
    assert found.overall[0].n == 2
    assert {(one.category, one.n) for one in found.by_category} >= {("5 adversarial", 2)}
