"""Import a large made-up ChatGPT export by the command line and print what it took.

    python tests/importers/big_export.py --megabytes 200 [--home DIR]

Prints messages, seconds and messages/s until all is found by its words, the peak memory of the process until
then in MB, and whether a message is found after the import was interrupted at its vectors. With ``--home``
the embedder of that home is used (its memory is then in the number), else the one without weights.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WORDS = (
    "river train garden paper ladder winter market letter bridge copper window ticket mountain kettle".split()
)
TURNS = 12
"""Exchanges in a conversation; every fourth reply was asked for anew."""


def conversation(rng: random.Random, number: int) -> dict[str, Any]:
    """One conversation as the export has it; the first message names its number."""

    def identity() -> str:
        return str(uuid.UUID(int=rng.getrandbits(128)))

    def node(parent: str | None, role: str | None, text: str = "") -> str:
        key = identity()
        content = {"content_type": "text", "parts": [text]}
        message = role and {
            "id": key,
            "author": {"role": role, "name": None, "metadata": {}},
            "create_time": 1.7e9 + 100_000 * number + len(mapping),
            "content": content,
            "status": "finished_successfully",
            "weight": 1.0,
            "metadata": {"model_slug": "m", "request_id": identity()},
            "recipient": "all",
        }
        mapping[key] = {"id": key, "message": message, "parent": parent, "children": []}
        return key

    def words(count: int) -> str:
        return " ".join(f"{rng.choice(WORDS)}{rng.randrange(500)}" for _ in range(count))

    mapping: dict[str, Any] = {}
    end = node(None, None)
    for turn in range(TURNS):
        asked = node(end, "user", f"{'conversation' + str(number) if turn == 0 else ''} {words(25)}")
        if turn % 4 == 0:
            node(asked, "assistant", words(90))
        end = node(asked, "assistant", words(90))
    return {
        "title": words(4),
        "create_time": 1.7e9 + 100_000 * number,
        "update_time": None,
        "mapping": mapping,
        "current_node": end,
        "conversation_id": identity(),
    }


def write_export(path: Path, size: int) -> int:
    """Write an export of about ``size`` bytes; return how many conversations it has."""
    rng = random.Random(0)
    number = 0
    with path.open("w") as file:
        while file.tell() < size:
            file.write(("[" if number == 0 else ",\n") + json.dumps(conversation(rng, number)))
            number += 1
        file.write("]")
    return number


def measured(export: Path, folder: Path, home: Path | None) -> Iterator[tuple[str, Any]]:
    """Import ``export`` into a new memory in ``folder``, yielding names and values."""
    command = [
        sys.executable,
        "-m",
        "localmem",
        "--db",
        str(folder / "big.db"),
        "--home",
        str(home or folder),
    ]
    if home is None:
        subprocess.run([*command, "models", "use", "embedder", "hash"], check=True, capture_output=True)
    started = time.monotonic()
    process = subprocess.Popen([*command, "import", str(export), "--json"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    lines = []
    while not lines or lines[-1] != b"}\n":  # the report is printed when all is stored
        lines.append(process.stdout.readline())
    seconds = time.monotonic() - started
    status = Path(f"/proc/{process.pid}/status").read_text()
    process.send_signal(signal.SIGINT)
    process.wait(600)
    report = json.loads(b"".join(lines))
    yield "megabytes", round(export.stat().st_size / 1e6)
    yield "report", report
    yield "seconds", round(seconds, 1)
    yield "messages_per_second", round(report["messages"] / seconds)
    yield "peak_mb", round(int(status.split("VmHWM:")[1].split()[0]) / 1000)
    yield "exit_after_interrupt", process.returncode
    yield "memory_file_mb", round((folder / "big.db").stat().st_size / 1e6)
    last = f"conversation{report['conversations'] - 1}"
    started = time.monotonic()
    found = subprocess.run([*command, "search", last, "-k", "1", "--json"], check=True, capture_output=True)
    yield "found", last in json.loads(found.stdout)[0]["text"]
    yield "search_process_seconds", round(time.monotonic() - started, 1)


def main() -> None:
    """Generate, import, print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--home", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        export = Path(name) / "conversations.json"
        write_export(export, arguments.megabytes * 1_000_000)
        print(json.dumps(dict(measured(export, Path(name), arguments.home)), indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
