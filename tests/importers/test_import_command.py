"""`localmem import`, `show` and `export --format jsonl` as a person or a script uses them."""

from __future__ import annotations

import json
import zipfile

import pytest

from localmem.cli import history, main
from localmem.memory import Memory


@pytest.fixture
def run(tmp_path, capsys):
    def run_one(*arguments, db="t.db"):
        code = main(["--db", str(tmp_path / db), "--home", str(tmp_path / "home"), *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    assert run_one("models", "use", "embedder", "hash")[0] == 0
    return run_one


def test_a_dry_run_tells_branches_what_is_passed_over_and_the_time_range(
    run, write, exports, conversation, node
):
    hidden = conversation(
        node("s", None, "system", "x"), node("u", "s", "user", "y", at=1.7e9), conversation_id="c3"
    )
    path = write([*exports["chatgpt"](), hidden])
    code, out, _ = run("import", path, "--dry-run")
    assert code == 0
    assert out.splitlines() == [
        "3 conversations, 3 sessions, 6 messages; nothing was stored.",
        "1 branches kept beside what the conversations went on from",
        "from 2023-11-14 to 2026-03-01",
        "skipped 1: system message",
    ]
    found = json.loads(run("import", path, "--dry-run", "--json")[1])
    assert (found["branches"], found["first"][:10], found["new_messages"]) == (1, "2023-11-14", 0)


def test_the_report_has_the_documented_fields_and_the_messages_are_found(run, write, exports):
    report = json.loads(run("import", write(exports["chatgpt"]()), "--json")[1])
    assert report == {
        "conversations": 2,
        "sessions": 2,
        "messages": 5,
        "new_messages": 5,
        "skipped": {},
        "failures": [],
    }
    found = json.loads(run("search", "Norway", "-k", "1", "--json")[1])[0]
    assert (found["text"], found["source"], found["external_id"]) == ("In Norway.", "chatgpt", "a2")


def test_nothing_taken_in_is_exit_1_and_a_sentence(run, write):
    code, out, err = run("import", write('[{"posts": 1}]'))
    assert (code, "0 messages; 0 new" in out) == (1, True)
    assert "no known format. It looks like a JSON array of objects with 'posts'." in err


def test_files_beside_an_export_are_named(run, write, exports, tmp_path):
    (tmp_path / "in").mkdir()
    write(exports["claude"](), name="in/a")
    write("a note", name="in/b")
    code, out, err = run("import", tmp_path / "in")
    assert (code, "skipped 1: file of no known format" in out) == (0, True)
    assert f"no known format: {tmp_path / 'in' / 'b'}" in err


def test_show_reads_the_path_and_tells_of_the_versions_beside_it(run, write, exports):
    run("import", write(exports["chatgpt"]()))
    (session,) = [s for s in json.loads(run("sessions", "--json")[1]) if s["external_id"] == "c1"]
    assert session["messages"] == 4
    _, out, err = run("show", session["session_id"], "--json")
    assert [m["text"] for m in json.loads(out)] == ["Where is Oslo?", "In Norway.", "Thanks"]
    assert "1 messages of other versions are kept" in err


def test_what_is_exported_as_jsonl_is_imported_whole(run, write, exports, tmp_path):
    run("import", write(exports["chatgpt"]()))
    assert run("export", "--format", "jsonl", "--out", tmp_path / "out")[0] == 0
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["memory.jsonl"]
    assert run("import", tmp_path / "out", db="copy.db")[0] == 0
    first, copy = (json.loads(run("sessions", "--json", db=db)[1]) for db in ("t.db", "copy.db"))
    assert first == copy


def test_one_session_is_exported_to_a_file_of_its_own_name(run, write, exports, tmp_path):
    run("import", write(exports["chatgpt"]()))
    run("export", "--format", "jsonl", "--out", tmp_path / "out", "--session", "1")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["000001-trip.jsonl"]


def test_an_import_waits_for_vectors_but_not_for_ever(run, write, exports, monkeypatch):
    monkeypatch.setattr(history, "EMBED_SECONDS", 0.0)
    monkeypatch.setattr(Memory, "wait_embedded", lambda self, progress: progress(7))
    code, out, err = run("import", write(exports["chatgpt"]()))
    assert (code, "5 new" in out) == (0, True)
    assert "have no vector yet and are found by their words only" in err


def test_stopping_at_the_vectors_leaves_all_messages_found_by_their_words(run, write, exports, monkeypatch):
    def stop(self, progress):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Memory, "wait_embedded", stop)
        code, out, err = run("import", write(exports["chatgpt"]()), "--json")
    assert (code, json.loads(out)["new_messages"]) == (130, 5)
    assert "All is stored and found by its words" in err
    assert json.loads(run("search", "Norway", "--json")[1])[0]["text"] == "In Norway."


def test_an_unsafe_archive_is_an_error_and_nothing_is_stored(run, tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr("../a.json", "[]")
    code, _, err = run("import", tmp_path / "x.zip")
    assert (code, "leads out of the archive" in err) == (1, True)
    assert json.loads(run("sessions", "--json")[1]) == []
