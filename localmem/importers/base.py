"""The importer interface: a format is a name, a sniff by structure, and a reader.

A reader yields sessions one after the other and never holds more than one record of the file (a JSONL
session, a LoCoMo conversation, a LongMemEval history), so that a large export is read in bounded memory.
What it passes over it counts by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from localmem.types import NewSession


@dataclass(slots=True)
class ImportReport:
    """What an import found and did."""

    sources: set[str] = field(default_factory=set)
    """Names of the conversations that the files hold."""
    sessions: set[tuple[str, str]] = field(default_factory=set)
    """(source, external id) of each session that the files hold."""
    messages: int = 0
    """What the files hold, taken in before or not."""
    new_messages: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    """Reason -> how many items were passed over for it."""
    failures: list[str] = field(default_factory=list)
    """One line for each file that could not be read; nothing of it was taken in."""

    def include(self, other: ImportReport) -> None:
        """Add what another file held."""
        self.sources |= other.sources
        self.sessions |= other.sessions
        self.messages += other.messages
        self.new_messages += other.new_messages
        self.skipped += other.skipped
        self.failures += other.failures

    def as_json(self) -> dict[str, object]:
        """The fields of ``import --json``."""
        return {
            "conversations": len(self.sources),
            "sessions": len(self.sessions),
            "messages": self.messages,
            "new_messages": self.new_messages,
            "skipped": dict(self.skipped),
            "failures": self.failures,
        }


class Importer(Protocol):
    """One file format."""

    name: str
    """As given to ``--format``."""
    looks_for: str
    """The structure that ``matches`` wants, in words for the person whose file has no known format."""

    def matches(self, path: Path) -> bool:
        """Whether the file's structure (never its name) is this format's. Reads only its beginning."""
        ...

    def read(self, path: Path, skipped: Counter[str]) -> Iterator[NewSession]:
        """Yield the sessions of ``path`` in file order; count what is passed over in ``skipped``.

        Raises :class:`localmem.errors.ImportFailed` naming the place (line, record) and what was wrong.
        """
        ...
