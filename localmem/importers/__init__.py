"""Bring histories in: LoCoMo, LongMemEval and JSONL, told apart by structure, read as a stream."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from localmem.errors import BadInput, ImportFailed
from localmem.importers.base import Importer, ImportReport
from localmem.importers.json_stream import check_utf8, reading
from localmem.importers.jsonl import Jsonl
from localmem.importers.locomo import LoCoMo
from localmem.importers.longmemeval import LongMemEval
from localmem.types import NewSession

__all__ = ["FORMATS", "ImportReport", "Importer", "detect", "expand", "read_sessions"]

_IMPORTERS: tuple[Importer, ...] = (LoCoMo(), LongMemEval(), Jsonl())
FORMATS: dict[str, Importer] = {importer.name: importer for importer in _IMPORTERS}
"""Importers by the name that ``--format`` takes, in the order in which they are tried."""


def detect(path: Path) -> Importer:
    """Return the importer whose structure the file has; its name plays no part.

    Raises :class:`ImportFailed` when it is none, listing what was looked for.
    """
    for importer in FORMATS.values():
        if importer.matches(path):
            return importer
    with reading(path) as file:
        if not file.read(1):
            raise ImportFailed(f"{path}: the file is empty.")
    check_utf8(path)
    wanted = "; ".join(f"{importer.name}: {importer.looks_for}" for importer in FORMATS.values())
    raise ImportFailed(f"{path}: no known format. Looked for {wanted}.")


def read_sessions(path: Path, format: str = "auto", *, skipped: Counter[str]) -> Iterator[NewSession]:
    """Read the sessions of one file, and count in ``skipped`` what is passed over, by reason.

    ``format`` is ``auto`` or a name in ``FORMATS``; another one is :class:`BadInput`. Raises
    :class:`ImportFailed` when the file has no known format, at the place where it breaks (sessions before
    it have been yielded by then), and at the end when no message came. A session whose messages are not
    together in the file is yielded in parts, all with the same ``source`` and ``external_id``.
    """
    if format != "auto" and format not in FORMATS:
        raise BadInput(f"There is no format {format!r}. Formats: auto, {', '.join(FORMATS)}.")
    importer = detect(path) if format == "auto" else FORMATS[format]
    return _not_empty(importer.read(path, skipped), path)


def _not_empty(sessions: Iterator[NewSession], path: Path) -> Iterator[NewSession]:
    empty = True
    for session in sessions:
        empty = False
        yield session
    if empty:
        raise ImportFailed(f"{path}: there is no message in it to take in.")


def expand(paths: Iterable[Path]) -> list[Path]:
    """List the files that ``paths`` name: files as given, folders as all files below them, sorted.

    Files of no known format are in the list too: reading one fails with the reason, so that nothing is
    dropped in silence. Raises :class:`ImportFailed` for a path that does not exist and for a folder
    without files.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = _files_below(path)
            if not inside:
                raise ImportFailed(f"{path}: there is no file in this folder.")
            files += inside
        elif path.exists():
            files.append(path)
        else:
            raise ImportFailed(f"{path}: no such file or folder.")
    return list(dict.fromkeys(files))


def _files_below(folder: Path) -> list[Path]:
    def refuse(error: OSError) -> None:
        raise ImportFailed(f"{error.filename}: cannot be read: {error.strerror}.") from error

    # Not rglob: it passes over folders that may not be opened without a word.
    found = [Path(base, name) for base, _, names in os.walk(folder, onerror=refuse) for name in names]
    return sorted(path for path in found if path.is_file())
