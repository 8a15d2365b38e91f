"""The evidence set V: what was opened of which session, at which layer (APDMem 3.2). It only grows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from localmem.steps import DEPTH, Level


@dataclass(frozen=True, slots=True)
class Piece:
    """One statement of a view: a turn's summary, a bullet, a message."""

    session_id: int
    level: Level
    text: str
    messages: tuple[int, ...]
    """Ids of the messages behind it; none for a summary, which only says where to look."""
    turn: int | None = None
    """Number of its turn; None for facts."""
    entry: int | None = None
    """Id of the layer's entry it is from; None for summaries and messages."""


@dataclass(frozen=True, slots=True)
class View:
    """A session at a layer, as far as it was opened."""

    session_id: int
    level: Level
    pieces: tuple[Piece, ...]


class EvidenceSet:
    """V: pieces in order of acquisition."""

    def __init__(self) -> None:
        self._pieces: dict[Piece, None] = {}
        self._levels: dict[int, Level] = {}

    def __len__(self) -> int:
        return len(self._pieces)

    def add(self, pieces: Iterable[Piece]) -> int:
        """Take pieces in; return how many were new."""
        before = len(self._pieces)
        for piece in pieces:
            self._pieces[piece] = None
            for message in piece.messages:
                known = self._levels.get(message, Level.SUMMARY)
                self._levels[message] = max(known, piece.level, key=DEPTH.index)
        return len(self._pieces) - before

    def pieces(self, level: Level | None = None, session_id: int | None = None) -> list[Piece]:
        """Those of a layer, of a session, or all."""
        return [
            piece
            for piece in self._pieces
            if level in (None, piece.level) and session_id in (None, piece.session_id)
        ]

    def views(self) -> list[View]:
        """Sessions with the layers they were opened at, in order of acquisition."""
        grouped: dict[tuple[int, Level], list[Piece]] = {}
        for piece in self._pieces:
            grouped.setdefault((piece.session_id, piece.level), []).append(piece)
        return [View(session, level, tuple(pieces)) for (session, level), pieces in grouped.items()]

    def messages(self) -> dict[int, Level]:
        """Ids of the messages behind facts, notes and raw, each with the finest layer it was read at."""
        return dict(self._levels)
