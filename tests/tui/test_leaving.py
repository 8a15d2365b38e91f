"""The chat in a terminal that is closed, a process that is ended, stopped and brought back."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.types import Role

pty = pytest.importorskip("pty", reason="needs pseudo terminals")
PATIENCE = 30.0
CHAT = Path(__file__).with_name("scripted_chat.py")


class Terminal:
    """The chat as the one process of a terminal of 80 columns and 24 rows."""

    def __init__(self, file: Path) -> None:
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
            command = [sys.executable, "-P", str(CHAT), str(file)]
            os.execve(sys.executable, command, environment | {"TERM": "xterm-256color"})
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.output = b""
        self.code: int | None = None

    def read(self, seconds: float) -> bytes:
        """What arrives within so many seconds; it returns early when something did."""
        if not select.select([self.master], [], [], seconds)[0]:
            return b""
        try:
            arrived = os.read(self.master, 65536)
        except OSError:  # its end was closed
            return b""
        self.output += arrived
        return arrived

    def until(self, text: bytes) -> None:
        ends = time.monotonic() + PATIENCE
        while text not in self.output:
            assert time.monotonic() < ends, self.output[-2000:]
            self.read(0.1)

    def type(self, text: bytes) -> None:
        os.write(self.master, text)

    def ended(self, *, closed: bool = False) -> int:
        """The exit code, once it has ended."""
        ends = time.monotonic() + PATIENCE
        while self.code is None:
            assert time.monotonic() < ends, "it did not end"
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self.code = os.waitstatus_to_exitcode(status)
            elif closed:
                time.sleep(0.02)
            else:
                self.read(0.02)
        return self.code

    def close(self) -> None:
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    chat = Terminal(tmp_path / "m.db")
    try:
        chat.until(b"is ready.")
        yield chat
    finally:
        chat.close()


def texts(file: Path) -> list[tuple[Role, str]]:
    with Memory(file, HashEmbedder()) as memory:
        return [(m.role, m.text) for s in memory.sessions() for m in memory.messages(s.id)]


def ends_by(number: signal.Signals) -> Callable[[Terminal], int]:
    def end(terminal: Terminal) -> int:
        os.kill(terminal.pid, number)
        return terminal.ended()

    return end


def terminal_closed(terminal: Terminal) -> int:
    os.close(terminal.master)
    return terminal.ended(closed=True)


@pytest.mark.parametrize(
    "end",
    [ends_by(signal.SIGTERM), ends_by(signal.SIGHUP), terminal_closed],
    ids=["terminated", "hung up", "terminal closed"],
)
def test_what_was_written_until_the_terminal_goes_is_kept(
    terminal: Terminal, end: Callable[[Terminal], int], tmp_path: Path
) -> None:
    terminal.type(b"Go on for ever.\r")
    terminal.until(b"word20")
    assert end(terminal) == 0
    (asker, asked), (writer, written) = texts(tmp_path / "m.db")
    assert (asker, asked, writer) == (Role.USER, "Go on for ever.", Role.ASSISTANT)
    assert "word20" in written
    assert b"Traceback" not in terminal.output


def test_killed_in_the_middle_of_a_reply_what_was_acknowledged_is_kept(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.type(b"Go on for ever.\r")
    terminal.until(b"word5")
    assert ends_by(signal.SIGKILL)(terminal) == -signal.SIGKILL
    assert texts(tmp_path / "m.db") == [(Role.USER, "Go on for ever.")]


def test_stopped_and_brought_back_it_draws_all_of_its_screen(terminal: Terminal) -> None:
    os.kill(terminal.pid, signal.SIGTSTP)
    terminal.until(b"\x1b[?1049l")  # the shell's screen is back
    terminal.output = b""
    os.waitpid(terminal.pid, os.WUNTRACED)
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.until(b"New chat")
    terminal.until(b"is ready.")
    terminal.type(b"\x11")
    assert terminal.ended() == 0


def test_while_nothing_happens_nothing_is_sent_to_the_terminal(terminal: Terminal) -> None:
    while terminal.read(0.5):
        pass  # the first screens
    assert terminal.read(1.5) == b""  # a cursor that blinks would have blinked
