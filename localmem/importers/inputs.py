"""What an import reads: files as given, those of folders, and members of zip archives, each as bytes."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Literal, cast

from localmem.errors import ImportFailed
from localmem.importers.archive import is_archive, open_archive


class Input:
    """One file to read, on disk or inside an archive. It counts what was read of it, and is opened often."""

    def __init__(self, path: Path, *, given: bool, archive: zipfile.ZipFile | None = None, name: str = ""):
        self.path = path
        self.given = given
        """Whether the person named this very file; else it was found in a folder or an archive."""
        self._archive = archive
        self._name = name
        self.size = archive.getinfo(name).file_size if archive else path.stat().st_size
        """In bytes, unpacked."""
        self.done = 0
        """How far it was read, in bytes."""

    def __str__(self) -> str:
        return f"{self.path}: {self._name}" if self._archive else str(self.path)

    @property
    def stem(self) -> str:
        """The file's name without its ending."""
        return PurePosixPath(self._name).stem if self._archive else self.path.stem

    @property
    def on_disk(self) -> bool:
        """Whether ``path`` is the file itself, and not the archive that holds it."""
        return self._archive is None

    def open(self, mode: Literal["rb"]) -> BinaryIO:
        """Open it for reading bytes."""
        raw = self._archive.open(self._name) if self._archive else self.path.open(mode)
        return cast(BinaryIO, _Counted(raw, self))


class _Counted(io.BufferedIOBase):
    """Passes reading on and notes how far it came."""

    def __init__(self, raw: IO[bytes], counted: Input) -> None:
        self._raw = raw
        self._input = counted

    def read(self, size: int | None = -1, /) -> bytes:
        return self._note(self._raw.read(-1 if size is None else size))

    def readline(self, size: int | None = -1, /) -> bytes:
        return self._note(self._raw.readline(-1 if size is None else size))

    def __next__(self) -> bytes:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        return self._raw.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        self._raw.close()
        super().close()

    def _note(self, block: bytes) -> bytes:
        self._input.done = self._raw.tell()
        return block


Source = Path | Input
"""What a reader opens: ``str(source)`` names it in error messages."""


class Inputs:
    """The files that some paths stand for: folders and archives are replaced by what is in them, sorted.

    Raises :class:`ImportFailed` for a path that does not exist, a folder or archive without files, and an
    archive that is not safe to read. A context manager, for the archives stay open.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self._archives: list[zipfile.ZipFile] = []
        try:
            self.files = list(self._expanded(paths))
        except BaseException:  # whatever it is, it goes on; only the archives must not stay open
            self.close()
            raise

    def __enter__(self) -> Inputs:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the archives."""
        for archive in self._archives:
            archive.close()

    def _expanded(self, paths: Iterable[Path]) -> Iterator[Input]:
        given = list(paths)
        for path in expand(given):
            try:
                if is_archive(path):
                    archive, names = open_archive(path)
                    self._archives.append(archive)
                    yield from (Input(path, given=False, archive=archive, name=name) for name in names)
                else:
                    yield Input(path, given=path in given)
            except OSError as error:
                raise ImportFailed(f"{path}: cannot be read: {error.strerror or error}.") from error


def expand(paths: Iterable[Path]) -> list[Path]:
    """List the files that ``paths`` name: files as given, folders as all files below them, sorted.

    Raises :class:`ImportFailed` for a path that does not exist and for a folder without files.
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
