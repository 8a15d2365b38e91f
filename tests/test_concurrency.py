"""Many threads of two programs on one memory file."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.types import NewMessage, NewSession, Role

MESSAGES = 10_000
THREADS = 8
IN_A_SESSION = 10
PATIENCE = 120.0


def word(number: int) -> str:
    """A word that only message ``number`` has."""
    return "zq" + "".join(chr(ord("a") + int(digit)) for digit in f"{number:05}") + "x"


def session(first: int) -> NewSession:
    """Messages ``first`` and those after it."""
    numbers = range(first, first + IN_A_SESSION)
    roles = (Role.USER, Role.ASSISTANT)
    messages = tuple(
        NewMessage(roles[n % 2], f"the word of message {n} is {word(n)}", external_id=str(n)) for n in numbers
    )
    return NewSession("two programs", f"from {first}", messages)


def work(path: Path, start: int, end: int, embedder: HashEmbedder | None = None) -> None:
    """Add messages ``start`` to ``end`` from eight threads that search for what they added."""
    firsts = iter(range(start, end, IN_A_SESSION))
    lock = threading.Lock()

    def run() -> None:
        while True:
            with lock:
                first = next(firsts, None)
            if first is None:
                return
            memory.add(session(first))
            found = memory.search(word(first), 1)
            assert found[0].message.external_id == str(first), found

    with (
        Memory(path, embedder or HashEmbedder(64)) as memory,
        ThreadPoolExecutor(THREADS) as pool,
    ):
        for one in [pool.submit(run) for _ in range(THREADS)]:
            one.result()


def test_eight_threads_and_two_processes_end_with_every_message_searchable_once(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    Memory(path, HashEmbedder(64)).close()
    other = subprocess.Popen([sys.executable, __file__, str(path)], stderr=subprocess.PIPE, text=True)
    try:
        work(path, 0, MESSAGES // 2)
        _, remarks = other.communicate(timeout=PATIENCE)
    finally:
        other.kill()
    assert (other.returncode, remarks) == (0, "")
    with Memory(path, HashEmbedder(64)) as memory:
        memory.wait_embedded()
        assert memory.counts() == (MESSAGES // IN_A_SESSION, MESSAGES)
        for first in range(0, MESSAGES, IN_A_SESSION):
            numbers = range(first, first + IN_A_SESSION)
            hits = memory.search(" ".join(map(word, numbers)), 4 * IN_A_SESSION)
            found = [hit for hit in hits if int(hit.message.external_id) in numbers]
            assert sorted(int(hit.message.external_id) for hit in found) == list(numbers)
            assert all("lexical" in hit.views and hit.similarity != 0 for hit in found)


def test_two_programs_that_write_at_once_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, HashEmbedder(64)) as one, Memory(path, HashEmbedder(64)) as two:
        with one._database.atomic():
            waiting = threading.Thread(target=two.add, args=(session(0),))
            waiting.start()
            one.add(session(10))
        waiting.join(10)
        assert one.counts() == two.counts() == (2, 20)
        end = time.monotonic() + 10
        while not one.search(word(0), 1) or not two.search(word(10), 1):
            assert time.monotonic() < end


if __name__ == "__main__":
    work(Path(sys.argv[1]), MESSAGES // 2, MESSAGES)
