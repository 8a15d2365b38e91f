"""Stage I's two decisions by a model: what the question requires, and which notes meet it together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from pydantic import BaseModel

from localmem.answering.accounting import count_model, spent
from localmem.entries import Layer, Summary
from localmem.errors import Cancelled
from localmem.models.protocols import ChatMessage, ChatModel
from localmem.models.structured import Structured
from localmem.reconstruction.notes import Note
from localmem.reconstruction.requirements import Need, NeedKind
from localmem.reconstruction.selection import Selection
from localmem.roles import controller as role
from localmem.roles.controller import SELECT
from localmem.roles.task import Outcome, or_rule
from localmem.roles.window import pieces_that_fit
from localmem.store.layers import LayerStore
from localmem.text import fenced
from localmem.types import Ledger

T = TypeVar("T", bound=BaseModel)
V = TypeVar("V")


class ByModel:
    """Asks ``model``; where it gives nothing, rules decide and the ledger counts it."""

    def __init__(
        self,
        model: ChatModel,
        ledger: Ledger,
        layers: LayerStore,
        cancel: threading.Event | None = None,
    ) -> None:
        self._model = model
        self._ledger = ledger
        self._layers = layers
        self._cancel = cancel

    def decompose(self, question: str) -> Sequence[Need]:
        """The requirements of a question; none: the rule's shall be taken."""
        needs = self._asked(
            lambda: role.decompose(self._model, question, cancel=self._cancel),
            lambda made: [Need(NeedKind.FACT, query) for query in dict.fromkeys(made.queries)],
        )
        return needs or ()

    def select(self, question: str, notes: Sequence[Note], needs: Sequence[Need]) -> Selection | None:
        """The notes that are needed, chosen by their summaries; None: the rule shall choose.

        Notes that the window has no room for are not offered, the last first.
        """
        if len(notes) < 2:
            return None  # there is no choice
        told = [self._told(note) for note in notes]
        fixed = SELECT.fixed(self._model)

        def build(count: int) -> list[ChatMessage]:
            return [*fixed, role.selection_ask(question, told[:count])]

        offered = pieces_that_fit(self._model, build, len(told), SELECT.max_tokens) or 0
        if offered < 2:
            self._ledger.fallbacks.append("controller: no two notes fit its window")
            return None
        return self._asked(
            lambda: role.select(self._model, question, told[:offered], cancel=self._cancel),
            lambda made: Selection([int(number) - 1 for number in made.numbers]),
        )

    def _told(self, note: Note) -> str:
        """A turn's summary; as long as it has none, what was said."""
        for entry in self._layers.entries(Layer.SUMMARY, note.session_id, note.turn):
            if isinstance(entry.content, Summary) and entry.content.text:
                return fenced(entry.content.text)
        return fenced(note.text)

    def _asked(self, by_model: Callable[[], Structured[T]], convert: Callable[[T], V]) -> V | None:
        """The model's value; None when it gave none, or the user stopped it."""
        started = time.perf_counter()
        try:
            outcome: Outcome[V | None] = or_rule(by_model, convert, lambda: None)
        except Cancelled as stopped:
            for cost in stopped.cost:
                count_model(self._ledger, cost)
            return None
        finally:
            spent(self._ledger, "controller", started)
        for cost in outcome.cost:
            count_model(self._ledger, cost)
        if outcome.fallback is not None:
            self._ledger.fallbacks.append(f"controller: {outcome.fallback}")
        return outcome.value
