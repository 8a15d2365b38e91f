"""The log of a run: a JSON line about the run, then one for each store and each question, as they end."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class Log:
    """A run as its log has it."""

    path: Path
    run: Line
    """What was run: benchmark, arm, label, hashes, models, limits."""
    stores: tuple[Line, ...] = ()
    """One for each conversation: what making its store cost."""
    lines: dict[str, Line] = field(default_factory=dict)
    """Results by question id."""
    calibration: Line | None = None
    """Of the judge."""

    @property
    def label(self) -> str:
        """What tables call it."""
        return str(self.run["label"])


def read_log(path: Path) -> Log:
    """The log in a file. A last line that a crash cut short is left out.

    Raises :class:`BadInput` when the file is no log of a run.
    """
    try:
        text = path.read_text(encoding="utf-8")
        first, *rest = [json.loads(line) for line in text.rpartition("\n")[0].splitlines()]
        run = first["run"]
        lines = {line["id"]: line for line in rest if "id" in line}
        stores = {line["store"]["source"]: line["store"] for line in rest if "store" in line}
        calibrations = [line["calibration"] for line in rest if "calibration" in line]
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path} is no log of `localmem eval run` ({error!r}).") from error
    return Log(path, run, tuple(stores.values()), lines, calibrations[-1] if calibrations else None)


def read_logs(path: Path) -> list[Log]:
    """The log in a file, or all in a folder by label. Raises :class:`BadInput` when there is none."""
    if not path.exists():
        raise BadInput(f"There is no {path}. A run is kept with: localmem eval run ... --out {path}")
    if path.is_file():
        return [read_log(path)]
    logs = [read_log(file) for file in sorted(path.glob("*.jsonl")) if file.name != LABELS]
    if not logs:
        raise BadInput(f"{path} holds no log. A run is kept with: localmem eval run ... --out {path}")
    return sorted(logs, key=lambda log: log.label)


LABELS = "labels.jsonl"
"""What people said of answers, in the same folder (:mod:`localmem.evals.labelling`)."""


class RunLog:
    """A log under way. With a folder it is kept there under the run's label, and a run goes on from it.

    Raises :class:`BadInput` when the file is the log of another run: other data, arm or settings.
    """

    def __init__(self, folder: Path | None, run: Line) -> None:
        self.run = run
        self.lines: dict[str, Line] = {}
        self.stores: dict[str, Line] = {}
        self.calibration: Line | None = None
        self._path = folder / f"{run['label']}.jsonl" if folder else None
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if not self._path.exists() or b"\n" not in self._path.read_bytes():
            self._path.write_text("", encoding="utf-8")
            self._append({"run": run})
            return
        _drop_cut_line(self._path)
        known = read_log(self._path)
        if known.run != run:
            changed = sorted(key for key in {*run, *known.run} if known.run.get(key) != run.get(key))
            raise BadInput(
                f"{self._path} is the log of another run ({', '.join(changed)} differ). "
                "Give another --out, or remove it."
            )
        self.lines = dict(known.lines)
        self.stores = {store["source"]: store for store in known.stores}
        self.calibration = known.calibration

    def add(self, result: Line) -> None:
        """Keep the result of a question; it has an ``id``."""
        self.lines[result["id"]] = result
        self._append(result)

    def add_store(self, store: Line) -> None:
        """Keep what making a conversation's store cost, once."""
        if store["source"] not in self.stores:
            self.stores[store["source"]] = store
            self._append({"store": store})

    def add_calibration(self, calibration: Line) -> None:
        """Keep how far the judge can be relied on."""
        self.calibration = calibration
        self._append({"calibration": calibration})

    def finished(self) -> Log:
        """What it holds, by question id."""
        lines = {identity: self.lines[identity] for identity in sorted(self.lines)}
        path = Path(f"{self.run['label']}.jsonl") if self._path is None else self._path
        return Log(path, self.run, tuple(self.stores.values()), lines, self.calibration)

    def _append(self, line: Line) -> None:
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def merge(logs: Sequence[Log], folder: Path, calibration: Line | None = None) -> Log:
    """One log in ``folder`` of the shards of a run, by question id, with the judge's ``calibration``.

    Raises :class:`BadInput` for logs of different runs, a shard that is missing or given twice, or a log
    that is there already.
    """
    shards = [log.run["shard"] for log in logs]
    whole = {key: value for key, value in logs[0].run.items() if key not in _OF_A_SHARD}
    for log in logs[1:]:
        if changed := sorted(key for key in whole if log.run.get(key) != whole[key]):
            raise BadInput(f"{log.path} is the log of another run ({', '.join(changed)} differ).")
    parts = shards[0][1] if shards[0] else 1
    if sorted(map(tuple, filter(None, shards))) != [(part, parts) for part in range(1, parts + 1)]:
        told = ", ".join("no shard" if shard is None else f"{shard[0]}/{shard[1]}" for shard in shards)
        raise BadInput(f"These are not all shards of a run, each once: {told}.")
    target = folder / f"{whole['arm_label']}.jsonl"
    if target.exists():
        raise BadInput(f"{target} is there already. Give another --out, or remove it.")
    merged = RunLog(folder, {**whole, "shard": None, "label": whole["arm_label"]})
    for log in logs:
        for store in log.stores:
            merged.add_store(store)
    lines = {identity: line for log in logs for identity, line in log.lines.items()}
    for identity in sorted(lines):
        merged.add(lines[identity])
    if calibration is not None:
        merged.add_calibration(calibration)
    return read_log(target)


_OF_A_SHARD = frozenset({"shard", "label"})


def _drop_cut_line(path: Path) -> None:
    """A line cut short by a crash goes: its question is asked again."""
    text = path.read_bytes()
    whole = text.rpartition(b"\n")[0] + b"\n"
    if len(whole) < len(text):
        path.write_bytes(whole)
