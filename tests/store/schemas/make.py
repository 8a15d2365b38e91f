"""Writes ``history.json`` into a memory file with the localmem that Python finds: ``make.py NAME``.

Makes ``NAME.db.gz`` beside it. Before a release that has new migrations, run it once with the code of that
release, with the name of its last migration, and keep the file: it is what people will have. It has been run
with three releases, so what a release does not have (layers) is passed over.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from datetime import datetime
from itertools import groupby
from pathlib import Path

from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.models.scripted import ScriptedModel
from localmem.types import NewMessage, NewSession, Role

HERE = Path(__file__).parent
DIMENSION = 128


def write(path: Path) -> None:
    history = json.loads((HERE / "history.json").read_text("utf-8"))
    with Memory(path, HashEmbedder(DIMENSION)) as memory:
        for (source, name), lines in groupby(
            history["imported"], lambda line: (line["source"], line["session"])
        ):
            messages = tuple(
                NewMessage(
                    Role(line["role"]),
                    line["text"],
                    line["speaker"],
                    datetime.fromisoformat(line["at"]),
                    line["id"],
                )
                for line in lines
            )
            memory.add(NewSession(source, name, messages, f"About {name}"))
        model = ScriptedModel(history["chat"][1::2])
        for said in history["chat"][::2]:
            for _ in memory.chat(said, model=model):
                pass
        memory.wait_embedded()
        for _ in memory.answer(history["question"], model=None):
            pass
        if hasattr(memory, "builder"):
            build_layers(memory)


def build_layers(memory: Memory) -> None:
    from localmem.entries import Layer

    for layer in (Layer.FACTS, Layer.NOTES):
        for _ in memory.builder(None).build(layer):
            pass


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "memory.db"
        write(made)
        (HERE / f"{sys.argv[1]}.db.gz").write_bytes(gzip.compress(made.read_bytes(), 9, mtime=0))
