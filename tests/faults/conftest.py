"""A small history, the command line over it, and a disk that can be filled or made read-only."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from localmem.cli import main
from localmem.importers.run import import_files
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.privacy.check import check

Run = Callable[..., tuple[int, str, str]]
Told = list[str]


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty messages in six sessions, as a file to import."""
    path = tmp_path_factory.mktemp("history") / "history.jsonl"
    lines = [
        {
            "session": f"s{n % 6}",
            "role": "user",
            "text": f"I saw bird number{n} by the lake." + " It sang again." * 25,
            "at": f"2026-03-{1 + n % 28:02}",
        }
        for n in range(60)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, history: Path) -> Path:
    """A memory of that history, to be copied."""
    path = tmp_path_factory.mktemp("made") / "memory.db"
    with Memory(path, HashEmbedder()) as memory:
        import_files([history], "auto", memory.add)
        memory.wait_embedded()
    return path


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command on a file, with the embedder that needs no weights; never a traceback."""
    home = tmp_path / "home"

    def run_one(path: Path, *arguments: str, home: Path = home) -> tuple[int, str, str]:
        code = main(["--db", str(path), "--home", str(home), *arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out, captured.err

    assert run_one(tmp_path / "none.db", "models", "use", "embedder", "hash")[0] == 0
    return run_one


@pytest.fixture
def store(tmp_path: Path, made: Path) -> Path:
    """A memory of that history, alone in a folder."""
    folder = tmp_path / "store"
    folder.mkdir()
    return shutil.copy(made, folder / "memory.db")


@pytest.fixture
def told() -> Callable[[Path], Told]:
    """What a file holds, after it was found to be sound."""

    def read(path: Path) -> Told:
        assert check(path, None).problems == ()
        with Memory(path, HashEmbedder()) as memory:
            memory.wait_embedded()
            texts = [m.text for session in memory.sessions() for m in memory.messages(session.id)]
            for text in texts[:5] + texts[-5:]:
                assert text in [hit.message.text for hit in memory.search(text, 3)]
            return texts

    return read


class SmallDisk:
    """A file system of a few megabytes in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self, leave: int = 0) -> None:
        """Leave so many bytes free."""
        free = os.statvfs(self.folder)
        # Somebody else may take a part of it meanwhile.
        with suppress(OSError), (self.folder / "filler").open("wb", buffering=0) as filler:
            for _ in range(0, free.f_bavail * free.f_frsize - leave, 4096):
                filler.write(bytes(4096))

    def make_room(self) -> None:
        (self.folder / "filler").unlink()

    def grow(self) -> None:
        subprocess.run(["mount", "-o", "remount,size=20m", str(self.folder)], check=True)

    def make_read_only(self) -> None:
        subprocess.run(["mount", "-o", "remount,ro", str(self.folder)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=6m", "none", str(folder)], capture_output=True, timeout=20
        )
    except FileNotFoundError:
        pytest.skip("there is no mount command here")
    if mounted.returncode:
        pytest.skip("needs the right to mount a small disk")
    yield SmallDisk(folder)
    subprocess.run(["umount", "-l", str(folder)], check=True, timeout=20)
