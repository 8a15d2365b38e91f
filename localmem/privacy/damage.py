"""A failure that nobody foresaw: does the damage of the memory file explain it?"""

from __future__ import annotations

from pathlib import Path

from localmem.errors import StoreDamaged
from localmem.privacy.check import REBUILD, SALVAGE, check
from localmem.store.connection import is_encrypted


def damage_of(database: Path) -> StoreDamaged | None:
    """What of the file is damaged, with its remedy; None: nothing, or it is encrypted.

    Of a damaged file impossible values come, and then anything may fail. An encrypted file needs none of
    this: each of its pages is authenticated when it is read.
    """
    if not database.is_file() or is_encrypted(database):
        return None
    for problem in check(database, None).problems:
        if problem.remedy in (SALVAGE, REBUILD):
            return StoreDamaged(f"{database}: {problem.what}. {problem.remedy}")
    return None
