"""How the layers stand: what there is, who made it, how faithful and how complete it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from localmem.entries import Layer, LayerCount
from localmem.layers.by_model import by_turn
from localmem.layers.grounding import NOTHING_TO_COVER, Coverage, coverage
from localmem.store import Database, SessionStore
from localmem.store.layers import LayerStore


@dataclass(frozen=True, slots=True)
class LayerStats:
    """One layer as one maker made it."""

    count: LayerCount
    coverage: Coverage | None
    """Of summaries: how many of their turns' particulars they have. None for other layers."""


def layer_stats(database: Database, progress: Callable[[int, int], None]) -> list[LayerStats]:
    """Every layer by maker; ``progress`` gets (sessions done, in all)."""
    store = LayerStore(database)
    reached: dict[str | None, Coverage] = {}
    sessions = SessionStore(database)
    every = sessions.sessions()
    for done, session in enumerate(every):
        progress(done, len(every))
        turns = {turn[0].turn: turn for turn in by_turn(sessions.messages(session.id))}
        for entry in store.entries(Layer.SUMMARY, session.id):
            assert entry.scope.turn is not None
            model = entry.maker and entry.maker.model
            share = coverage(entry.content, turns[entry.scope.turn])
            reached[model] = reached.get(model, NOTHING_TO_COVER) + share
    progress(len(every), len(every))
    return [
        LayerStats(count, reached.get(count.model) if count.layer is Layer.SUMMARY else None)
        for count in store.counts()
    ]
