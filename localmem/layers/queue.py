"""The turns that need a summary, made by rule: with their message, or in the background for older files."""

from __future__ import annotations

from collections.abc import Mapping

from localmem.entries import Scope
from localmem.index.summaries import index_summaries
from localmem.layers.summary import summarise
from localmem.store import Database
from localmem.store.layers import LayerStore
from localmem.types import Message

BATCH = 256
"""Turns made and committed together: the most that an interruption repeats."""


class SummaryQueue:
    """Gives every turn its extractive summary. Interrupted at any point, it goes on where it was."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._layers = LayerStore(database)

    def pending(self) -> int:
        """How many turns have no summary yet."""
        return self._layers.waiting()

    def make_next(self) -> int:
        """Make one batch; return how many turns it held, 0 when none wait."""
        with self._database.atomic():
            return self._make(self._layers.due(BATCH))

    def make_for(self, added: Mapping[int, Message]) -> None:
        """Make those of the turns that these messages, by id, were just added to."""
        with self._database.atomic():
            self._make(self._layers.due(len(added), added))

    def _make(self, due: dict[Scope, list[Message]]) -> int:
        for scope, messages in due.items():
            try:
                summary = summarise(messages)
            except Exception as error:  # noqa: BLE001 - a message is stored even if no rule can read it
                self._layers.failed(scope, f"{type(error).__name__}: {error}", messages)
                continue
            self._layers.put(scope, summary, messages)
        index_summaries(self._database)
        return len(due)
