from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from localmem.errors import BadInput, ImportFailed
from localmem.evals.datasets import Case, Question, read_cases

Records = list[dict[str, Any]]
Change = Callable[[Records], object]


def changed(path: Path, change: Change) -> Path:
    records = json.loads(path.read_text())
    change(records)
    path.write_text(json.dumps(records))
    return path


def asked(benchmark: str, path: Path, **options: Any) -> list[Question]:
    return [question for case in read_cases(benchmark, path, **options) for question in case.questions]


def test_what_is_odd_in_official_locomo_files_is_counted_and_its_questions_stay(locomo: Path) -> None:
    notes: Counter[str] = Counter()
    slips = {"question": "Slip?", "answer": "x", "evidence": ["D", "D:1:1", "D1:1"], "category": 1}
    changed(locomo, lambda records: records[0]["qa"].append(slips))
    questions = asked("locomo", locomo, notes=notes)
    assert questions[-1].gold == {"D1:1"}
    assert notes == {"evidence id that the conversation does not have": 1, "evidence without a message id": 2}


def test_locomo_questions_name_their_sessions_and_give_numbers_as_text(locomo: Path) -> None:
    questions = asked("locomo", locomo)
    assert questions[1].gold_sessions == {"session_1", "session_2"}
    assert questions[3].reference == "7"
    assert [question.id for question in questions] == [f"conv-x/{number}" for number in range(5)]


def test_an_adversarial_answer_is_kept_apart_from_the_reference(locomo: Path) -> None:
    last = asked("locomo", locomo)[-1]
    assert (last.category, last.abstain) == ("5 adversarial", True)
    assert (last.reference, last.adversarial) == ("", "y")
    changed(locomo, lambda records: records[0]["qa"][-1].update(answer="No"))
    assert asked("locomo", locomo)[-1].reference == "No"


def test_the_gold_session_of_a_repeated_id_is_the_one_with_the_evidence(longmemeval: Path) -> None:
    (question, _) = asked("longmemeval", longmemeval)
    assert question.gold_sessions == {"s1#2"}
    assert question.asked_at == datetime(2023, 5, 30, 23, 40)
    assert question.reference == "3"


def test_without_marked_messages_the_named_sessions_are_gold_and_lost_ones_are_counted(
    longmemeval: Path,
) -> None:
    def unmark(records: Records) -> None:
        records[0]["haystack_sessions"][3][0]["has_answer"] = False
        records[0]["answer_session_ids"] = ["s1", "gone"]

    notes: Counter[str] = Counter()
    question = asked("longmemeval", changed(longmemeval, unmark), notes=notes)[0]
    assert not question.gold
    assert question.gold_sessions == {"s1", "s1#2"}
    assert notes["answer session that the history does not have"] == 1


@pytest.mark.parametrize(
    ("answer", "text"),
    [(3, "3"), (-2.5, "-2.5"), (1e3, "1000.0"), (["a", 2], "a, 2"), (" x ", "x"), (0, "0")],
)
def test_answers_are_text_numbers_or_lists(answer: object, text: str, longmemeval: Path) -> None:
    path = changed(longmemeval, lambda records: records[0].update(answer=answer))
    assert asked("longmemeval", path)[0].reference == text


LOCOMO_FAULTS: list[tuple[Change, str]] = [
    (lambda r: r[0].pop("qa"), 'record 1: "qa" must be an array, found nothing'),
    (lambda r: r[0]["qa"][1].pop("answer"), 'question conv-x/1: "answer" must be text, a number or a list'),
    (lambda r: r[0]["qa"][1].update(answer=True), 'question conv-x/1: "answer" must be text'),
    (lambda r: r[0]["qa"][1].update(answer=["a", {}]), 'question conv-x/1: "answer" must be text'),
    (lambda r: r[0]["qa"][1].update(question=" "), 'question conv-x/1: "question" is empty'),
    (lambda r: r[0]["qa"][1].pop("question"), 'question conv-x/1: "question" must be text, found nothing'),
    (lambda r: r[0]["qa"][1].update(category=6), '"category" must be a number from 1 to 5, found 6'),
    (lambda r: r[0]["qa"][1].pop("category"), '"category" must be a number from 1 to 5, found nothing'),
    (lambda r: r[0]["qa"][1].update(category=True), '"category" must be a number from 1 to 5, found true'),
    (lambda r: r[0]["qa"][1].update(evidence="D1:1"), 'question conv-x/1: "evidence" must be an array'),
    (lambda r: r[0]["qa"][1].update(evidence=[3]), '"evidence" must hold texts, found 3'),
    (lambda r: r[0]["qa"].__setitem__(1, "What?"), "question conv-x/1: an object was expected"),
]
LONGMEMEVAL_FAULTS: list[tuple[Change, str]] = [
    (lambda r: r[1].pop("question_type"), 'record 2: "question_type" must be text, found nothing'),
    (lambda r: r[1].update(question_type="riddle"), '"question_type" must be one of single-session-user,'),
    (lambda r: r[1].update(question=""), 'record 2: "question" is empty'),
    (lambda r: r[1].update(question_date="May"), 'record 2, "question_date": the date must read like'),
    (lambda r: r[1].pop("answer_session_ids"), 'record 2: "answer_session_ids" must be an array'),
    (lambda r: r[1].update(question_id="q1"), "record 2: the id 'q1' was used before"),
    (lambda r: r[1].update(haystack_sessions=[[]] * 4), "record 2: there is no message in it"),
    (
        lambda r: r[1]["haystack_sessions"][3][0].update(has_answer="yes"),
        "record 2, message s1#2:0: \"has_answer\" must be true or false, found 'yes'",
    ),
    (
        lambda r: r[1]["haystack_sessions"][0][0].pop("content"),
        'session 1, message 1: "content" must be text',
    ),
    (lambda r: r.__setitem__(1, 7), "record 2: an object was expected, found 7"),
]
OWN_FAULTS: list[tuple[Change, str]] = [
    (lambda r: r[0].pop("questions"), 'record 1: "questions" must be an array'),
    (lambda r: r[0].update(quesions=[]), "record 1: there is no field 'quesions'. Fields: id, sessions,"),
    (lambda r: r[1].update(id="garden"), "record 2: the id 'garden' was used before in this file"),
    (lambda r: r[1]["questions"][0].update(id="garden-rows"), "record 2: the id 'garden-rows' was used"),
    (lambda r: r[0]["questions"][0].update(evidence=["g9"]), "question 1: \"evidence\" names 'g9'"),
    (lambda r: r[0]["questions"][0].update(evidance=[]), "question 1: there is no field 'evidance'"),
    (lambda r: r[0]["sessions"][0].update(time="x"), "session 1: there is no field 'time'"),
    (lambda r: r[0]["sessions"][0]["messages"][0].update(at="x"), "message 1: there is no field 'at'"),
    (lambda r: r[0]["questions"][0].update(evidence="g1"), 'question 1: "evidence" must be an array'),
    (lambda r: r[0]["questions"][0].pop("id"), 'record 1, question 1: "id" must be a name or number'),
    (lambda r: r[0]["questions"][0].pop("answer"), 'record 1, question 1: "answer" must be text'),
    (lambda r: r[0]["questions"][0].update(date="1 July"), 'question 1: "date" must be a date such as'),
    (lambda r: r[0]["questions"][0].update(abstain="no"), '"abstain" must be true or false, found \'no\''),
    (lambda r: r[0]["questions"][0].update(type=[]), 'question 1: "type" must be a name'),
    (lambda r: r[0]["sessions"][1].update(id="spring"), "session 2: the id 'spring' was used before"),
    (lambda r: r[0]["sessions"][1].update(date="15.6.2024"), 'session 2: "date" must be a date such as'),
    (lambda r: r[0]["sessions"][1]["messages"][0].update(id="g1"), "session 2, message 1: the id 'g1' was"),
    (lambda r: r[0]["sessions"][1]["messages"][0].update(role="bot"), '"role" must be user or assistant'),
    (lambda r: r[0]["sessions"][1]["messages"][0].pop("text"), 'session 2, message 1: "text" must be text'),
    (lambda r: r[0].update(sessions=[]), "record 1: there is no message in it to ask about"),
]  # fmt: skip


def faults() -> list[Any]:
    kinds = [("locomo", LOCOMO_FAULTS), ("longmemeval", LONGMEMEVAL_FAULTS), ("json", OWN_FAULTS)]
    return [
        pytest.param(name, change, told, id=f"{name}: {told[:60]}")
        for name, cases in kinds
        for change, told in cases
    ]


@pytest.mark.parametrize(("benchmark", "change", "told"), faults())
def test_a_fault_is_named_by_file_record_and_field_and_skip_bad_leaves_only_it_out(
    benchmark: str, change: Change, told: str, request: pytest.FixtureRequest
) -> None:
    whole = asked(benchmark, request.getfixturevalue("own" if benchmark == "json" else benchmark))
    path = changed(request.getfixturevalue("own" if benchmark == "json" else benchmark), change)
    with pytest.raises(ImportFailed) as caught:
        asked(benchmark, path)
    assert str(path) in str(caught.value)
    assert told in str(caught.value)
    assert str(caught.value).endswith("Mend it; --skip-bad leaves it out.")
    skipped: list[str] = []
    if benchmark == "locomo" and "qa" in told:
        with pytest.raises(ImportFailed, match="All of it was left out"):
            asked(benchmark, path, skip_bad=True)
        return
    left = asked(benchmark, path, skip_bad=True, skipped=skipped)
    assert len(skipped) == 1
    assert told in skipped[0]
    assert 0 < len(left) < len(whole)
    assert {question.text for question in left} <= {question.text for question in whole}


def test_a_file_that_breaks_off_is_refused_or_read_as_far_as_it_goes(longmemeval: Path) -> None:
    text = longmemeval.read_text()
    longmemeval.write_text(text[: len(text) - 40])
    with pytest.raises(ImportFailed, match=r"record 2: not correct JSON, or cut short.*--skip-bad"):
        asked("longmemeval", longmemeval)
    skipped: list[str] = []
    assert len(asked("longmemeval", longmemeval, skip_bad=True, skipped=skipped)) == 1
    assert "from here on is left out" in skipped[0]


@pytest.mark.parametrize("text", ["no json at all", '{"a": 1}', "[]", "[", "", "null", "\xff"])
@pytest.mark.parametrize("skip_bad", [False, True])
def test_what_is_no_json_array_is_refused_even_where_bad_records_are_skipped(
    text: str, skip_bad: bool, tmp_path: Path
) -> None:
    path = tmp_path / "data.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ImportFailed, match=r"data\.json.*Get the file again"):
        asked("json", path, skip_bad=skip_bad)


def test_a_folder_a_missing_file_and_an_unknown_benchmark_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match="is a folder: give the file"):
        asked("locomo", tmp_path)
    with pytest.raises(ImportFailed, match="cannot be read"):
        asked("locomo", tmp_path / "none.json")
    with pytest.raises(BadInput, match="locomo, longmemeval, json"):
        asked("nonsense", tmp_path)


def test_the_file_of_another_benchmark_is_told_by_its_name(
    locomo: Path, longmemeval: Path, own: Path
) -> None:
    files = {"locomo": locomo, "longmemeval": longmemeval, "json": own}
    for name, path in files.items():
        for other in set(files) - {name}:
            with pytest.raises(ImportFailed, match=f"no file of benchmark {other}; .* --benchmark {name}"):
                asked(other, path, skip_bad=True)


def test_a_bad_history_takes_its_questions_with_it_and_no_other(own: Path) -> None:
    changed(own, lambda records: records[0]["sessions"][0]["messages"].append("hello"))
    skipped: list[str] = []
    cases: list[Case] = list(read_cases("json", own, skip_bad=True, skipped=skipped))
    assert [case.sessions[0].source for case in cases] == ["two-friends"]
    assert "session 1, message 4: an object was expected" in skipped[0]


def test_the_example_of_own_data_is_read_as_documented(own: Path) -> None:
    garden, friends = read_cases("json", own)
    rows, wheelbarrow, greenhouse = garden.questions
    assert (rows.reference, rows.category, rows.gold, rows.gold_sessions) == (
        "3",
        "single",
        {"g1"},
        {"spring"},
    )
    assert rows.asked_at == datetime(2024, 7, 1)
    assert wheelbarrow.reference == "the neighbour's, returned it"
    assert wheelbarrow.gold_sessions == {"spring", "summer"}
    assert (greenhouse.abstain, greenhouse.reference) == (True, "")
    assert garden.sessions[0].started_at == datetime(2024, 3, 2, 18, 30)
    assert [message.external_id for message in friends.sessions[0].messages] == ["call:0", "call:1"]
    assert (friends.questions[0].category, friends.questions[0].gold) == ("untyped", {"call:0"})


def test_every_field_of_own_data_is_documented_and_in_the_documented_place() -> None:
    from localmem.evals.datasets import own as module

    fields = {*module.CONVERSATION, *module.SESSION, *module.MESSAGE, *module.QUESTION}
    assert module.__doc__ is not None
    assert all(f'"{field}":' in module.__doc__ for field in fields)
