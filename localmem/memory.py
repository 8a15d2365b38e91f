"""The facade: one memory file, what can be put into it and asked of it. Read this first.

A message is stored by :class:`~localmem.writing.Writer` and can be found from then on by its words;
its vector follows through :class:`~localmem.index.embedding.EmbeddingQueue`. A question goes through
:class:`~localmem.retrieval.search.HybridSearch` to evidence, notes and an answer
(:mod:`localmem.answering`), as a generator of :mod:`localmem.events`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Self, Unpack

from localmem.chats import Chats
from localmem.disclosure.agent import Agent, Store, disclose
from localmem.disclosure.session_index import SessionHit, SessionSearch
from localmem.entries import Bullet, Entry, Failure, Layer
from localmem.errors import BadInput
from localmem.events import Event, answered
from localmem.home import Home, How
from localmem.index.embedding import EmbeddingQueue
from localmem.index.worker import Queue, Worker
from localmem.layers.builder import LayerBuilder
from localmem.layers.queue import SummaryQueue
from localmem.layers.stats import Judged, LayerStats, judge_summaries, layer_stats
from localmem.models.protocols import ChatModel, Embedder
from localmem.noting import Note, sessions_of
from localmem.paths import chosen_database, chosen_home, default_database
from localmem.privacy.copies import note_copy
from localmem.privacy.receipt import Receipt, carry_out
from localmem.privacy.secrets import Policy, Screen, policy_of
from localmem.privacy.selection import Selection, select
from localmem.reconstruction import fixed as reconstruction
from localmem.reconstruction.fixed import FIXED, Fixed
from localmem.retrieval.search import Filter, HybridSearch
from localmem.roles.trust import TRUSTED, Trust
from localmem.showing import shown
from localmem.store import Database, SessionStore
from localmem.store.bin import Bin
from localmem.store.desk import Desk
from localmem.store.layers import LayerStore
from localmem.store.pins import Pins
from localmem.store.replies import ReplyStore
from localmem.store.traces import StepCount, StoredTrace, TraceStore
from localmem.store.whole import whole
from localmem.types import Answer, Hit, Message, NewSession, Session, Stats
from localmem.writing import Writer


class Memory(Chats):
    """A memory file opened with an embedding model. Safe from several threads; a context manager.

    ``embedder`` must be the one that the file was embedded with, else :class:`EmbeddingMismatch` is
    raised (see :func:`localmem.index.embedding.reembed_file`). Raises the :class:`StoreError` that fits
    when the file cannot be used. The caller keeps ownership of the models and closes them. ``home`` is what
    :meth:`ask` answers with.
    ``secrets`` says what is done about keys and card numbers in what is stored; None: as the home's settings
    say, without a home that they are kept.
    """

    def __init__(
        self,
        path: Path | None,
        embedder: Embedder,
        *,
        key: str | None = None,
        home: Home | None = None,
        secrets: Policy | None = None,
    ) -> None:
        self.home = home
        """The models that :meth:`ask` answers with; None: it was opened without."""
        self.secrets = secrets or (policy_of(home.path) if home else Policy.WARN)
        """What is done about secrets in what is stored."""
        self._owns_home = False
        self._database = Database(path or default_database(), key)
        try:
            self._sessions = SessionStore(self._database)
            self._writer = Writer(self._database, self._sessions, Screen(self.secrets))
            self.desk = Desk(self._database)
            """What a person does with sessions: names, tags, archive, system prompts."""
            self._bin = Bin(self._database, self._sessions)
            self._replies = ReplyStore(self._database)
            self.pins = Pins(self._database)
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

    @classmethod
    def open(
        cls,
        path: Path | str | None = None,
        *,
        home: Path | str | None = None,
        embedder: Embedder | None = None,
        key: str | None = None,
    ) -> Self:
        """Open a memory file with the models of a home folder, which are closed with it.

        None is the user's own, as on the command line: ``path`` of ``LOCALMEM_DB``, ``home`` of
        ``LOCALMEM_HOME``, the home's ``embedder``. A file that is not there is made; ``key`` opens an
        encrypted one. Raises :class:`ModelMissing` when the home has no embedder, else as the constructor.

        Nothing that localmem does needs the network; a program that does not need it either may forbid it to
        all of itself: ``with localmem.offline():``. To open a memory does not, for a guard could not tell the
        program's own connections from others.
        """
        models = Home(chosen_home() if home is None else Path(home))
        try:
            chosen = embedder or models.embedder()
            file = chosen_database() if path is None else Path(path)
            memory = cls(file, chosen, key=key, home=models)
        except BaseException:  # whatever it is, it goes on; only the models must not stay open
            models.close()
            raise
        memory._owns_home = True
        return memory

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Closing twice is allowed."""
        self._worker.close()
        self._database.close()
        if self._owns_home and self.home is not None:
            self.home.close()

    def add(self, notes: NewSession | Note | Iterable[Mapping[str, object]]) -> list[int]:
        """Store those messages that are not there yet; return the ids of the new ones.

        A session, or plainer: a text, a dictionary, a list of them (:func:`localmem.noting.sessions_of`).
        They are found by their words at once, by meaning as soon as the background embedding has
        reached them (:meth:`wait_embedded`). Raises :class:`BadInput`, and then nothing was stored.
        """
        if isinstance(notes, NewSession):
            ids = self._writer.add(notes)
        else:
            with self._database.atomic():
                now = datetime.now().astimezone()
                ids = [i for session in sessions_of(notes, now) for i in self._writer.add(session)]
        if ids:
            self._worker.wake()
        return ids

    def select(
        self, *, session_id: int | None = None, message_id: int | None = None, matching: str | None = None
    ) -> Selection:
        """What would go, to be shown before :meth:`forget`; see :mod:`localmem.privacy.selection`."""
        return select(self._database, session_id=session_id, message_id=message_id, matching=matching)

    def forget(self, selection: Selection, *, prove: bool = False) -> Receipt:
        """Forget a selection for ever, with all that was made of it; see :mod:`localmem.privacy.receipt`.

        Raises :class:`StoreLocked` when another program keeps the bytes in the file.
        """
        home = self.home.path if self.home is not None else None
        receipt = carry_out(self._database, selection, home, proving=prove)
        self._worker.wake()
        return receipt

    def note_export(self, path: Path) -> None:
        """Remember where an export is, so that a forgetting can name it."""
        note_copy(self._database, "export", path)

    @contextmanager
    def storing(self) -> Iterator[None]:
        """For storing much in this thread: vectors are made afterwards, and memory stays small.

        What is stored can be found by its words all the sooner. Do not wait for vectors inside.
        """
        with self._worker.held(), self._database.unmapped():
            yield

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
        """A session's messages by position, those of all its branches."""
        return self._sessions.messages(session_id)

    def whole(self, session_id: int) -> NewSession:
        """A session as :meth:`add` can take it in again. Raises :class:`BadInput` when there is none."""
        return whole(self._database, session_id)

    def counts(self) -> tuple[int, int]:
        """(sessions, messages) stored."""
        sessions, messages, _ = self._sessions.counts()
        return sessions, messages

    def stats(self) -> Stats:
        """How much is stored, and how much of it waits to be indexed."""
        sessions, messages, characters = self._sessions.counts()
        return Stats(sessions, messages, characters, self.pending())

    def show(
        self,
        session_id: int,
        layer: str = "raw",
        cancel: threading.Event | None = None,
        *,
        use_model: bool = True,
    ) -> str:
        """A layer of a session as Markdown: ``summary``, ``facts``, ``notes`` or ``raw``.

        Facts and notes are made when first read, by the home's summariser where it is trusted, else by
        rule. Raises :class:`BadInput` when there is no such session or layer.
        """
        return shown(self, session_id, layer, self.home if use_model else None, cancel)

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

    def ask(self, question: str, cancel: threading.Event | None = None, **how: Unpack[How]) -> Answer:
        """Answer from memory with the models of the home; the value that :meth:`ask_events` ends with."""
        return answered(self.ask_events(question, cancel, **how))

    def ask_events(
        self, question: str, cancel: threading.Event | None = None, **how: Unpack[How]
    ) -> Iterator[Event]:
        """Answer from memory with the models of the home, as events; see :meth:`answer`.

        Raises :class:`ModelMissing` when the home has no answerer, :class:`BadInput` for an empty question
        or a memory that was opened without a home.
        """
        if self.home is None:
            raise BadInput("This memory has no home whose models could answer; open it with Memory.open.")
        means = self.home.means(**how)
        return self.answer(
            question,
            model=means.model,
            trust=means.trust,
            cancel=cancel,
            agent=means.agent,
            fixed=means.fixed,
        )

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

    def lines_from(self, layer: Layer, messages: Sequence[int]) -> list[Bullet]:
        """What a layer has that comes from any of some messages: summaries and statements."""
        return [
            line
            for entry in self._layers.entries_from(layer, messages)
            for line in entry.lines
            if not set(line.messages).isdisjoint(messages)
        ]

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
