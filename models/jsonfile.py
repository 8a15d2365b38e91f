"""Small JSON files that people may edit: read with a clear error, written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from localmem.models.errors import BadInput


def read_json(path: Path) -> dict[str, Any]:
    """The object in ``path``, empty when there is no file; raises :class:`BadInput`."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise BadInput(f"{path} is not JSON ({error}). Correct it or remove it.") from error
    if not isinstance(value, dict):
        raise BadInput(f"{path} does not hold a JSON object. Correct it or remove it.")
    return value


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write ``value``; a reader sees the old file or the new one."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(path)
