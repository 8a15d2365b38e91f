"""Where things live unless the user says otherwise."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_data_path


def default_home() -> Path:
    """Folder for models and settings (``LOCALMEM_HOME`` overrides it)."""
    return user_data_path("localmem", appauthor=False)


def default_database() -> Path:
    """The memory file (``LOCALMEM_DB`` overrides it)."""
    return default_home() / "memory.db"
