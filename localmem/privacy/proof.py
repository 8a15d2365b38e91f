"""The proof of a forgetting: a search for its bytes, in the store, beside it, and in the home.

What others said too is no trace of what was forgotten: a sentence that a message which stays also has, or a
word that stands in what stays, is not looked for. The text that was to be forgotten always is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw

from localmem.entries import Grade, Layer
from localmem.privacy.finder import Finder, blocks_in, blocks_of
from localmem.privacy.needles import Kind, Needle, vector_hash
from localmem.store import Database, migrations
from localmem.store.columns import text_from_column
from localmem.store.connection import SIDE_FILES
from localmem.types import Origin, Role

_SHOWN = 100  # hits that are told one by one


@dataclass(frozen=True, slots=True)
class Found:
    """A needle that is still there."""

    kind: Kind
    place: str
    """Path of the file."""
    offset: int
    """Of its first byte in the file; in decrypted pages, if the file is encrypted."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What was looked for, where, and what was found."""

    needles: dict[Kind, int]
    """How many of each kind."""
    scanned: dict[str, int]
    """Path -> bytes."""
    hits: tuple[Found, ...]
    """In the store, its side files and the home. At most the first hundred."""
    elsewhere: tuple[str, ...]
    """Other files whose name begins with the store's, in which something was found."""
    decrypted: bool
    """The store is encrypted: its pages were searched decrypted too, since noise proves nothing."""
    own_word: bool
    """The text is a word of localmem's own, which stands in every file: rows were searched, not bytes."""


def prove(database: Database, wanted: Sequence[Needle], home: Path | None = None) -> Proof:
    """Search for what is left of needles (:func:`unexplained`) now that they were forgotten."""
    own = [needle for needle in wanted if needle.kind is Kind.TEXT and _own_word(needle)]
    sought = [needle for needle in wanted if needle not in own]
    scanned: dict[str, int] = {}
    hits = [
        Found(needle.kind, f"{database.path}: {place}", 0)
        for needle in own
        for place in _cells(database.connection(), needle)
    ]
    for path in [*_store_files(database.path), *_home_files(home, database.path)]:
        hits += _search(str(path), blocks_of(path), sought)
        scanned[str(path)] = path.stat().st_size
    encrypted = database.key is not None
    if encrypted:
        pages = database.connection().serialize("main")
        hits += _search(f"{database.path} (decrypted)", blocks_in(pages), sought)
        scanned[f"{database.path} (decrypted)"] = len(pages)
    beside = [str(path) for path in _beside(database.path) if _search(str(path), blocks_of(path), sought)]
    counts = {kind: sum(needle.kind is kind for needle in wanted) for kind in Kind}
    return Proof(counts, scanned, tuple(hits[:_SHOWN]), tuple(beside), encrypted, bool(own))


def _search(place: str, blocks: Iterable[bytes], needles: Sequence[Needle]) -> list[Found]:
    kinds: dict[bytes, set[Kind]] = {}
    for needle in needles:
        for form in needle.forms:
            kinds.setdefault(form, set()).add(needle.kind)
    return [
        Found(kind, place, at)
        for at, form, alone in Finder(kinds).find_in(blocks)
        for kind in kinds[form]
        if kind is not Kind.WORD or alone
    ]


def unexplained(connection: apsw.Connection, needles: Sequence[Needle]) -> list[Needle]:
    """Those that what stays does not have by right."""
    messages = "SELECT text, attachments, speaker FROM message"
    entries = "SELECT body FROM layer_entry UNION ALL SELECT text FROM pin"
    said = _explained(needles, Kind.SENTENCE, _texts(connection, messages))
    made = _explained(
        needles, Kind.DERIVED, (t for query in (messages, entries) for t in _texts(connection, query))
    )
    others = (
        messages,
        entries,
        "SELECT title, system, source, external_id, tags FROM session",
        "SELECT external_id, parent FROM message",
        "SELECT question FROM trace",
        "SELECT name FROM embedding_model",
        "SELECT sql FROM sqlite_schema",
        "SELECT name FROM migration UNION ALL SELECT name FROM counter UNION ALL SELECT key FROM setting",
        "SELECT value FROM setting",
    )
    told = _explained(needles, Kind.WORD, (t for query in others for t in _texts(connection, query)))
    by_right = {Kind.SENTENCE: said, Kind.DERIVED: made, Kind.WORD: told, Kind.TEXT: set[str]()}
    if any(needle.kind is Kind.VECTOR for needle in needles):
        stays = {vector_hash(one) for (one,) in connection.execute("SELECT embedding FROM vector")}
        by_right[Kind.VECTOR] = stays
    return [needle for needle in needles if needle.text not in by_right[needle.kind]]


def _texts(connection: apsw.Connection, query: str) -> Iterator[bytes]:
    for row in connection.execute(query):
        for value in row:
            if value:
                yield text_from_column(value).encode("utf-8", "surrogatepass") + b"\n"


def _explained(needles: Sequence[Needle], kind: Kind, texts: Iterable[bytes]) -> set[str]:
    """The texts of those needles of a kind that stand in ``texts``."""
    of = {form: needle.text for needle in needles if needle.kind is kind for form in needle.forms}
    if not of:
        return set()
    data = b"".join(texts)
    found = Finder(of).find_in(blocks_in(data))
    return {of[form] for _, form, alone in found if alone or kind is not Kind.WORD}


def _own_word(needle: Needle) -> bool:
    """Whether an empty store holds it already, or the columns that say what a row is."""
    empty = apsw.Connection(":memory:")
    try:
        migrations.apply(empty)
        own = empty.serialize("main").lower()
    finally:
        empty.close()
    names = " ".join([*Role, *Origin, *Layer, *Grade])
    return any(form in own or form in names.encode() for form in needle.forms)


def _cells(connection: apsw.Connection, needle: Needle) -> Iterator[str]:
    """Columns that hold a text which is one of localmem's own words, in what a person or a model wrote."""
    wanted = needle.text.lower()
    for table, column in (
        ("message", "text"),
        ("message", "attachments"),
        ("message", "speaker"),
        ("message", "external_id"),
        ("session", "title"),
        ("session", "system"),
        ("session", "source"),
        ("session", "external_id"),
        ("session", "tags"),
        ("layer_entry", "body"),
        ("layer_failure", "reason"),
        ("pin", "text"),
        ("trace", "question"),
        ("bin", "body"),
    ):
        for (value,) in connection.execute(f"SELECT {column} FROM {table}"):
            if wanted in text_from_column(value).lower():
                yield f"{table}.{column}"
                break
    if (
        re.fullmatch(r"\w+", wanted)
        and connection.execute("SELECT count(*) FROM term WHERE instr(text, ?)", (wanted,)).get
    ):
        yield "term.text"


def _store_files(path: Path) -> list[Path]:
    return [one for one in (path, *(path.with_name(path.name + end) for end in SIDE_FILES)) if one.exists()]


def _beside(path: Path) -> list[Path]:
    """Files that look like copies of the store."""
    ours = set(_store_files(path))
    begins = tuple(f"{lead}{path.stem}{end}" for lead in ("", ".") for end in ".-_~ ")
    found = (one for one in path.parent.iterdir() if one.name.startswith(begins))
    return sorted(one for one in found if one.is_file() and one not in ours)


def _home_files(home: Path | None, store: Path) -> list[Path]:
    """Caches, settings and logs of the home; no models, and no other memories."""
    if home is None or not home.is_dir():
        return []
    found = []
    for folder in (home, home / "cache"):
        found += [p for p in folder.glob("*") if p.is_file() and (folder != home or p.suffix == ".json")]
    found += [path for path in (home / "cache").glob("*/**/*") if path.is_file()]
    found += [path for path in home.rglob("*.jsonl") if home / "models" not in path.parents]
    return sorted({path for path in found if not path.name.startswith(store.name)})
