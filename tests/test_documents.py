from __future__ import annotations

import importlib.util
import json
import re
import shlex
from pathlib import Path

import click
import pytest

from localmem.cli import cli
from localmem.cli import main as cli_main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands(group: click.Group, prefix: str = "") -> list[str]:
    names = []
    for name, command in group.commands.items():
        names.append(f"{prefix}{name}")
        if isinstance(command, click.Group):
            names += commands(command, f"{prefix}{name} ")
    return names


@pytest.mark.parametrize("command", commands(cli))
def test_each_command_is_in_the_readme(command: str) -> None:
    assert f"localmem {command}" in README


def test_each_command_in_the_readme_exists() -> None:
    known = {name.split()[0] for name in commands(cli)}
    for used in re.findall(r"(?:^|bin/|`)localmem (?:--\w+ \S+ )*([a-z]+)\b", README, re.MULTILINE):
        assert used in known


def test_each_command_that_a_message_names_exists() -> None:
    known = {name.split()[0] for name in commands(cli)}
    for folder in ("localmem", "models", "tui"):
        for path in (ROOT / folder).rglob("*.py"):
            for used in re.findall(r"`localmem (?:--\w+ \S+ )*([a-z]+)\b", path.read_text(encoding="utf-8")):
                assert used in known, (path.name, used)


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "README.md"])
def test_each_module_named_in_a_document_exists(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    for name in re.findall(r"`(localmem(?:\.\w+)+)`", text):
        assert importlib.util.find_spec(name), name


def test_ci_builds_with_the_flags_that_the_readme_gives() -> None:
    (flags,) = set(re.findall(r'CMAKE_ARGS="([^"]+)"', README))
    assert f'CMAKE_ARGS="{flags}"' in (ROOT / ".ci" / "run").read_text()
    assert "-DGGML_NATIVE=OFF" in flags


def test_ci_runs_the_test_command_of_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text().replace("--quiet ", "")
    assert ".venv/bin/pip install -e '.[test]' && .venv/bin/python -m pytest" in README
    assert ".venv/bin/pip install -e '.[test]'\n" in script
    assert ".venv/bin/python -m pytest\n" in script


@pytest.mark.real_model
def test_the_first_commands_of_the_readme_run(
    tmp_path: Path, models_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCALMEM_HOME", str(models_home))
    monkeypatch.setenv("LOCALMEM_DB", str(tmp_path / "memory.db"))
    line = {"session": "a", "role": "user", "text": "I saw Anna yesterday.", "at": "2026-03-02T10:00:00Z"}
    Path("chats.jsonl").write_text(json.dumps(line))
    lines = re.findall(r"^\.venv/bin/localmem (\S[^#]*?)\s+#", README, re.MULTILINE)
    assert [shlex.split(line)[0] for line in lines] == ["import", "ask"]
    for line in lines:
        assert cli_main(shlex.split(line)) == 0
    assert "1 March 2026" in capsys.readouterr().out
