"""Where things live unless the user says otherwise."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_data_path


def default_home() -> Path:
    """Folder for models and settings (``LOCALMEM_HOME`` overrides it)."""
    return user_data_path("localmem", appauthor=False)


def default_database() -> Path:
    """The memory file (``LOCALMEM_DB`` overrides it)."""
    return default_home() / "memory.db"


def chosen_home() -> Path:
    """What ``LOCALMEM_HOME`` says, else the default."""
    given = os.environ.get("LOCALMEM_HOME")
    return Path(given) if given else default_home()


def chosen_database() -> Path:
    """What ``LOCALMEM_DB`` says, else the default."""
    given = os.environ.get("LOCALMEM_DB")
    return Path(given) if given else default_database()
