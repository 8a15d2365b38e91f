"""How the layers stand: what there is, who made it, how faithful and how complete it is."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from localmem.entries import Grade, Layer, LayerCount, Summary
from localmem.errors import ModelTimeout, PromptTooLong, ReplyUnusable
from localmem.layers.by_model import by_turn, said
from localmem.layers.grounding import NOTHING_TO_COVER, Coverage, coverage
from localmem.models.protocols import ChatModel
from localmem.roles.judge import faithful
from localmem.roles.summariser import turn_text
from localmem.store import Database, SessionStore
from localmem.store.layers import LayerStore


@dataclass(frozen=True, slots=True)
class LayerStats:
    """One layer as one maker made it."""

    count: LayerCount
    coverage: Coverage | None
    """Of summaries: how many of their turns' particulars they have. None for other layers."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a judge says of summaries that a model made."""

    faithful: int
    unfaithful: int
    unscored: int
    """Without a usable verdict, which is not the same as unfaithful."""


JUDGE_SECONDS = 60.0
"""Longest time for one verdict."""


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
            model = entry.maker.model if entry.maker else None
            share = coverage(entry.content, turns[entry.scope.turn])
            reached[model] = reached.get(model, NOTHING_TO_COVER) + share
    progress(len(every), len(every))
    return [
        LayerStats(count, reached.get(count.model) if count.layer is Layer.SUMMARY else None)
        for count in store.counts()
    ]


def judge_summaries(
    database: Database, judge: ChatModel, count: int, progress: Callable[[int, int], None]
) -> Judged:
    """Have ``judge`` look at ``count`` summaries by models, drawn at random but always alike.

    ``progress`` gets (summaries done, in all). Raises :class:`ModelCrashed`.
    """
    store, sessions = LayerStore(database), SessionStore(database)
    made = [
        entry
        for session in sessions.sessions()
        for entry in store.entries(Layer.SUMMARY, session.id)
        if entry.grade is Grade.MODEL and isinstance(entry.content, Summary) and entry.content.text
    ]
    drawn = random.Random(0).sample(made, min(count, len(made)))
    verdicts = {"YES": 0, "NO": 0, "": 0}
    for done, entry in enumerate(drawn):
        progress(done, len(drawn))
        assert isinstance(entry.content, Summary)
        source = said(list(sessions.messages_by_id(entry.messages).values()))
        try:
            reply = faithful(judge, turn_text(source), entry.content.text, deadline=JUDGE_SECONDS)
            verdicts[reply.value.verdict] += 1
        except (ReplyUnusable, ModelTimeout, PromptTooLong):
            verdicts[""] += 1
    progress(len(drawn), len(drawn))
    return Judged(verdicts["YES"], verdicts["NO"], verdicts[""])
