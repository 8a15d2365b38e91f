"""What the home folder keeps of texts: vectors of evaluated messages, and logs of evaluations."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw

from localmem.index.pieces import pieces_of
from localmem.privacy.finder import Finder
from localmem.privacy.needles import Kind, Needle
from localmem.store import Database
from localmem.types import Message


def fingerprints(database: Database) -> list[str]:
    """Of the embedding models that the store has vectors of."""
    return [f for (f,) in database.connection().execute("SELECT fingerprint FROM embedding_model")]


def forget_vectors(home: Path, messages: Sequence[Message], models: Sequence[str]) -> int:
    """Take the vectors of messages out of the evaluation's cache; return how many there were.

    It holds no text, but a vector tells what a text was about. A key there is a hash of the embedding
    model's fingerprint, the use and the text (``localmem.evals.vectors``, a layer above; a test holds the two
    together).
    """
    path = home / "cache" / "vectors.db"
    if not path.exists():
        return 0
    texts = {piece for message in messages for piece in pieces_of(message)}
    keys = [vector_key(model, text) for model in models for text in texts]
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(10_000)
        connection.pragma("secure_delete", 1)
        known = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'vector'").get
        if not known:
            return 0
        before = connection.total_changes()
        connection.executemany("DELETE FROM vector WHERE key = ?", ((key,) for key in keys))
        gone = connection.total_changes() - before
        if gone:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.close()
    return gone


def vector_key(fingerprint: str, text: str) -> bytes:
    """The key of a document's vector."""
    return hashlib.sha256(f"{fingerprint}\0document\0{text}".encode("utf-8", "replace")).digest()


def forget_logs(home: Path, needles: Sequence[Needle]) -> int:
    """Take out of the evaluation logs below the home the lines that hold one of the needles; how many.

    A run goes on by asking the question of a missing line again.
    """
    forms = {f for needle in needles if needle.kind in (Kind.TEXT, Kind.SENTENCE) for f in needle.forms}
    finder = Finder(forms)
    gone = 0
    for path in sorted(home.rglob("*.jsonl")) if home.is_dir() else ():
        with path.open("rb") as file:
            is_log = file.readline().startswith(b'{"run":')
        if is_log:
            gone += _filter_lines(path, lambda line: next(finder.find(line.lower()), None) is None)
    return gone


def _filter_lines(path: Path, keep: Callable[[bytes], bool]) -> int:
    lines = path.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if keep(line)]
    if len(kept) < len(lines):
        # The old bytes are overwritten where they are, so that no copy stays in freed blocks.
        with path.open("r+b") as file:
            file.write(b"".join(kept).ljust(sum(map(len, lines)), b"\n"))
            file.truncate(sum(map(len, kept)))
    return len(lines) - len(kept)
