"""Layers made by a model: in idle time or when first read, resumable, never twice.

What there is to do is read from the store each time, so that work goes on where it was broken off, by
whatever: a pause, a lost process, another program on the same file.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from localmem.entries import Content, Entry, Layer, Maker, Scope, Summary
from localmem.errors import Cancelled, ModelTimeout, PromptTooLong, ReplyUnusable
from localmem.index.summaries import index_summaries
from localmem.layers import bullets, by_model
from localmem.layers.by_model import Written, by_turn, said, windows
from localmem.layers.summary import summarise
from localmem.models.protocols import ChatModel
from localmem.roles.summariser import FACTS, SUMMARISE
from localmem.store import Database, SessionStore
from localmem.store.layers import LayerStore
from localmem.types import Message

CALL_SECONDS = 300.0
"""Longest time for one call of the model; a session's facts take minutes on a slow machine."""


@dataclass(frozen=True, slots=True)
class Step:
    """A piece of work that was committed."""

    made: int
    """Entries."""
    rejected: int
    """Statements that the guard left out."""
    failed: int
    """Scopes for which nothing stood."""


class LayerBuilder:
    """Makes what is missing of a layer: with ``model`` its statements, without one the rules'."""

    def __init__(
        self, database: Database, model: ChatModel | None, committed: Callable[[], None] = lambda: None
    ) -> None:
        """``committed`` is called after each commit: a summary needs its vector then."""
        self._committed = committed
        self._database = database
        self._sessions = SessionStore(database)
        self._store = LayerStore(database)
        self._model = model

    def missing(self, layer: Layer, session_id: int | None = None) -> list[Scope]:
        """What is to be made, of the newest session first."""
        return self._store.missing(layer, self._maker(layer), session_id)

    def build(
        self,
        layer: Layer,
        session_id: int | None = None,
        *,
        seconds: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Iterator[Step]:
        """Make what is missing, yielding after each commit, until it is done or ``seconds`` have passed.

        ``cancel`` ends it within a second; what the model was writing then is thrown away. Raises
        :class:`ModelCrashed`; a reply that cannot be used is noted as a failure of its scopes.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        for session, scopes in groupby(self.missing(layer, session_id), key=lambda scope: scope.session_id):
            for work in self._work(layer, session, list(scopes)):
                left = None if deadline is None else deadline - time.monotonic()
                if (cancel is not None and cancel.is_set()) or (left is not None and left <= 0):
                    return
                try:
                    step = work(cancel, CALL_SECONDS if left is None else min(left, CALL_SECONDS))
                except Cancelled:
                    return
                except ModelTimeout:
                    if left is not None and left < CALL_SECONDS:
                        return
                    raise
                yield step

    def read(self, layer: Layer, session_id: int, cancel: threading.Event | None = None) -> list[Entry]:
        """A session's entries, made now if they were not there yet (APDMem 3.1, lazy materialization)."""
        for _ in self.build(layer, session_id, cancel=cancel):
            pass
        if self._model is not None:  # where the model failed the rules stand in
            for _ in LayerBuilder(self._database, None, self._committed).build(layer, session_id):
                pass
        return self._store.entries(layer, session_id)

    def _maker(self, layer: Layer) -> Maker | None:
        if self._model is None:
            return None
        return Maker(self._model.fingerprint, (SUMMARISE if layer is Layer.SUMMARY else FACTS).version)

    def _work(
        self, layer: Layer, session_id: int, scopes: Sequence[Scope]
    ) -> Iterator[Callable[[threading.Event | None, float], Step]]:
        """A session's pieces of work, each ending in one commit."""
        messages = self._sessions.messages(session_id)
        turns = by_turn(messages)
        model = self._model
        if model is None:
            yield lambda cancel, deadline: self._commit([_by_rule(scope, messages) for scope in scopes], None)
            return
        maker = self._maker(layer)
        empty = [scope for scope in scopes if not said(_of(scope, messages))]
        if empty:
            nothing = [Written(scope, tuple(_of(scope, messages)), _nothing(layer)) for scope in empty]
            yield lambda cancel, deadline: self._commit(nothing, maker)
        if layer is Layer.FACTS:
            for scope in set(scopes) - set(empty):
                yield partial(self._written, [scope], messages, partial(_facts, model, messages), maker)
            return
        wanted = {scope.turn for scope in scopes}
        places = [place for place, turn in enumerate(turns) if turn[0].turn in wanted]
        write = by_model.summaries if layer is Layer.SUMMARY else by_model.notes
        for window in windows(turns, places):
            of = [Scope(layer, session_id, turn[0].turn) for turn in window.turns]
            yield partial(self._written, of, window.read, partial(write, model, window), maker)

    def _written(
        self,
        scopes: Sequence[Scope],
        read: Sequence[Message],
        write: Callable[[threading.Event | None, float], list[Written]],
        maker: Maker | None,
        cancel: threading.Event | None,
        deadline: float,
    ) -> Step:
        """Have the model write, and commit what stands; a reply without value is a failure of each scope."""
        try:
            written = write(cancel, deadline)
        except (ReplyUnusable, PromptTooLong) as error:
            written = [Written(scope, tuple(read), None, (str(error),)) for scope in scopes]
        return self._commit(written, maker)

    def _commit(self, written: Sequence[Written], maker: Maker | None) -> Step:
        made = 0
        with self._database.atomic():
            for one in written:
                rejected = len(one.rejected)
                if one.content is None:
                    self._store.failed(one.scope, one.reason, one.read, maker, rejected)
                elif self._store.replace(one.scope, one.content, one.read, maker, rejected) is not None:
                    made += 1
            index_summaries(self._database)
        self._committed()
        failed = sum(one.content is None for one in written)
        return Step(made, sum(len(one.rejected) for one in written), failed)


def _by_rule(scope: Scope, messages: Sequence[Message]) -> Written:
    """A scope's extractive entry."""
    read = _of(scope, messages)
    if scope.layer is Layer.SUMMARY:
        return Written(scope, tuple(read), summarise(read))
    make = bullets.notes if scope.layer is Layer.NOTES else bullets.facts
    return Written(scope, tuple(read), make(read))


def _facts(
    model: ChatModel, messages: Sequence[Message], cancel: threading.Event | None, deadline: float
) -> list[Written]:
    return [by_model.facts(model, messages, cancel, deadline)]


def _of(scope: Scope, messages: Sequence[Message]) -> list[Message]:
    """The messages that a scope is about."""
    return [message for message in messages if scope.turn is None or message.turn == scope.turn]


def _nothing(layer: Layer) -> Content:
    return Summary("") if layer is Layer.SUMMARY else ()
