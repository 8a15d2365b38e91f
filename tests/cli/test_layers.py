from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from localmem.cli import main
from localmem.entries import Layer
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.models.protocols import ChatMessage
from localmem.models.scripted import ScriptedModel
from localmem.probing.team import Team
from localmem.types import NewMessage, NewSession, Role

Run = Callable[..., tuple[int, str, str]]

LINES = [
    {"session": "a", "role": "user", "speaker": "Nora", "id": "n1", "at": "2026-03-02T10:00:00+01:00",
     "text": "I adopted a cat yesterday, her name is Miso."},
    {"session": "a", "role": "assistant", "id": "n2", "at": "2026-03-02T10:00:05+01:00",
     "text": "I recommend a scratching post of 80 cm.\n# no heading"},
    {"session": "b", "role": "user", "id": "n3", "at": "2026-04-01T10:00:00+02:00",
     "text": "\x1b[31mTulips\x1b[0m were planted, 40 of them."},
]  # fmt: skip


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command on a store that holds two sessions."""
    history = tmp_path / "history.jsonl"
    history.write_text("".join(json.dumps(line) + "\n" for line in LINES))

    def run_one(*arguments: str) -> tuple[int, str, str]:
        code = main(["--db", str(tmp_path / "t.db"), "--home", str(tmp_path / "home"), *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    assert run_one("models", "use", "embedder", "hash")[0] == 0
    assert run_one("import", str(history))[0] == 0
    return run_one


def as_json(result: tuple[int, str, str]) -> Any:
    assert result[0] == 0, result
    return json.loads(result[1])


def test_each_layer_is_shown_with_the_messages_behind_it(run: Run) -> None:
    for layer in ("summary", "facts", "notes"):
        code, out, err = run("show", "1", "--layer", layer)
        assert (code, err) == (0, "")
        assert "# a (history): " + layer in out
        assert "1 March 2026" in out
        assert "[n1" in out
    code, out, _ = run("show", "1")
    assert "**Nora**, 2026-03-02 10:00 [n1]" in out
    assert LINES[0]["text"] in out


def test_a_layer_as_json_names_what_made_it_and_from_what(run: Run) -> None:
    (summary,) = as_json(run("show", "1", "--layer", "summary", "--json"))
    assert summary["grade"] == "extractive"
    assert summary["model"] is None
    assert summary["message_ids"] == [1, 2]
    assert "Miso" in summary["summary"]
    assert 5 <= len(summary["keywords"]) <= 8
    assert 3 <= len(summary["tags"]) <= 5
    (facts,) = as_json(run("show", "1", "--layer", "facts", "--json"))
    assert {tuple(bullet["message_ids"]) for bullet in facts["bullets"]} <= {(1,), (2,)}


def test_a_session_that_is_not_there_is_said(run: Run) -> None:
    for command in (["show", "9"], ["show", "9", "--layer", "facts"], ["build", "--session", "9"]):
        code, _, err = run(*command)
        assert code == 2
        assert "9" in err


def test_an_export_has_four_layers_for_each_session_and_is_the_same_every_time(
    run: Run, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert run("export", "--out", str(out))[0] == 0
    first = {path.relative_to(out): path.read_bytes() for path in out.rglob("*.md")}
    assert {str(path) for path in first} == {
        f"{folder}/{layer}.md"
        for folder in ("000001-a", "000002-b")
        for layer in ("summary", "facts", "notes", "raw")
    }
    assert run("export", "--out", str(out))[0] == 0
    assert {path.relative_to(out): path.read_bytes() for path in out.rglob("*.md")} == first
    _, head, body = first[Path("000001-a/facts.md")].decode().split("---\n", 2)
    assert yaml.safe_load(head) == {
        "session": 1,
        "external_id": "a",
        "source": "history",
        "title": "",
        "started_at": "2026-03-02T10:00:00+01:00",
        "first_message": "2026-03-02T10:00:00+01:00",
        "last_message": "2026-03-02T10:00:05+01:00",
        "layer": "facts",
        "made_by": ["rules"],
        "messages": {"n1": 1, "n2": 2},
    }
    assert "Miso" in body
    raw = first[Path("000002-b/raw.md")].decode()
    assert LINES[2]["text"] in raw  # a file holds what was said, byte for byte


def test_one_session_can_be_exported(run: Run, tmp_path: Path) -> None:
    assert run("export", "--out", str(tmp_path / "out"), "--session", "2")[0] == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["000002-b"]


def test_an_export_that_cannot_be_written_says_why(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, _, err = run("export", "--out", str(tmp_path / "file" / "below"))
    assert code == 2
    assert "Cannot write to" in err


def test_a_terminal_gets_no_control_sequences_of_a_message(run: Run) -> None:
    for layer in ("raw", "summary", "facts", "notes"):
        assert "\x1b" not in run("show", "2", "--layer", layer)[1]


def test_stats_tell_what_there_is_and_how_complete_it_is(run: Run) -> None:
    stats = as_json(run("stats", "--json"))
    assert (stats["sessions"], stats["messages"]) == (2, 3)
    assert stats["pending"] == {"embedding": 0, "summary": 0}
    (layer,) = stats["layers"]
    assert (layer["layer"], layer["model"], layer["entries"], layer["failures"]) == ("summary", None, 2, 0)
    assert 0.5 < layer["coverage"] <= 1
    assert layer["rejection_rate"] is None
    assert "2 sessions, 3 messages" in run("stats")[1]


def test_build_makes_a_layer_by_rule_when_no_model_is_trusted_with_it(run: Run) -> None:
    code, _, err = run("build", "--layer", "notes")
    assert code == 0
    assert "not installed" in err
    assert as_json(run("build", "--layer", "notes", "--json"))["made"] == 0
    assert as_json(run("build", "--layer", "facts", "--session", "1", "--json"))["made"] == 1
    assert as_json(run("build", "--layer", "facts", "--json"))["made"] == 1


def test_build_and_stats_report_what_the_guard_rejected(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ScriptedModel(lambda prompt: '{"summaries": ["Miso is 17 years old."]}')
    monkeypatch.setattr(Team, "if_trusted", lambda *_, **__: model)
    report = as_json(run("build", "--layer", "summary", "--json"))
    assert (report["made"], report["failed"], report["left"]) == (0, 2, 0)
    assert report["rejected"] >= 2
    (by_model,) = [one for one in as_json(run("stats", "--json"))["layers"] if one["model"]]
    assert (by_model["failures"], by_model["rejection_rate"]) == (2, 1.0)
    assert (
        "Failed by the model: the number 17 is not in the messages"
        in run("show", "1", "--layer", "summary")[1]
    )


def test_an_import_loads_no_chat_model(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a chat model was asked for")

    monkeypatch.setattr("localmem.models.library.Library.open_chat", refuse)
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"session": "c", "role": "user", "text": "I like figs."}) + "\n")
    assert run("import", str(more))[0] == 0
    with Memory(tmp_path / "t.db", HashEmbedder(384)) as memory:
        assert [entry.grade for entry in memory.layer(3, Layer.SUMMARY)] == ["extractive"]


def test_a_judge_looks_at_summaries_by_models_only_if_it_is_trusted(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, err = run("stats", "--judge", "5")
    assert code == 2
    assert "localmem models probe" in err

    def summed_up(prompt: tuple[ChatMessage, ...]) -> str:
        told = "40 were planted." if "Tulips" in prompt[-1].text else "Nora adopted a cat called Miso."
        return json.dumps({"summaries": [told]})

    monkeypatch.setattr(Team, "if_trusted", lambda *_, **__: ScriptedModel(summed_up))
    assert as_json(run("build", "--layer", "summary", "--json"))["made"] == 2
    judge = ScriptedModel(lambda prompt: '{"verdict": "YES"}' if "Miso" in prompt[-1].text else "who knows")
    monkeypatch.setattr(Team, "if_trusted", lambda *_, **__: judge)
    verdicts = as_json(run("stats", "--judge", "5", "--json"))["judged"]
    assert verdicts == {"faithful": 1, "unfaithful": 0, "unscored": 1}
    assert "judged: 1 faithful, 0 not, 1 without a verdict" in run("stats", "--judge", "5")[1]


def test_build_keeps_to_its_time_and_goes_on_later(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(self: HashEmbedder, texts: list[str]) -> object:
        time.sleep(0.4)
        return embed(self, texts)

    embed = HashEmbedder.embed_documents
    with Memory(tmp_path / "t.db", HashEmbedder(384)) as memory:
        memory.add(NewSession("test", "late", (NewMessage(Role.USER, "I like figs."),)))
        memory.wait_embedded()
        memory._database.connection().execute("DELETE FROM vector")
        memory._database.connection().execute(
            "INSERT OR IGNORE INTO pending_embedding SELECT id FROM message"
        )
    monkeypatch.setattr(HashEmbedder, "embed_documents", slowly)
    code, _, err = run("build", "--max-seconds", "0")
    assert code == 0
    assert "Go on: localmem build" in err
    code, _, err = run("build")
    assert code == 0
    assert "Every message has its vector" in err
