"""A memory full of control sequences, and every command that prints of it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localmem.cli import cli, main
from localmem.entries import Layer
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.text import printable
from localmem.types import NewMessage, NewSession, Role

EVIL = "\x1b]52;c;UFdORUQ=\x07\x1b[2J\x9b31m\x08\x1b(0\x1bP1$r\x9c\x85\x7f\x0e"
"""Fill the clipboard, clear the screen, colours, another character set: none may reach a terminal."""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
AT = datetime(2026, 3, 1, 10, tzinfo=UTC)

QUIET = {
    "chat": "a program on the whole screen, with tests of its own",
    "mcp": "speaks a protocol on stdout, JSON in ASCII",
    "serve": "runs until it is stopped, and prints its address",
    "demo": "has a history of its own",
    "encrypt": "asks at the terminal; prints nothing of memory",
    "decrypt": "asks at the terminal; prints nothing of memory",
    "rekey": "asks at the terminal; prints nothing of memory",
    "models pull": "fetches; prints nothing of memory",
    "models probe": "poses items of its own; prints nothing of memory",
    "bench generation": "has data of its own",
    "bench ingest": "has data of its own",
    "bench retrieval": "has data of its own",
    "bench tui": "has data of its own",
    "eval label": "asks at the terminal",
}
"""Commands that are not walked here, with the reason."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store, a history, a benchmark and files, hostile wherever they have text."""
    with Memory(tmp_path / "m.db", HashEmbedder()) as memory:
        for name in ("one", "two"):
            messages = (
                NewMessage(Role.USER, f"My cat {EVIL} is called Miso {EVIL}.", EVIL + "Ana", AT, "1" + EVIL,
                           attachments=f"a photo {EVIL} of the cat"),
                NewMessage(Role.ASSISTANT, f"You said {EVIL} Miso on 3 May 2025 {EVIL}?", "", AT, "2" + EVIL),
            )  # fmt: skip
            session = NewSession(
                f"src{EVIL}{name}", name + EVIL, messages, f"Cats {EVIL}", AT, (f"tag{EVIL}",)
            )
            memory.add(session)
        memory.wait_embedded()
        for layer in (Layer.FACTS, Layer.NOTES):
            for _ in memory.builder(None).build(layer):
                pass
    lines = [
        {"session": f"s{EVIL}", "role": "user", "text": f"Bread {EVIL}", "speaker": EVIL},
        {"session": f"s{EVIL}", "role": f"wizard{EVIL}", "text": "?"},
    ]
    (tmp_path / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "broken\x1b[31m\x07.jsonl").write_text('{"session": "\x1b]0;x\x07", ')
    message = {"id": f"m{EVIL}", "role": "user", "text": f"Miso {EVIL}"}
    question = {
        "id": f"q{EVIL}",
        "question": f"Who is Miso {EVIL}?",
        "answer": f"a cat {EVIL}",
        "type": f"k{EVIL}",
        "evidence": [f"m{EVIL}"],
    }
    sessions = [{"id": f"s{EVIL}", "messages": [message]}]
    own = [{"id": f"c{EVIL}", "sessions": sessions, "questions": [question]}]
    (tmp_path / "own.json").write_text(json.dumps(own))
    return tmp_path


def commands() -> Iterator[str]:
    def walk(group: click.Group, before: str) -> Iterator[str]:
        for name, command in group.commands.items():
            if isinstance(command, click.Group):
                yield from walk(command, f"{before}{name} ")
            else:
                yield before + name

    return walk(cli, "")


def walks(folder: Path) -> list[list[str]]:
    """Calls of every command that prints what others wrote; what fails prints too."""
    out = str(folder / "out")
    evaluation = ["eval", "run", "--benchmark", "json", "--data", str(folder / "own.json"), "--no-llm"]
    return [
        ["models", "use", "embedder", "hash"],
        ["models", "use", "answerer", f"nothing{EVIL}"],
        ["models", "list"],
        ["models", "verify", f"nothing{EVIL}"],
        ["import", str(folder / "history.jsonl")],
        ["import", str(folder / "broken\x1b[31m\x07.jsonl")],
        ["import", str(folder / f"missing{EVIL.replace('/', '')}")],
        ["sessions"],
        ["sessions", "--json"],
        *(["show", "1", "--layer", layer] for layer in ("summary", "facts", "notes", "raw")),
        ["show", "1", "--json"],
        ["search", "Miso"],
        ["search", f"Miso {EVIL}", "--scope", "sessions"],
        ["search", "Miso", "--json"],
        ["search", "Miso", "--after", f"x{EVIL}"],
        *(["ask", f"What is my cat {EVIL} called?", "--no-llm", "--policy", p] for p in ("fixed", "agent")),
        ["ask", "What is my cat called?", "--no-llm", "--json"],
        ["build"],
        ["stats"],
        ["stats", "--traces"],
        ["doctor"],
        ["check"],
        ["check", "--salvage", str(folder / "saved.db")],
        ["export", "--out", out],
        ["backup", str(folder / "backup.db")],
        [*evaluation, "--arm", "agent", "--out", str(folder / "log")],
        [*evaluation, "--arm", "hybrid", "--out", str(folder / "log")],
        ["eval", "compare", str(folder / "log" / "agent.jsonl"), str(folder / "log" / "hybrid.jsonl")],
        ["eval", "report", str(folder / "log"), "--format", "markdown"],
        ["eval", "merge", str(folder / "log" / "agent.jsonl"), "--out", str(folder / "merged.jsonl")],
        ["forget", "--matching", "Miso", "--prove"],
        ["forget", "--matching", "Miso", "--prove", "--yes"],
    ]


def test_every_command_is_walked_or_said_to_be_quiet(tmp_path: Path) -> None:
    walked = {
        name for name in commands() for call in walks(tmp_path) if call[: len(name.split())] == name.split()
    }
    assert walked | QUIET.keys() == set(commands())
    assert not walked & QUIET.keys()


def test_no_command_prints_a_control_sequence_out_of_memory(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a pipe click would take some of them out by itself; on a terminal it does not.
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *_, **__: False)
    printed = ""
    for call in walks(folder):
        monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
        code = main(["--db", str(folder / "m.db"), "--home", str(folder / "home"), *call])
        captured = capsys.readouterr()
        told = captured.out + captured.err
        assert code in (0, 1, 2, 3, 130), (call, told)
        assert not CONTROL.search(told), (call, CONTROL.search(told), told)
        assert "Traceback" not in told
        printed += told
    for text in ("Miso", "Cats", "src", "a photo", "history.jsonl", "broken"):
        assert text in printed


def test_what_follows_a_sequence_without_an_end_is_not_hidden() -> None:
    assert printable("Ana\x1b]0;: she said\nyes\x07 and no") == "Ana0;: she said\nyes and no"
    assert printable("Ana\x1b]52;c;UFdO\x1b\\: yes\x1b]0;x\x9c.") == "Ana: yes."


@given(st.text(st.sampled_from("\x1b[]()PX^_0;m\x07\\\x9b\x9c\x9d\x90ab\n\t\x00\x08\u2028é"), max_size=40))
def test_no_text_keeps_a_control_character_but_line_ends_and_tabs(text: str) -> None:
    shown = printable(text)
    assert not CONTROL.search(shown)
    assert printable(shown) == shown
