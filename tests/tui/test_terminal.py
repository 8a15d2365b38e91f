"""The chat in a real terminal: the installed command, the small models, keys as a person presses them."""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.real_model,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
]
PATIENCE = 60.0
QUESTION = "How many days passed between the day I adopted Miso and her operation?"


class Terminal:
    """A terminal of 100 columns and 30 rows, and what is on it."""

    numbers = itertools.count()

    def __init__(self, folder: Path, command: list[str]) -> None:
        # A size in the environment would count more than the terminal's own.
        self._environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "TMUX")}
        # A socket of its own: a server that was told to end may still hold the one before.
        socket = folder / f"socket{next(self.numbers)}"
        self._tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]
        size = ["-x", "100", "-y", "30"]
        self._run("new-session", "-d", *size, f"{shlex.join(command)}; echo It has ended.; cat")

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [*self._tmux, *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
        return done.stdout

    def press(self, *keys: str) -> None:
        self._run("send-keys", *keys)

    def type(self, text: str) -> None:
        self._run("send-keys", "-l", text)

    def screen(self) -> str:
        return self._run("capture-pane", "-p")

    def until(self, *texts: str) -> str:
        """The screen, once all of these are on it."""
        ends = time.monotonic() + PATIENCE
        while any(text not in (screen := self.screen()) for text in texts):
            assert time.monotonic() < ends, f"{texts} not within {PATIENCE} s; on the screen:\n{screen}"
            time.sleep(0.05)
        return screen

    def close(self) -> None:
        self._run("kill-server")


@pytest.fixture
def command(models_home: Path, tmp_path: Path) -> list[str]:
    """localmem with the small models over a memory that holds the sample history."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "models").symlink_to(models_home / "models")
    start = [sys.executable, "-P", "-m", "localmem", "--home", str(home), "--db", str(tmp_path / "m.db")]
    with resources.as_file(resources.files("localmem.demo") / "history.jsonl") as history:
        subprocess.run(
            [*start, "import", str(history)], check=True, capture_output=True, timeout=2 * PATIENCE
        )
    return start


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short name: the path of a socket has 100 characters at most."""
    with tempfile.TemporaryDirectory(prefix="lm-") as name:
        yield Path(name)


def test_a_person_asks_reads_opens_what_is_cited_quits_and_comes_back(
    command: list[str], folder: Path
) -> None:
    terminal = Terminal(folder, [*command, "chat"])
    try:
        terminal.until("smollm2-135m is ready.")
        terminal.type(QUESTION)
        terminal.until("Miso and her operation?")
        terminal.press("Enter")
        terminal.until("72 days", "[1]", "recalled", "is ready.")
        assert "furious with me" not in terminal.screen()  # the cited message on one line
        terminal.press("C-Up")
        terminal.until("r Again")
        terminal.press("Tab", "Enter")
        terminal.until("both bad teeth are out, and she's furious with me.")
        terminal.press("Escape")
        terminal.until("Send")
        terminal.type("/evidence")
        terminal.press("Enter")
        terminal.until("What the question requires", "“her operation”", "Cited", "How it was found")
        terminal.press("Down")
        terminal.until("both bad teeth are out")  # the highlighted message stands whole below
        terminal.press("Escape")
        terminal.until("Say something.", "is ready.")
        terminal.press("C-q")
        terminal.until("It has ended.")
    finally:
        terminal.close()

    terminal = Terminal(folder, [*command, "chat", "--last"])
    try:
        terminal.until(QUESTION, "72 days", "is ready.")
        terminal.press("C-q")
        screen = terminal.until("It has ended.")
        assert "Traceback" not in screen
    finally:
        terminal.close()
