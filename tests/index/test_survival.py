"""kill -9 while messages are appended and segments merged: what was acknowledged is there, exactly."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from localmem.index import segments
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.store import Database

WRITER = """
import sys
from pathlib import Path
from localmem.index import reduction, segments
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.types import NewMessage, NewSession, Role

segments.SEGMENT, segments.FANOUT = 8, 2
reduction.THRESHOLD, reduction.BLOCK = 128, 16
with Memory(Path(sys.argv[1]), HashEmbedder()) as memory:
    number = int(sys.argv[2])
    while True:
        memory.add(NewSession("s", str(number), (NewMessage(Role.USER, f"acknowledged word{number}"),)))
        print(number, flush=True)
        number += 1
"""
ROUNDS = 12


def test_nothing_acknowledged_is_lost_and_the_indexes_answer_exactly(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    generator = random.Random(5)
    acknowledged = 0
    for _ in range(ROUNDS):
        command = [sys.executable, "-P", "-c", WRITER, str(path), str(acknowledged)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(generator.randint(1, 40)):
                acknowledged = int(writer.stdout.readline()) + 1
            writer.send_signal(signal.SIGKILL)
            for line in writer.stdout:  # what it had still acknowledged when it died
                acknowledged = int(line) + 1
    with Memory(path, HashEmbedder()) as memory:
        memory.wait_embedded()
        stored = memory.counts()[1]
        assert acknowledged <= stored <= acknowledged + ROUNDS
        for number in range(acknowledged):
            texts = [hit.message.text for hit in memory.search(f"word{number}", 3)]
            assert f"acknowledged word{number}" in texts
        view = memory.retrieval.view()
        assert view.known.all()
        assert len(view.columns) == stored
    database = Database(path)
    covered = [row[1:] for row in segments.spans(database.connection())]
    assert covered
    assert all(first[1] < second[0] for first, second in pairwise(covered))
    assert database.connection().execute("PRAGMA integrity_check").get == "ok"
    assert database.connection().execute("PRAGMA foreign_key_check").fetchall() == []
    database.close()
