"""Whether a file is the one that was meant."""

from __future__ import annotations

import hashlib
from pathlib import Path

from localmem.models.catalog import ModelFile


def file_sha256(path: Path) -> str:
    """Hex SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def git_sha1(path: Path) -> str:
    """Git's name for a file's content, which hubs give as the hash of a small file."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: digest).hexdigest()


def is_intact(file: ModelFile, folder: Path) -> bool:
    """Whether ``folder`` has ``file`` with its size and hash; False while they are not known."""
    path = folder / file.name
    return path.is_file() and path.stat().st_size == file.size and file_sha256(path) == file.sha256
