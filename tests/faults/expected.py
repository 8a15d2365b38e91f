"""What a memory must hold after all that was acknowledged, and what it must not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class Expected:
    """Of one memory file."""

    stored: dict[str, bool] = field(default_factory=dict)
    """Text of a message that was acknowledged -> whether it was searched for since it was stored."""
    uncertain: set[str] = field(default_factory=set)
    """Texts whose forgetting was begun and not acknowledged: both is right."""
    forgotten: set[str] = field(default_factory=set)
    """Texts whose forgetting was acknowledged."""
    built: set[tuple[str, int]] = field(default_factory=set)
    """(layer, session) that was acknowledged as built."""
    importing: Path | None = None
    """The file whose import was broken off."""
    opening: Path | None = None
    """The older file whose upgrade was broken off."""
    key: str | None = None
    other_key: str | None = None
    """The key that the file may have instead."""
    acknowledged: int = 0
    """Messages, counted on."""
    faults: list[str] = field(default_factory=list)
    """What the worker itself found wrong."""

    def take(self, facts: Iterable[Mapping[str, Any]]) -> None:
        """What a worker told, in order."""
        for fact in facts:
            match fact:
                case {"stored": texts}:
                    self.stored |= dict.fromkeys(texts, False)
                    self.acknowledged += len(texts)
                case {"forgetting": texts}:
                    self.uncertain |= set(texts)
                case {"forgotten": texts, "clean": clean}:
                    self.uncertain -= set(texts)
                    self.forgotten |= set(texts)
                    for text in texts:
                        self.stored.pop(text, None)
                    if not clean:
                        self.faults.append(f"a proof found what was forgotten: {texts}")
                case {"built": [layer, session_id]}:
                    self.built.add((layer, session_id))
                case {"importing": path}:
                    self.importing = Path(path)
                case {"opening": path}:
                    self.opening = Path(path)
                case {"opened": path}:
                    self.opening = None
                    Path(path).unlink()
                case {"rekeying": key}:
                    self.other_key = key
                case {"key": key}:
                    self.key = self.other_key = key


def mark(text: str) -> str:
    """The word that only this text has."""
    return text.rsplit(" ", 1)[1].rstrip(".")
