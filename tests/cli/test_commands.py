from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localmem.cli import main
from localmem.store import Database

Run = Callable[..., tuple[int, str, str]]

LINES = [
    {"session": "a", "role": "user", "text": "My cat is called Miso.", "at": "2026-03-01T10:00:00+01:00"},
    {
        "session": "a",
        "role": "assistant",
        "text": "A fine name for a cat.",
        "at": "2026-03-01T10:00:05+01:00",
    },
    {
        "session": "b",
        "role": "user",
        "text": "I planted tulips [/ yesterday.",
        "at": "2026-04-01T10:00:00+02:00",
    },
]


@pytest.fixture
def history(tmp_path: Path) -> Path:
    path = tmp_path / "history.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return path


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command on a store of the test, with the embedder that needs no weights."""
    home = tmp_path / "home"

    def run_one(*arguments: str) -> tuple[int, str, str]:
        code = main(["--db", str(tmp_path / "t.db"), "--home", str(home), *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    assert run_one("models", "use", "embedder", "hash")[0] == 0
    return run_one


def as_json(result: tuple[int, str, str]) -> Any:
    assert result[0] == 0, result
    return json.loads(result[1])


def test_import_reports_what_the_file_holds_and_takes_nothing_in_twice(run: Run, history: Path) -> None:
    expected = {
        "conversations": 1,
        "sessions": 2,
        "messages": 3,
        "new_messages": 3,
        "skipped": {},
        "failures": [],
    }
    assert as_json(run("import", str(history), "--json")) == expected
    assert as_json(run("import", str(history), "--json")) == {**expected, "new_messages": 0}
    assert [s["messages"] for s in as_json(run("sessions", "--json"))] == [1, 2]


def test_a_dry_run_stores_nothing(run: Run, history: Path, tmp_path: Path) -> None:
    assert as_json(run("import", str(history), "--dry-run", "--json"))["messages"] == 3
    assert not (tmp_path / "t.db").exists()


def test_a_broken_file_is_named_with_its_place_and_nothing_of_it_is_kept(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(json.dumps(LINES[0]) + "\n{not json\n")
    code, _, err = run("import", str(path))
    assert code == 1
    assert "broken.jsonl" in err
    assert "line 2" in err
    assert as_json(run("sessions", "--json")) == []


def test_search_has_the_documented_fields(run: Run, history: Path) -> None:
    run("import", str(history))
    first = as_json(run("search", "cat name", "-k", "1", "--json"))[0]
    fields = "message_id external_id source session_id session_date speaker text score views"
    assert set(first) == set(fields.split())
    assert first["source"] == "history"
    assert (
        as_json(run("search", "cat tulips", "--after", "2026-03-15", "--json"))[0]["text"] == LINES[2]["text"]
    )
    assert len(as_json(run("search", "cat tulips", "--scope", "sessions", "--json"))) == 2


def test_ask_has_the_documented_fields_and_cites_its_evidence(run: Run, history: Path) -> None:
    run("import", str(history))
    answer = as_json(run("ask", "What is my cat called?", "--no-llm", "--json"))
    fields = "answer abstained citations evidence notes requirements policy stop_reason trace ledger rounds"
    assert set(answer) == set(fields.split())
    assert set(answer["evidence"][0]) == {
        "message_id",
        "external_id",
        "source",
        "session_id",
        "layer",
        "text",
    }
    texts = {item["message_id"]: item["text"] for item in answer["evidence"]}
    assert LINES[0]["text"] in {texts[i] for i in answer["citations"]}
    assert "Miso" in answer["answer"]


def test_ask_says_that_no_model_was_used_and_abstains_from_what_was_never_said(
    run: Run, history: Path
) -> None:
    run("import", str(history))
    code, out, err = run("ask", "What is my cat called?", "--no-llm")
    assert (code, "Miso" in out, "no language model" in err) == (0, True, True)
    assert as_json(run("ask", "What is my blood type?", "--no-llm", "--json"))["abstained"]


def test_show_prints_a_session_and_refuses_an_unknown_one(run: Run, history: Path) -> None:
    run("import", str(history))
    assert "Miso" in run("show", "1")[1]
    assert [m["turn"] for m in as_json(run("show", "1", "--json"))] == [0, 0]
    code, _, err = run("show", "99")
    assert (code, "no session 99" in err) == (2, True)


@pytest.mark.parametrize("command", [["ask", "hi"], ["demo"], ["chat"]])
def test_a_missing_chat_model_exits_3_and_names_the_command(run: Run, command: list[str]) -> None:
    code, _, err = run(*command)
    assert (code, "localmem models pull smollm2-135m" in err) == (3, True)


def test_a_missing_embedder_exits_3_and_names_the_command(tmp_path: Path, capsys: Any) -> None:
    code = main(["--db", str(tmp_path / "t.db"), "--home", str(tmp_path / "empty"), "search", "tea"])
    assert code == 3
    assert "localmem models pull all-minilm-l6-v2" in capsys.readouterr().err


def test_a_file_that_is_no_store_exits_4(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.db").write_bytes(b"no database" * 100)
    code, _, err = run("sessions")
    assert (code, "not a localmem file" in err) == (4, True)


def test_a_store_of_a_newer_version_exits_4(run: Run, history: Path, tmp_path: Path) -> None:
    run("import", str(history))
    database = Database(tmp_path / "t.db")
    with database.atomic() as connection:
        connection.execute("INSERT INTO migration VALUES ('m999_future', 'now')")
    database.close()
    code, _, err = run("search", "tea")
    assert (code, "newer localmem" in err) == (4, True)


@pytest.mark.parametrize("arguments", [["ask", ""], ["ask", "  "], ["search", ""], ["nonsense"], ["search"]])
def test_a_wrong_call_exits_2_without_a_traceback(run: Run, arguments: list[str]) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert "Traceback" not in out + err


@pytest.mark.parametrize(
    "question", ["[bold] [/ [TODO]", "\x1b[31mred", "\u202eabc 🙂", "a\x00b", "\ud800", "x" * 100_000]
)
def test_odd_questions_are_answered_or_abstained_from(run: Run, history: Path, question: str) -> None:
    run("import", str(history))
    assert "answer" in as_json(run("ask", question, "--no-llm", "--json"))
    code, out, _ = run("ask", question, "--no-llm")
    assert code == 0
    assert "\x1b" not in out


def test_build_embeds_again_after_a_change_of_model(run: Run, history: Path, tmp_path: Path) -> None:
    run("import", str(history))
    database = Database(tmp_path / "t.db")
    with database.atomic() as connection:
        connection.execute("UPDATE embedding_model SET fingerprint = 'sha256:other', name = 'other'")
    database.close()
    code, _, err = run("search", "cat")
    assert (code, "localmem build" in err) == (1, True)
    assert run("build")[0] == 0
    assert "dense" in as_json(run("search", "cat", "--json"))[0]["views"]


def test_the_doctor_names_what_is_missing_and_the_command_that_gets_it(run: Run) -> None:
    code, out, _ = run("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(out)}
    assert code == 1
    assert checks["database"]["ok"]
    assert checks["memory file"]["ok"]
    assert "localmem models pull smollm2-135m" in checks["model files"]["detail"]


def test_models_list_shows_roles_and_what_is_installed(run: Run) -> None:
    models = {model["name"]: model for model in as_json(run("models", "list", "--json"))}
    assert models["hash"]["roles"] == ["embedder"]
    assert not models["smollm2-135m"]["installed"]
    assert "smollm2-135m" in run("models", "list")[1]
