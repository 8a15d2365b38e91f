from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from localmem.cli import main

README = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")


@pytest.mark.real_model
def test_the_evaluation_commands_of_the_readme_run(
    locomo: Path, models_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCALMEM_HOME", str(models_home))
    locomo.rename(tmp_path / "locomo10.json")
    block = README.partition("## Evaluate")[2].partition("```\n")[2].partition("```")[0]
    commands = re.findall(r"^localmem (\S[^#\n]*)", block, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        assert main(shlex.split(command)) == 0
    assert "smollm2-135m" in (tmp_path / "answers" / "report.html").read_text(encoding="utf-8")
    assert len(list((tmp_path / "runs").glob("*.jsonl"))) >= 13
