"""A round: a worker is killed at a random moment, the file is opened again, and everything is looked at."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from localmem.entries import Layer
from localmem.errors import StoreEncrypted
from localmem.importers.run import import_files
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.privacy.check import check
from localmem.store import migrations
from localmem.store.connection import SIDE_FILES
from tests.faults.expected import Expected, mark

KINDS = {"import": 6, "chat": 5, "build": 3, "forget": 4, "migration": 2, "key": 1}
"""Kind of work -> how often it is chosen."""
FACTS = {"import": 25, "chat": 25, "build": 15, "forget": 6, "migration": 3, "key": 4}
"""Kind of work -> how many facts at most are waited for before the kill."""
LIFE = 20
"""Rounds that one memory file goes through."""
AGAIN = 20
"""Messages that were found before and are searched for again after each kill."""
DIMENSION = 128
WORKER = Path(__file__).with_name("worker.py")
HISTORY = WORKER.parent.parent / "store" / "schemas" / "history.json"


@dataclass(slots=True)
class Outcome:
    """What all rounds together came to."""

    rounds: int = 0
    acknowledged: int = 0
    forgotten: int = 0
    lost: list[str] = field(default_factory=list)
    """Acknowledged and not there, not found, or there twice."""
    returned: list[str] = field(default_factory=list)
    """Acknowledged as forgotten and there, or in the bytes of the files."""
    broken: list[str] = field(default_factory=list)
    """What does not fit together, or did not go on."""
    by_kind: Counter[str] = field(default_factory=Counter)

    @property
    def clean(self) -> bool:
        return not (self.lost or self.returned or self.broken)


def run(folder: Path, rounds: int, seed: int, kinds: tuple[str, ...] = ()) -> Iterator[Outcome]:
    """Play rounds, yielding the outcome so far after each; ``kinds`` in this order, else by chance."""
    chance = random.Random(seed)
    outcome = Outcome()
    life: Life | None = None
    for number in range(rounds):
        if life is None or number % LIFE == 0:
            if life is not None:
                life.end()
            place = folder / f"life{number // LIFE}"
            place.mkdir()
            encrypted = (number // LIFE) % 4 == 3
            life = Life(place / "memory.db", "one" if encrypted else None, chance, outcome)
        kind = kinds[number] if kinds else chance.choices(list(KINDS), list(KINDS.values()))[0]
        life.play(kind, number)
        outcome.rounds += 1
        outcome.by_kind[kind] += 1
        yield outcome
    if life is not None:
        life.end()


class Life:
    """One memory file and what it must hold."""

    def __init__(self, path: Path, key: str | None, chance: random.Random, outcome: Outcome) -> None:
        self._path = path
        self._chance = chance
        self._outcome = outcome
        self._expected = Expected(key=key, other_key=key)
        self._open(key).close()

    def play(self, kind: str, number: int) -> None:
        """One round."""
        expected = self._expected
        before = expected.acknowledged, len(expected.forgotten)
        expected.take(work_until_killed(kind, self._path, expected.key, number, self._chance))
        self._outcome.acknowledged += expected.acknowledged - before[0]
        self._outcome.forgotten += len(expected.forgotten) - before[1]
        if expected.opening is not None:
            self._outcome.acknowledged += self._upgraded(expected.opening)
            expected.opening = None
        self._find_key()
        with self._open(expected.key) as memory:
            self._look(memory, number)
            self._go_on(memory)
            self._look_at_bytes()
        self._sound(self._path, expected.key)
        self._outcome.broken += [f"round {number}, {kind}: {fault}" for fault in expected.faults]
        expected.faults.clear()

    def end(self) -> None:
        """Search for everything once more."""
        with self._open(self._expected.key) as memory:
            self._search(memory, list(self._expected.stored))

    def _open(self, key: str | None) -> Memory:
        return Memory(self._path, HashEmbedder(DIMENSION), key=key)

    def _find_key(self) -> None:
        """After a kill a file has its old key or its new one."""
        expected = self._expected
        for key in (expected.key, expected.other_key):
            try:
                self._open(key).close()
            except StoreEncrypted:
                continue
            expected.key = expected.other_key = key
            return
        raise AssertionError("neither the old key nor the new one opens the file")

    def _look(self, memory: Memory, number: int) -> None:
        expected, outcome = self._expected, self._outcome
        texts = Counter(m.text for session in memory.sessions() for m in memory.messages(session.id))
        for text in expected.stored:
            if texts[text] != 1 and not (text in expected.uncertain and not texts[text]):
                outcome.lost.append(f"round {number}: there {texts[text]} times: {text}")
        outcome.returned += [f"round {number}: is back: {text}" for text in expected.forgotten if texts[text]]
        there = [text for text in expected.stored if texts[text]]
        new = [text for text in there if not expected.stored[text]]
        self._search(memory, new + self._chance.sample(there, min(AGAIN, len(there))))
        for text in self._chance.sample(sorted(expected.forgotten), min(AGAIN, len(expected.forgotten))):
            hits = [hit for hit in memory.search(mark(text), 3) if mark(text) in hit.message.text]
            outcome.returned += [f"round {number}: is found: {text}" for _ in hits]
        there_now = {session.id for session in memory.sessions()}
        for layer, session_id in expected.built:
            if session_id in there_now and memory.builder(None).missing(Layer(layer), session_id):
                outcome.broken.append(f"round {number}: {layer} of session {session_id} are not built")

    def _search(self, memory: Memory, texts: list[str]) -> None:
        for text in texts:
            found = [hit.message.text for hit in memory.search(mark(text), 3)]
            self._expected.stored[text] = True
            if text not in found:
                self._outcome.lost.append(f"not found: {text}")

    def _go_on(self, memory: Memory) -> None:
        """What was broken off is done to its end."""
        expected, outcome = self._expected, self._outcome
        if expected.importing is not None:
            import_files([expected.importing], "auto", memory.add)
            lines = [json.loads(line)["text"] for line in expected.importing.open(encoding="utf-8")]
            texts = Counter(m.text for session in memory.sessions() for m in memory.messages(session.id))
            outcome.broken += [f"import did not go on: {text}" for text in lines if texts[text] != 1]
            expected.stored = dict.fromkeys(lines, False) | expected.stored
            expected.importing.unlink()
            expected.importing = None
        for text in sorted(expected.uncertain):
            receipt = memory.forget(memory.select(matching=mark(text)), prove=True)
            if not receipt.clean:
                outcome.broken.append(f"forgetting did not go on: {text}")
            expected.stored.pop(text, None)
            expected.forgotten.add(text)
        expected.uncertain.clear()
        memory.wait_embedded()
        if memory.pending():
            outcome.broken.append(f"{memory.pending()} pieces of work wait for ever")

    def _look_at_bytes(self) -> None:
        """No byte of what was forgotten is in the file or beside it."""
        content = b"".join(file.read_bytes() for file in self._path.parent.glob(".*") if file.is_file())
        for end in ("", *SIDE_FILES):
            file = self._path.with_name(self._path.name + end)
            if file.exists():
                content += read_beside(file)
        for text in self._expected.forgotten:
            if mark(text).encode() in content:
                self._outcome.returned.append(f"its bytes are there: {text}")

    def _sound(self, path: Path, key: str | None) -> None:
        problems = check(path, key).problems
        self._outcome.broken += [f"{path.name}: {problem.what}" for problem in problems]

    def _upgraded(self, path: Path) -> int:
        """An older file is whole, old or new or in between, and is brought up to date; messages in it."""
        told = json.loads(HISTORY.read_text("utf-8"))
        texts = [line["text"] for line in told["imported"]] + told["chat"]
        connection = apsw.Connection(str(path))
        applied = [name for (name,) in connection.execute("SELECT name FROM migration ORDER BY rowid")]
        connection.close()
        if applied != [step.__name__ for step in migrations.MIGRATIONS[: len(applied)]]:
            self._outcome.broken.append(f"{path.name} has the steps {applied}")
        with Memory(path, HashEmbedder(DIMENSION)) as memory:
            memory.wait_embedded()
            stored = [m.text for session in memory.sessions() for m in memory.messages(session.id)]
            found = [text for text in texts if text in [hit.message.text for hit in memory.search(text, 3)]]
        self._outcome.lost += [f"{path.name}: {text!r}" for text in texts if stored.count(text) != 1]
        self._outcome.lost += [
            f"{path.name}, not found: {text!r}" for text in texts if text and text not in found
        ]
        self._sound(path, None)
        path.unlink()
        return len(texts)


def read_beside(file: Path) -> bytes:
    """A file's bytes, by another process: here, closing it would let go of SQLite's locks on it."""
    script = "import sys, pathlib; sys.stdout.buffer.write(pathlib.Path(sys.argv[1]).read_bytes())"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, str(file)], stdout=subprocess.PIPE, check=True
    )
    return done.stdout


def work_until_killed(
    kind: str, path: Path, key: str | None, number: int, chance: random.Random
) -> list[dict[str, Any]]:
    """What a worker acknowledged until it was killed, at a moment between two facts or on one."""
    command = [sys.executable, "-P", str(WORKER), kind, str(path), key or "", str(number)]
    with (
        tempfile.TemporaryFile() as remarks,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=remarks) as worker,
    ):
        assert worker.stdout is not None
        lines = [worker.stdout.readline()]
        started = time.monotonic()
        facts = chance.randint(0, FACTS[kind])
        lines += [worker.stdout.readline() for _ in range(facts)]
        pause = (time.monotonic() - started) / facts if facts else 0.1
        time.sleep(chance.uniform(0, 2 * pause))
        worker.kill()
        lines += worker.stdout.readlines()
        if worker.wait() != -signal.SIGKILL:
            remarks.seek(0)
            raise AssertionError(f"the worker ended by itself: {remarks.read().decode()}")
    return [json.loads(line) for line in lines if line.endswith(b"\n")]
