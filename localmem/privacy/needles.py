"""What to look for in bytes after a forgetting: every form in which a text could have been written."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import apsw

from localmem.entries import Layer
from localmem.index.tokens import MAX_TERM, terms
from localmem.privacy.selection import Selection
from localmem.store.columns import text_from_column

SENTENCE = 48
"""Characters of a sentence that are looked for: its beginning finds a copy that was cut short too."""
LEAST = 16
"""Characters of a sentence that tells something."""
WORD = 6
"""Bytes of a word. Shorter ones turn up in any megabyte of numbers by chance; that they are gone is known
from the vocabulary, out of which they were taken."""
VECTOR = 32
"""Bytes of a vector that are looked for, from where at least half of them differ."""

_ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")
_BREAK = re.compile(r"(?<=[.!?。！？])\s*|\n+")


class Kind(StrEnum):
    """What a needle is."""

    TEXT = "text"
    """The text that was to be forgotten."""
    SENTENCE = "sentence"
    """The beginning of a sentence of a message."""
    DERIVED = "derived"
    """The beginning of a sentence of what was made of it."""
    WORD = "word"
    """A word or an index term that only what is forgotten had."""
    VECTOR = "vector"
    """A part of a vector."""


@dataclass(frozen=True, slots=True)
class Needle:
    """One thing to look for."""

    kind: Kind
    text: str
    """What it looks like; of a vector, its hash."""
    forms: tuple[bytes, ...]
    """In lower case as far as ASCII goes: haystacks are searched so."""

    @classmethod
    def of(cls, kind: Kind, text: str) -> Needle:
        """All forms of a text: composed or not, in upper and lower case, in UTF-8, UTF-16 and JSON."""
        written: set[bytes] = set()
        for one in (text, text.lower(), text.upper(), text.title(), text.casefold()):
            for composed in (one, unicodedata.normalize("NFC", one), unicodedata.normalize("NFD", one)):
                written |= {composed.encode(name, "surrogatepass").lower() for name in _ENCODINGS}
                for ascii_only in (True, False):
                    escaped = json.dumps(composed, ensure_ascii=ascii_only)[1:-1]
                    written.add(escaped.encode("utf-8", "surrogatepass").lower())
        return cls(kind, text, tuple(sorted(written)))


def needles_of(connection: apsw.Connection, selection: Selection) -> list[Needle]:
    """What to look for when a selection has been forgotten; call it before that."""
    found = [Needle.of(Kind.TEXT, selection.text)] if selection.text is not None else []
    ids = json.dumps([message.id for message in selection.every])
    texts = [text for message in selection.every for text in (message.text, message.attachments)]
    texts += [session.title for session in (*selection.sessions, *selection.titles)]
    derived = _derived(connection, {message.id for message in selection.every})
    for kind, told in ((Kind.SENTENCE, texts), (Kind.DERIVED, derived)):
        sentences = {one[:SENTENCE] for text in told for one in _sentences(text)}
        found += [Needle.of(kind, sentence) for sentence in sorted(sentences)]
    vectors = connection.execute(
        "SELECT DISTINCT embedding FROM vector WHERE message_id IN (SELECT value FROM json_each(?))", (ids,)
    )
    return found + [Needle(Kind.VECTOR, vector_hash(one), (_part(one).lower(),)) for (one,) in vectors]


def words_of(selection: Selection, own_terms: Sequence[str]) -> list[Needle]:
    """The words of a selection that are long enough to look for, and their index terms.

    ``own_terms``: those that only the selection has.
    """
    own = set(own_terms)
    words = {
        word.lower()
        for message in selection.every
        for word in re.findall(r"\w+", f"{message.text} {message.attachments}")
        if own.intersection(terms(word))
    }
    long = {word[:MAX_TERM] for word in words | own if len(word.encode("utf-8", "surrogatepass")) >= WORD}
    return [Needle.of(Kind.WORD, word) for word in sorted(long)]


def _sentences(text: str) -> Iterator[str]:
    for sentence in _BREAK.split(text):
        stripped = sentence.strip()
        if len(stripped) >= LEAST and " " in stripped:
            yield stripped


def _derived(connection: apsw.Connection, ids: Collection[int]) -> list[str]:
    """What was made of some messages: summaries of their turns, what names one of them, what was pinned."""
    chosen = json.dumps(sorted(ids))
    bodies = connection.execute(
        "SELECT DISTINCT e.id, e.layer, e.body FROM layer_entry e JOIN layer_source s ON s.entry_id = e.id "
        "WHERE s.message_id IN (SELECT value FROM json_each(?))",
        (chosen,),
    )
    pins = connection.execute(
        "SELECT text FROM pin WHERE id IN (SELECT pin_id FROM pin_source "
        "WHERE message_id IN (SELECT value FROM json_each(?)))",
        (chosen,),
    )
    texts = [text_from_column(text) for (text,) in pins]
    for _, layer, stored in bodies:
        body = json.loads(text_from_column(stored))
        if layer == Layer.SUMMARY:
            summary, keywords, tags = body
            texts += [summary, *keywords, *tags]
        else:
            texts += [text for text, messages in body if not set(ids).isdisjoint(messages)]
    return texts


def vector_hash(vector: bytes) -> str:
    """What tells two vectors apart."""
    return hashlib.blake2b(vector, digest_size=16).hexdigest()


def _part(vector: bytes) -> bytes:
    """What of a vector is looked for: where it is dense; all of it when it is dense nowhere."""
    for start in range(0, len(vector) - VECTOR, 4):
        part = vector[start : start + VECTOR]
        if len(set(part)) >= VECTOR // 2:
            return part
    return vector
