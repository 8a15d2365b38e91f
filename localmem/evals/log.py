"""The log of a run: one JSON line about the run, then one for each question, appended as they end."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from localmem.errors import BadInput

Line = dict[str, Any]


def file_hash(path: Path) -> str:
    """``sha256:...`` of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return f"sha256:{digest.hexdigest()}"


class RunLog:
    """Results by question id. With a folder they are kept in ``run.jsonl`` there, and a run goes on.

    Raises :class:`BadInput` when the folder holds the log of another run: other data, arm or settings.
    """

    def __init__(self, folder: Path | None, run: Line) -> None:
        self.results: dict[str, Line] = {}
        self._path = folder / "run.jsonl" if folder else None
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if not self._path.exists() or not self._path.stat().st_size:
            self._append({"run": run})
            return
        text = self._path.read_text(encoding="utf-8")
        whole = text.rpartition("\n")[0]
        if len(whole) + 1 < len(text):  # a line cut short by a crash: its question is asked again
            self._path.write_text(whole + "\n", encoding="utf-8")
        first, *lines = [json.loads(line) for line in whole.splitlines()]
        if first.get("run") != run:
            changed = sorted(key for key in run if first.get("run", {}).get(key) != run[key])
            raise BadInput(
                f"{self._path} is the log of another run ({', '.join(changed)} differ). "
                "Give another --out, or remove it."
            )
        self.results = {line["id"]: line for line in lines}

    def add(self, result: Line) -> None:
        """Keep the result of a question; it has an ``id``."""
        self.results[result["id"]] = result
        if self._path is not None:
            self._append(result)

    def _append(self, line: Line) -> None:
        assert self._path is not None
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
