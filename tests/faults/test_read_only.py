from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., tuple[int, str, str]]
Tell = Callable[[Path], list[str]]

NOBODY = 65534
COMMANDS = (
    ["sessions"],
    ["search", "bird"],
    ["import", "HISTORY"],
    ["forget", "--matching", "number7 ", "--yes"],
    ["backup", "NEW"],
)


@contextmanager
def without_rights() -> Iterator[None]:
    """As a user whom file modes bind."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.fixture
def home(run: Run) -> Iterator[Path]:
    """A home of whom the modes bind."""
    with tempfile.TemporaryDirectory(prefix="localmem-home-") as folder:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        with without_rights():
            assert (
                run(Path(folder) / "none.db", "models", "use", "embedder", "hash", home=Path(folder))[0] == 0
            )
        yield Path(folder)


@pytest.fixture
def theirs(store: Path) -> Iterator[Path]:
    """The store in a folder of whom the modes bind."""
    folder = Path(tempfile.mkdtemp(prefix="localmem-read-only-"))
    path = folder / "memory.db"
    shutil.copy(store, path)
    if os.geteuid() == 0:
        for one in (folder, path):
            os.chown(one, NOBODY, NOBODY)
    yield path
    folder.chmod(0o700)
    shutil.rmtree(folder)


def refused(run: Run, path: Path, command: list[str], history: Path, tmp_path: Path) -> None:
    """The command ends with 4 and a sentence, and changes nothing."""
    before = path.read_bytes()
    names = {"HISTORY": str(history), "NEW": str(tmp_path / "new.db")}
    code, out, remarks = run(path, *(names.get(word, word) for word in command))
    assert (code, out) == (4, "")
    assert "localmem: " in remarks
    assert str(path) in remarks
    assert path.read_bytes() == before


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_on_a_read_only_disk_every_command_says_so_and_what_to_do(
    disk: Any, store: Path, history: Path, tmp_path: Path, run: Run, command: list[str]
) -> None:
    path = disk.folder / "memory.db"
    shutil.copy(store, path)
    disk.make_read_only()
    refused(run, path, command, history, tmp_path)


def test_a_memory_on_a_read_only_disk_can_be_checked_and_copied(
    disk: Any, store: Path, tmp_path: Path, run: Run, told: Tell
) -> None:
    path = disk.folder / "memory.db"
    shutil.copy(store, path)
    disk.make_read_only()
    assert run(path, "check")[0] == 0
    shutil.copy(path, tmp_path / "copy.db")
    assert len(told(tmp_path / "copy.db")) == 60


def test_a_read_only_file_is_refused_with_what_to_do(theirs: Path, home: Path, run: Run, told: Tell) -> None:
    theirs.chmod(0o400)
    with without_rights():
        before = theirs.read_bytes()
        code, _, remarks = run(theirs, "sessions", home=home)
        assert code == 4
        assert "read-only" in remarks
        assert "copy it" in remarks
        assert theirs.read_bytes() == before
    theirs.chmod(0o600)
    assert len(told(theirs)) == 60


def test_a_folder_in_which_no_file_can_be_made_is_refused_with_the_reason(
    theirs: Path, home: Path, run: Run, told: Tell
) -> None:
    theirs.parent.chmod(0o500)
    with without_rights():
        before = theirs.read_bytes()
        code, _, remarks = run(theirs, "sessions", home=home)
        assert code == 4
        assert "its folder" in remarks
        assert run(theirs, "check", home=home)[0] == 0
        assert theirs.read_bytes() == before
    theirs.parent.chmod(0o700)
    assert len(told(theirs)) == 60
