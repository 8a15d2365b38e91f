"""Whole runs under the guard, watched from outside: what the system is asked for, by whatever code."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import apsw
import pytest

from localmem.models.network import RECORD, read_record

SECONDS = 120
CALLS = "connect,sendto,sendmsg,sendmmsg"
_INTERNET = re.compile(r"AF_INET")


def strace(log: Path, *command: str) -> list[str]:
    # Its filter lets all other calls run at full speed.
    return ["strace", "-f", "-qq", "--seccomp-bpf", "-e", f"trace={CALLS}", "-o", str(log), *command]


def may_trace() -> bool:
    if shutil.which("strace") is None:
        return False
    return subprocess.run(strace(Path(os.devnull), "true"), capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not may_trace(), reason="strace is missing or not permitted here")


def internet(log: Path) -> list[str]:
    """The calls that went to internet addresses, or tried to."""
    return [line for line in log.read_text(errors="replace").splitlines() if _INTERNET.search(line)]


def watched(log: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(strace(log, *command), capture_output=True, text=True, timeout=SECONDS)


Localmem = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def localmem(tmp_path: Path) -> Localmem:
    """Runs a command on a store of the test and fails when it went to the network or failed."""
    home = tmp_path / "home"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        log = tmp_path / f"strace-{arguments[0]}"
        command = (sys.executable, "-m", "localmem", "--db", str(tmp_path / "m.db"), "--home", str(home))
        done = watched(log, *command, *arguments)
        assert internet(log) == []
        assert done.returncode == 0, done.stderr
        assert read_record(home / RECORD) == []
        return done

    return run


def test_this_way_of_watching_sees_an_attempt(tmp_path: Path) -> None:
    log = tmp_path / "strace"
    script = "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))"
    assert watched(log, sys.executable, "-c", script).returncode == 0
    assert len(internet(log)) == 1


def test_of_what_the_guard_refuses_nothing_reaches_the_system(tmp_path: Path) -> None:
    script = (
        "import socket, localmem\n"
        "def tcp(): return socket.socket()\n"
        "def udp(): return socket.socket(type=socket.SOCK_DGRAM)\n"
        "with localmem.offline() as attempts:\n"
        "    for attempt in (\n"
        "        lambda: socket.getaddrinfo('a.example', 80), lambda: socket.gethostbyname('b.example'),\n"
        "        lambda: tcp().connect(('c.example', 80)), lambda: tcp().connect(('192.0.2.1', 80)),\n"
        "        lambda: udp().sendto(b'x', ('d.example', 53)),\n"
        "        lambda: udp().sendto(b'x', ('192.0.2.1', 53)),\n"
        "        lambda: udp().connect(('192.0.2.1', 53)), lambda: tcp().bind(('e.example', 0)),\n"
        "    ):\n"
        "        try: attempt()\n"
        "        except Exception: pass\n"
        "assert len(attempts) == 8, attempts\n"
    )
    log = tmp_path / "strace"
    done = watched(log, sys.executable, "-c", script)
    assert done.returncode == 0, done.stderr
    assert internet(log) == []


def test_import_search_ask_and_evaluation_ask_nothing_of_the_network(
    localmem: Localmem, tmp_path: Path
) -> None:
    example = resources.files("localmem.evals.datasets").joinpath("example.json").read_text(encoding="utf-8")
    (tmp_path / "own.json").write_text(example, encoding="utf-8")
    history = resources.files("localmem.demo").joinpath("history.jsonl").read_text(encoding="utf-8")
    (tmp_path / "history.jsonl").write_text(history, encoding="utf-8")
    localmem("models", "use", "embedder", "hash")
    localmem("import", str(tmp_path / "history.jsonl"))
    assert json.loads(localmem("search", "dentist", "--json").stdout)
    localmem("ask", "When did I go to the dentist?", "--no-llm")
    localmem("build", "--layer", "facts")
    evaluated = localmem(
        "eval", "run", "--benchmark", "json", "--arm", "agent", "--data", str(tmp_path / "own.json"),
        "--no-llm", "--out", str(tmp_path / "out"), "--json",
    )  # fmt: skip
    assert json.loads(evaluated.stdout)["n"] > 0


@pytest.fixture
def real_home(tmp_path: Path, models_home: Path) -> Path:
    """A home of the test with the small models of the machine."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "models").symlink_to(models_home / "models", target_is_directory=True)
    return home


@pytest.mark.real_model
def test_with_real_models_answers_come_without_the_network(
    localmem: Localmem, real_home: Path, tmp_path: Path
) -> None:
    line = {"session": "a", "role": "user", "text": "My cat is called Miso.", "at": "2026-03-01T10:00:00Z"}
    (tmp_path / "h.jsonl").write_text(json.dumps(line) + "\n")
    localmem("import", str(tmp_path / "h.jsonl"))
    answer = json.loads(localmem("ask", "What is my cat called?", "--json").stdout)
    assert "Miso" in answer["answer"]
    assert answer["ledger"]["model_calls"] > 0


@pytest.mark.real_model
@pytest.mark.skipif(sys.platform != "linux", reason="needs a pseudo terminal and strace")
def test_a_whole_chat_in_a_terminal_asks_nothing_of_the_network(real_home: Path, tmp_path: Path) -> None:
    import pty
    import termios

    log, database = tmp_path / "strace", tmp_path / "m.db"
    command = (sys.executable, "-m", "localmem", "--db", str(database), "--home", str(real_home), "chat")
    screen, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (30, 100))
    environment = os.environ | {"TERM": "xterm-256color"}
    chat = subprocess.Popen(
        strace(log, *command), stdin=terminal, stdout=terminal, stderr=terminal, env=environment,
        start_new_session=True,
    )  # fmt: skip
    os.close(terminal)
    shown: list[bytes] = []

    def read() -> None:
        while True:
            try:
                shown.append(os.read(screen, 1 << 16))
            except OSError:  # the other end is closed
                return

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        wait(lambda: b"is ready" in b"".join(shown), chat)
        os.write(screen, b"Please say hello.")
        wait(lambda: b"say hello." in b"".join(shown), chat)  # Enter in one piece with it is a paste
        os.write(screen, b"\r")
        wait(lambda: replies(database) > 0, chat)
        os.write(screen, b"\x11")
        chat.wait(60)
    finally:
        with contextlib.suppress(ProcessLookupError):  # it has ended, with all that it started
            os.killpg(chat.pid, signal.SIGKILL)
        chat.wait()
        reader.join(10)
        os.close(screen)
    assert internet(log) == []
    assert read_record(real_home / RECORD) == []


def wait(until: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + SECONDS
    while not until():
        assert process.poll() is None, "the chat ended"
        assert time.monotonic() < ends, "it took too long"
        time.sleep(0.05)


def replies(database: Path) -> int:
    if not database.exists():
        return 0
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        count: int = connection.execute("SELECT count(*) FROM message WHERE role = 'assistant'").get
    finally:
        connection.close()
    return count
