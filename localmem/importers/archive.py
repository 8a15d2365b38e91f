"""Zip archives, as chat programs hand out exports: looked through before anything is read out of them.

Nothing is ever unpacked to disk. An archive that was made to do harm is refused whole, for then nothing in
it can be trusted.
"""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

from localmem.errors import ImportFailed

MOST_BYTES = 16 << 30
"""Unpacked size of all members together."""
MOST_TIMES = 400
"""How many times its packed size a member may have unpacked. Chats reach 20, zeros 1,000."""
SMALL = 1 << 20
"""Bytes that a member may have whatever its ratio."""
MOST_MEMBERS = 200_000

_ENCRYPTED = 0x1
_SIGNATURE = b"PK\x03\x04"
_EMPTY = b"PK\x05\x06"


def is_archive(path: Path) -> bool:
    """Whether a file begins as a zip archive does, whatever its name."""
    with path.open("rb") as file:
        return file.read(4) in (_SIGNATURE, _EMPTY)


def open_archive(path: Path) -> tuple[zipfile.ZipFile, list[str]]:
    """Open an archive; return it with the names of its files, sorted. Archives in it are not opened.

    Raises :class:`ImportFailed` if it is broken, empty or encrypted, if a name leads out of the archive or
    is a link, and if it would unpack to far more than it is.
    """
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as error:
        raise ImportFailed(f"{path}: a broken zip archive: {error}. Download it again.") from error
    try:
        members = [member for member in archive.infolist() if not member.is_dir()]
        _check(path, archive.infolist())
    except BaseException:  # whatever it is, it goes on; only the archive must not stay open
        archive.close()
        raise
    if not members:
        archive.close()
        raise ImportFailed(f"{path}: there is no file in this archive.")
    return archive, sorted({member.filename for member in members})


def _check(path: Path, members: list[zipfile.ZipInfo]) -> None:
    if len(members) > MOST_MEMBERS:
        raise ImportFailed(f"{path}: {len(members)} files in one archive; at most {MOST_MEMBERS} are read.")
    for member in members:
        place = f"{path}: {member.filename!r}"
        # orig_filename is what the archive says; filename has the system's separators and no NUL.
        for name in (member.filename, member.orig_filename):
            parts = name.replace("\\", "/").split("/")
            if ".." in parts or parts[0] == "" or parts[0].endswith(":"):
                raise ImportFailed(f"{place} leads out of the archive. Nothing of it was read.")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise ImportFailed(f"{place} is a link. Nothing of the archive was read.")
        if member.flag_bits & _ENCRYPTED:
            raise ImportFailed(f"{place} is encrypted. Unpack the archive and import the folder.")
        if member.file_size > SMALL and member.file_size > MOST_TIMES * member.compress_size:
            raise ImportFailed(
                f"{place} unpacks to {member.file_size} bytes, more than {MOST_TIMES} times its packed size. "
                "Nothing of the archive was read. If you trust it, unpack it and import the folder."
            )
    # Members may share the same packed bytes, so that no single one is suspicious.
    total, packed = sum(member.file_size for member in members), path.stat().st_size
    if total > MOST_BYTES or (total > SMALL and total > MOST_TIMES * packed):
        raise ImportFailed(
            f"{path}: unpacks to {total} bytes from {packed}. Nothing of the archive was read. "
            "If you trust it, unpack it and import the folder."
        )
