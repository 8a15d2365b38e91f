"""Opening a session at a layer: its pieces, the most relevant ones first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence

from localmem.disclosure.evidence import Piece
from localmem.entries import Entry, Layer, Summary
from localmem.errors import ModelError
from localmem.layers.builder import LayerBuilder
from localmem.models.protocols import ChatModel
from localmem.steps import Level
from localmem.store import Database, SessionStore
from localmem.store.layers import LayerStore
from localmem.types import Ledger, Message, Origin

TURNS = 4
"""Turns that are read word by word when nobody says which."""


class Reader:
    """Reads layers for one question; L1 and L2 are made now if they were not there yet."""

    def __init__(
        self,
        database: Database,
        relevance: Callable[[int], float],
        ledger: Ledger,
        summariser: ChatModel | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        """``relevance`` scores a message for the question; without ``summariser`` rules make the layers."""
        self._database = database
        self._layers = LayerStore(database)
        self._sessions = SessionStore(database)
        self._score = relevance
        self._ledger = ledger
        self._summariser = summariser
        self._cancel = cancel

    def summaries(self, session_id: int, turns: Sequence[int]) -> list[Piece]:
        """The summaries of some turns; one that was not made is left out."""
        pieces = []
        for turn in turns:
            for entry in self._layers.entries(Layer.SUMMARY, session_id, turn):
                if isinstance(entry.content, Summary) and entry.content.text:
                    pieces.append(Piece(session_id, Level.SUMMARY, entry.content.text, (), turn))
        return pieces

    def bullets(self, session_id: int, level: Level) -> list[Piece]:
        """A session's facts or notes, most relevant first."""
        pieces = [
            Piece(session_id, level, bullet.text, bullet.messages, entry.scope.turn, entry.id)
            for entry in self._entries(session_id, Layer(level))
            if not isinstance(entry.content, Summary)
            for bullet in entry.content
        ]
        return sorted(pieces, key=lambda piece: -self.relevance(piece.messages))

    def raw(
        self, session_id: int, turns: Sequence[int] = (), most: int = TURNS, known: Collection[int] = ()
    ) -> list[Piece]:
        """The messages of some turns, else of the most relevant; most relevant first.

        At most ``most`` turns, and none of those that are ``known``.
        """
        said = [m for m in self._sessions.messages(session_id) if m.origin is Origin.SAID]
        messages = [message for message in said if message.turn not in known]
        best: dict[int, float] = {}
        for message in messages:
            worth = self.relevance((message.id,))
            best[message.turn] = max(worth, best.get(message.turn, worth))
        wanted = [turn for turn in turns if turn in best] if turns else sorted(best, key=lambda t: -best[t])
        kept = wanted[: max(most, 0)]
        chosen = [message for message in messages if message.turn in kept]
        chosen.sort(key=lambda message: -self.relevance((message.id,)))
        return [self._said(message) for message in chosen]

    def raw_again(self, ids: Sequence[int]) -> list[Piece]:
        """Messages that were read before, as far as they are still there."""
        return [self._said(message) for message in self._sessions.messages_by_id(ids).values()]

    def relevance(self, ids: Sequence[int]) -> float:
        """The best score of some messages."""
        return max((self._score(i) for i in ids), default=float("-inf"))

    def _entries(self, session_id: int, layer: Layer) -> list[Entry]:
        model = self._summariser
        try:
            return LayerBuilder(self._database, model).read(layer, session_id, self._cancel)
        except ModelError as error:
            self._ledger.fallbacks.append(f"summariser: {error}")
        return LayerBuilder(self._database, None).read(layer, session_id)

    def _said(self, message: Message) -> Piece:
        text = "\n".join(filter(None, (message.text, message.attachments)))
        return Piece(message.session_id, Level.RAW, text, (message.id,), message.turn)
