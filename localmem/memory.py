"""The facade: one memory file, what can be put into it and asked of it. Read this first.

A message is stored by :class:`~localmem.writing.Writer` and can be found from then on by its words;
its vector follows through :class:`~localmem.index.embedding.EmbeddingQueue`. A question goes through
:class:`~localmem.retrieval.search.HybridSearch` to evidence, notes and an answer
(:mod:`localmem.answering`), as a generator of :mod:`localmem.events`.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Self

from localmem.answering.converse import chat
from localmem.answering.recall import Recall
from localmem.disclosure.agent import Agent, Store, disclose
from localmem.disclosure.session_index import SessionHit, SessionSearch
from localmem.entries import Entry, Failure, Layer
from localmem.events import Event
from localmem.index.embedding import EmbeddingQueue, reembed
from localmem.index.worker import Queue, Worker
from localmem.layers.builder import LayerBuilder
from localmem.layers.queue import SummaryQueue
from localmem.layers.stats import Judged, LayerStats, judge_summaries, layer_stats
from localmem.models.protocols import ChatModel, Embedder
from localmem.paths import default_database
from localmem.reconstruction import fixed as reconstruction
from localmem.reconstruction.fixed import FIXED, Fixed
from localmem.retrieval.search import Filter, HybridSearch
from localmem.roles.trust import TRUSTED, Trust
from localmem.store import Database, SessionStore
from localmem.store.layers import LayerStore
from localmem.store.traces import StepCount, StoredTrace, TraceStore
from localmem.types import Hit, Message, NewMessage, NewSession, Session
from localmem.writing import Writer

TITLE_LENGTH = 60
"""Characters of its first message that name a chat."""

CHAT_SOURCE = "chat"
"""The source of sessions held in localmem's own chat."""


class Memory:
    """A memory file opened with an embedding model. Safe from several threads; a context manager.

    ``embedder`` must be the one that the file was embedded with, else :class:`EmbeddingMismatch` is
    raised (see :func:`reembed`). Raises the :class:`StoreError` that fits when the file cannot be used.
    The caller keeps ownership of the models and closes them.
    """

    def __init__(self, path: Path | None, embedder: Embedder, *, key: str | None = None) -> None:
        self._database = Database(path or default_database(), key)
        try:
            self._sessions = SessionStore(self._database)
            self._writer = Writer(self._database, self._sessions)
            self._traces = TraceStore(self._database)
            self._layers = LayerStore(self._database)
            self._queue = EmbeddingQueue(self._database, embedder)
            self.retrieval = HybridSearch(self._database, self._queue)
            """The search and its parts, for those who measure them."""
            self.session_search = SessionSearch(self._database, self._queue, self.retrieval)
            """Finds sessions by their summaries; as :class:`localmem.disclosure.sessions.Sessions`."""
            summaries = SummaryQueue(self._database)
            self._worker = Worker(
                [
                    Queue(summaries.pending, summaries.make_next),
                    Queue(self._queue.pending, self._queue.embed_next),
                ]
            )
            if self._worker.pending():
                self._worker.wake()
        except BaseException:  # whatever it is, it goes on; only the connections must not stay open
            self._database.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Closing twice is allowed."""
        self._worker.close()
        self._database.close()

    def add(self, session: NewSession) -> list[int]:
        """Store those messages of a session that are not there yet; return the ids of the new ones.

        They are found by their words at once, by meaning as soon as the background embedding has
        reached them (:meth:`wait_embedded`).
        """
        ids = self._writer.add(session)
        if ids:
            self._worker.wake()
        return ids

    def wait_embedded(self, progress: Callable[[int], None] = lambda pending: None) -> None:
        """Return when every message and summary has its vector; ``progress`` gets :meth:`pending`."""
        self._worker.wait(progress)

    def pending(self) -> int:
        """How many messages or summaries wait for their vector, and turns of an older file for a summary."""
        return self._worker.pending()

    def sessions(self) -> list[Session]:
        """All sessions, newest first."""
        return self._sessions.sessions()

    def session(self, session_id: int) -> Session:
        """One session. Raises :class:`BadInput` when there is none with this id."""
        return self._sessions.session(session_id)

    def messages(self, session_id: int) -> list[Message]:
        """A session's messages by position."""
        return self._sessions.messages(session_id)

    def counts(self) -> tuple[int, int]:
        """(sessions, messages) stored."""
        sessions, messages, _ = self._sessions.counts()
        return sessions, messages

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        after: datetime | None = None,
        before: datetime | None = None,
        asked_on: date | None = None,
        by_session: bool = False,
    ) -> list[Hit]:
        """The ``k`` best messages for a query, best first; ``by_session``: the best of each session.

        ``after`` and ``before`` bound when they were sent. ``asked_on`` is the day that relative dates in
        the query count from; None: the day of the newest message.
        """
        self._worker.check()
        return self.retrieval.search(
            query, k, Filter(after, before), asked_on=asked_on, by_session=by_session
        )

    def search_sessions(
        self,
        queries: Sequence[str],
        limit: int = 20,
        *,
        after: datetime | None = None,
        before: datetime | None = None,
    ) -> list[SessionHit]:
        """The best sessions for the best-matching of several queries, by their summaries, best first.

        ``after`` and ``before`` bound when a turn's messages were sent.
        """
        self._worker.check()
        return self.session_search.search(queries, limit, after, before)

    def answer(
        self,
        question: str,
        *,
        model: ChatModel | None,
        trust: Trust = TRUSTED,
        cancel: threading.Event | None = None,
        agent: Agent | None = None,
        fixed: Fixed = FIXED,
    ) -> Iterator[Event]:
        """Answer from memory, as events; the last is :class:`~localmem.events.Answered`.

        With ``model`` None, or one that is not trusted, rules answer with the best evidence sentences. With
        ``agent`` sessions are searched and opened layer by layer (policy ``agent``), else the evidence is
        reconstructed as ``fixed`` says (policy ``fixed``).
        """
        self._worker.check()
        if agent is not None:
            return disclose(question, self._store(), agent, model, trust, cancel)
        store = reconstruction.Store(self.retrieval, self._sessions, self._layers, self._traces)
        return reconstruction.answer(question, store, fixed, model, trust, cancel)

    def resume(
        self,
        trace: int,
        *,
        model: ChatModel | None,
        agent: Agent,
        trust: Trust = TRUSTED,
        cancel: threading.Event | None = None,
    ) -> Iterator[Event]:
        """Go on with an answer from its last saved step, with the budget of ``agent``; see :meth:`answer`.

        Raises :class:`BadInput` when there is no such trace, or it is of another policy.
        """
        self._worker.check()
        return disclose(self._traces.load(trace), self._store(), agent, model, trust, cancel)

    def trace(self, trace: int) -> StoredTrace:
        """How an answer came about. Raises :class:`BadInput` when there is no such trace."""
        return self._traces.load(trace)

    def step_counts(self) -> list[StepCount]:
        """How many steps each answer of policy ``agent`` took."""
        return self._traces.step_counts()

    def chat(
        self,
        text: str,
        *,
        model: ChatModel,
        session_id: int | None = None,
        trust: Trust = TRUSTED,
        cancel: threading.Event | None = None,
    ) -> Iterator[Event]:
        """Say ``text`` in a session and get the reply, as events; the last is ``Replied``.

        Without ``session_id`` a new session begins; the first event, ``Stored``, tells its id. A model that
        is not trusted to word answers still converses; what memory is asked for, rules answer.
        """
        now = datetime.now().astimezone()
        if session_id is None:
            title = " ".join(text.split())[:TITLE_LENGTH]
            new = NewSession(CHAT_SOURCE, uuid.uuid4().hex, (), title=title, started_at=now)
            history: list[Message] = []
        else:
            history = self.messages(session_id)

        def store(message: NewMessage) -> Message:
            nonlocal session_id
            stamped = replace(message, sent_at=datetime.now().astimezone())
            with self._database.atomic():
                if session_id is None:
                    session_id = self._sessions.open_session(new)
                ids = self._writer.append(session_id, [stamped])
            self._worker.wake()
            return self._sessions.messages_by_id(ids)[ids[0]]

        def recall_without(session: int) -> Recall:
            return self._recall(Filter(without_session=session))

        return chat(text, history, store, recall_without, model, trust, cancel)

    def layer(
        self,
        session_id: int,
        layer: Layer,
        *,
        summariser: ChatModel | None = None,
        cancel: threading.Event | None = None,
    ) -> list[Entry]:
        """A session's entries of a layer by turn; facts are one entry for all of it.

        Made now if they were not there yet: by the model, where it fails or is None by rule. Raises
        :class:`BadInput` when there is no such session, :class:`ModelCrashed`.
        """
        self.session(session_id)
        return LayerBuilder(self._database, summariser, self._worker.wake).read(layer, session_id, cancel)

    def layer_failures(self, session_id: int) -> list[Failure]:
        """What could not be made of a session's layers, and was not made since."""
        return self._layers.failures(session_id)

    def builder(self, summariser: ChatModel | None) -> LayerBuilder:
        """What makes the layers that are missing; without a model, by rule."""
        return LayerBuilder(self._database, summariser, self._worker.wake)

    def layer_stats(
        self, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> list[LayerStats]:
        """Every layer by what made it; ``progress`` gets (sessions looked at, in all)."""
        return layer_stats(self._database, progress)

    def _store(self) -> Store:
        return Store(self._database, self.retrieval, self._sessions, self._traces, self.session_search.search)

    def judge_summaries(
        self, judge: ChatModel, count: int, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> Judged:
        """How many of ``count`` summaries by models a judge finds faithful; see :class:`Judged`."""
        return judge_summaries(self._database, judge, count, progress)

    def _recall(self, only: Filter) -> Recall:
        return Recall(self.retrieval, self._sessions, only)


def reembed_file(
    path: Path | None, embedder: Embedder, progress: Callable[[int, int], None], *, key: str | None = None
) -> None:
    """Embed a whole memory file with another model; ``progress`` gets (messages done, in all)."""
    database = Database(path or default_database(), key)
    try:
        reembed(database, embedder, progress)
    finally:
        database.close()
