"""What the first pull learnt of files whose hash the catalogue does not know.

``pulled.json`` in the model's folder holds the commit that was fetched and, for each file, size and
sha256. The catalogue's own figures, where it has them, come first.
"""

from __future__ import annotations

from pathlib import Path

from localmem.models.catalog import CatalogEntry, ModelFile
from localmem.models.jsonfile import read_json, write_json

RECORD = "pulled.json"


def pinned(entry: CatalogEntry, folder: Path) -> CatalogEntry:
    """``entry`` with the sizes and hashes that the record in ``folder`` adds.

    A file that neither knows keeps None: it was never pulled.
    """
    if all(file.sha256 and file.size for file in entry.file):
        return entry
    known = read_json(folder / RECORD).get("files", {})

    def fill(file: ModelFile) -> ModelFile:
        seen = known.get(file.name, {})
        update = {"sha256": file.sha256 or seen.get("sha256"), "size": file.size or seen.get("size")}
        return file.model_copy(update=update)

    return entry.model_copy(update={"file": tuple(map(fill, entry.file))})


def add(folder: Path, file: ModelFile, commit: str) -> None:
    """Record that ``file``, whose size and sha256 are known by now, is here from ``commit``."""
    record = read_json(folder / RECORD)
    record["commit"] = commit
    record.setdefault("files", {})[file.name] = {"sha256": file.sha256, "size": file.size}
    write_json(folder / RECORD, record)
