"""The files in ``examples`` run and print what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
EXPECTED = {
    "remember_and_ask.py": (
        r"My cat is called Miso\. \(\d\.\d\d\)\n.*7 March 2026.*\nrests on messages \[2\], read \d of 3\n"
    ),
    "watch_the_answer.py": r"step 1\. (.|\n)*recalled 1 message\nwrites: .*Miso.*\nstopped: .+\n",
    "forget.py": (
        r"would go: My PIN is 2581\.\nbytes searched: True, found: 0\n"
        r"# a \(notes\): raw\n(?!(.|\n)*2581)(.|\n)*I like tea\.\n\n"
    ),
}
TESTED_ELSEWHERE = {"openai_client.py"}  # with a server: tests/servers/test_endpoint.py


def run(name: str, folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == EXPECTED.keys() | TESTED_ELSEWHERE


@pytest.mark.parametrize("name", list(EXPECTED))
def test_an_example_prints_what_it_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALMEM_HOME", str(tmp_path / "home"))
    printed = run(name, tmp_path)
    assert re.fullmatch(EXPECTED[name], printed), printed


def test_a_host_program_with_modules_of_the_same_names_uses_memory(tmp_path: Path) -> None:
    for name in ("models", "tui", "memory", "servers", "store"):
        (tmp_path / f"{name}.py").write_text("MINE = True\n")
    program = tmp_path / "program.py"
    program.write_text(
        "import models, tui\n"
        "from localmem import Memory\n"
        "from localmem.models.hashing import HashEmbedder\n"
        "with Memory.open('host.db', home='home', embedder=HashEmbedder()) as memory:\n"
        "    memory.add('My cat is called Miso.')\n"
        "    memory.wait_embedded()\n"
        "    print(models.MINE, tui.MINE, memory.search('cat')[0].message.text)\n"
        "    print(memory.ask('What is my cat called?', use_model=False).text)\n"
    )
    done = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    first, second = done.stdout.splitlines()
    assert first == "True True My cat is called Miso."
    assert "Miso" in second
