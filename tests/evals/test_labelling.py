from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from localmem.cli.labelling import label_command
from localmem.errors import BadInput
from localmem.evals.labelling import Item, Labels, agreements, judged_answers, sample
from localmem.evals.log import LABELS, read_logs


def line(number: int, verdict: str | None, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "question": f"What is thing {number}?",
        "category": "multi-session",
        "reference": f"reference {number}",
        "abstain": False,
        "answer": {"text": f"answer {number}", "abstained": False},
        "verdict": {"verdict": verdict, "by": "model", "reason": "because"},
        **changes,
    }


def write(folder: Path, arm: str, lines: list[dict[str, Any]]) -> None:
    rows = [{"run": {"label": arm, "arm": arm}}, *lines]
    (folder / f"{arm}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two arms with the same answers but for one: 3 right, 2 wrong, 1 unscored, 1 empty, 1 not judged."""
    lines = [line(n, verdict) for n, verdict in enumerate(["CORRECT"] * 3 + ["WRONG"] * 2 + [None])]
    lines += [line(6, "WRONG", answer={"text": " ", "abstained": False}), {**line(7, None), "verdict": None}]
    write(tmp_path, "bm25", lines)
    other = {
        **lines[0],
        "answer": {"text": "\x1b[31manother", "abstained": False},
        "category": "knowledge-update",
    }
    write(tmp_path, "dense", [other, *lines[1:]])
    return tmp_path


def run(folder: Path, keys: str = "", *options: str) -> Result:
    result = CliRunner().invoke(label_command, [str(folder), *options], input=keys, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def given_labels(folder: Path) -> list[str]:
    return [json.loads(row)["human"] for row in (folder / LABELS).read_text().splitlines()]


def test_the_same_answer_of_two_arms_is_labelled_once_and_an_empty_one_never(folder: Path) -> None:
    found = judged_answers(read_logs(folder))
    assert sorted(item.answer for item in found) == ["\x1b[31manother", *(f"answer {n}" for n in range(6))]


def item(number: int, verdict: str | None, category: str = "t") -> Item:
    return Item(f"k{number:04}", category, "Q?", "A", False, f"answer {number}", verdict)


@pytest.mark.parametrize(
    ("right", "wrong", "unscored", "doubtful_drawn"),
    [(100, 100, 0, 10), (180, 15, 5, 10), (198, 2, 0, 2), (20, 180, 0, 18), (5, 100, 100, 20), (0, 0, 9, 9)],
)
def test_wrong_and_unscored_verdicts_are_drawn_more_often_than_they_come(
    right: int, wrong: int, unscored: int, doubtful_drawn: int
) -> None:
    verdicts = ["CORRECT"] * right + ["WRONG"] * wrong + [None] * unscored
    drawn = sample([item(n, verdict) for n, verdict in enumerate(verdicts)], 20, seed=1)
    assert len(drawn) == min(20, len(verdicts))
    assert sum(one.verdict != "CORRECT" for one in drawn) == pytest.approx(doubtful_drawn, abs=1)


@given(
    st.lists(st.tuples(st.sampled_from(["CORRECT", "WRONG", None]), st.sampled_from("abc")), max_size=60),
    st.integers(1, 12),
    st.integers(0, 5),
)
def test_a_sample_has_each_type_up_to_its_number_and_no_answer_twice(
    made: list[tuple[str | None, str]], per_type: int, seed: int
) -> None:
    items = [item(n, verdict, category) for n, (verdict, category) in enumerate(made)]
    drawn = sample(items, per_type, seed)
    assert len({one.key for one in drawn}) == len(drawn)
    sizes = Counter(category for _, category in made)
    assert Counter(one.category for one in drawn) == {c: min(n, per_type) for c, n in sizes.items()}
    assert drawn == sample(items, per_type, seed)


def test_a_sample_mixes_types_and_verdicts() -> None:
    items = [item(n, ("CORRECT", "WRONG")[n % 2], "ab"[n % 4 // 2]) for n in range(40)]
    drawn = sample(items, 10, seed=0)
    assert [one.category for one in drawn] != sorted(one.category for one in drawn)
    assert [one.verdict for one in drawn] != sorted(str(one.verdict) for one in drawn)
    assert drawn != sample(items, 10, seed=1)


def test_labels_are_kept_and_the_next_time_only_the_rest_is_asked(folder: Path) -> None:
    first = run(folder, "cwsq")
    assert "7 of 7 answers to label" in first.stderr
    assert given_labels(folder) == ["CORRECT", "WRONG", "SKIPPED"]
    second = run(folder, "cccc")
    assert "4 of 7 answers to label" in second.stderr
    assert "All are labelled." in second.stderr
    assert len(Labels(folder).given) == 7


def test_who_labels_sees_no_verdict_no_arm_and_no_escape_sequence(folder: Path) -> None:
    shown = run(folder, "c" * 7).stderr
    assert "another" in shown
    for hidden in ("WRONG", "CORRECT", "bm25", "dense", "because", "\x1b"):
        assert hidden not in shown


def test_what_was_pressed_can_be_undone_and_other_keys_do_nothing(folder: Path) -> None:
    run(folder, "uxcuwq")
    assert given_labels(folder) == ["CORRECT", None, "WRONG"]
    assert list(Labels(folder).given.values()) == ["WRONG"]
    run(folder, "cuq")
    assert list(Labels(folder).given.values()) == ["WRONG"]


def test_the_end_of_input_stops_as_quitting_does(folder: Path) -> None:
    run(folder, "c")
    assert len(Labels(folder).given) == 1


def test_a_cut_line_is_dropped_and_another_broken_one_refused(folder: Path) -> None:
    run(folder, "ccq")
    path = folder / LABELS
    path.write_text(path.read_text() + '{"key": "sha2')
    run(folder, "wq")
    assert given_labels(folder) == ["CORRECT", "CORRECT", "WRONG"]
    path.write_text('{"key": "x", "human": "PERHAPS"}\n')
    with pytest.raises(BadInput, match="line 1"):
        Labels(folder)


def test_agreement_and_kappa_are_told_by_type_and_in_all(folder: Path) -> None:
    labels = Labels(folder)
    items = judged_answers(read_logs(folder))
    # answers 0 to 5: the judge said C C C W W and nothing; the person says C C W W skipped C
    people = dict(zip(range(6), ("CORRECT", "CORRECT", "WRONG", "WRONG", "SKIPPED", "CORRECT"), strict=True))
    for one in items:
        if one.answer.startswith("answer"):
            labels.give(one, people[int(one.answer[-1])])  # type: ignore[arg-type]
    everything, by_type = agreements(items, labels)
    assert (everything.n, everything.agreement) == (4, 3 / 4)
    # chance: 3/4 * 2/4 right, 1/4 * 2/4 wrong
    assert everything.kappa == pytest.approx((3 / 4 - 1 / 2) / (1 - 1 / 2))
    assert (everything.unscored, everything.unscored_right) == (1, 1)
    assert by_type.to_json() == everything.to_json()
    assert by_type.name == "multi-session"


def test_the_command_prints_json_and_asks_nothing(folder: Path) -> None:
    empty = json.loads(run(folder, "", "--json").stdout)
    assert empty == {
        "all": {"n": 0, "agreement": None, "kappa": None, "unscored": 0, "unscored_right": 0},
        "by_type": {},
    }
    run(folder, "c" * 7)
    told = json.loads(run(folder, "", "--json").stdout)
    assert set(told["by_type"]) == {"multi-session", "knowledge-update"}
    assert told["by_type"]["knowledge-update"]["kappa"] is None
    assert told["all"]["n"] == 6
    assert "multi-session" in run(folder).stdout


def test_a_folder_without_verdicts_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "bm25", [{**line(1, None), "verdict": None}])
    with pytest.raises(BadInput, match="No answer"):
        run(tmp_path)
