"""What a memory does with conversations that are held in it: go on, go back, delete, bring back."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

from localmem.answering.dialogue import Dialogue, With
from localmem.answering.keepers import StoredSession, Unstored
from localmem.answering.recall import Recall
from localmem.events import Event
from localmem.index.worker import Worker
from localmem.models.protocols import ChatModel
from localmem.privacy.purge import UNFINISHED, purge, unfinished
from localmem.privacy.vocabulary import drop_unused_terms
from localmem.reconstruction.records import Records
from localmem.reconstruction.support import required
from localmem.resent import Conversation, Resent
from localmem.retrieval.search import EVIDENCE, HybridSearch
from localmem.roles.trust import TRUSTED, Trust
from localmem.store import Database, SessionStore
from localmem.store.bin import Bin
from localmem.store.branches import Branches
from localmem.store.desk import Desk
from localmem.store.pins import Pins
from localmem.store.replies import ReplyStore, StoredReply
from localmem.types import Message, Requirement
from localmem.writing import Writer


class Chats:
    """The part of :class:`~localmem.memory.Memory` that holds conversations."""

    _database: Database
    _sessions: SessionStore
    _writer: Writer
    _worker: Worker
    _bin: Bin
    _replies: ReplyStore
    retrieval: HybridSearch
    desk: Desk
    pins: Pins
    """What the person pinned: given to the model with every message."""

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
        return self.dialogue(session_id).say(text, With(model, trust, cancel))

    def dialogue(self, session_id: int | None = None) -> Dialogue:
        """A session to be held on, branches and all; None: a new one, begun with its first message.

        Raises :class:`BadInput` when there is no session with this id.
        """
        if session_id is not None:
            self._sessions.session(session_id)
        kept = StoredSession(self._database, self._writer, self._worker.wake, session_id)
        return Dialogue(kept, self._recall_without)

    def private_dialogue(self) -> Dialogue:
        """A chat of which nothing is kept; what memory holds is recalled all the same."""
        return Dialogue(Unstored(), self._recall_without)

    def replies(self, message_ids: Sequence[int]) -> dict[int, StoredReply]:
        """What those of some messages that are replies in the chat rested on and cost."""
        return self._replies.load(message_ids)

    def delete_session(self, session_id: int) -> None:
        """Delete a session at once; :meth:`undo_delete` brings it back until :meth:`empty_bin`.

        Raises :class:`BadInput` when there is none with this id.
        """
        self._bin.delete_session(session_id)

    def undo_delete(self) -> int:
        """Bring back the session or the message that was deleted last; return the session's id.

        It has new ids. Raises :class:`BadInput` when nothing can be brought back.
        """
        with self._database.atomic():
            session_id, ids = self._bin.restore()
            self._writer.make_findable(ids)
        self._worker.wake()
        return session_id

    def empty_bin(self) -> int:
        """Let go for ever of what was deleted; return how many sessions and messages that were.

        Its bytes leave the file with :meth:`purge`.
        """
        with self._database.atomic() as connection:
            count = self._bin.empty()
            if count:
                drop_unused_terms(connection)
                connection.execute("INSERT OR REPLACE INTO setting VALUES (?, '1')", (UNFINISHED,))
        return count

    def purge(self) -> None:
        """Leave no byte of what was deleted in the file; takes a while, and is done only if it is needed.

        Raises :class:`StoreLocked` when another program reads an older state all the time.
        """
        if unfinished(self._database):
            purge(self._database)

    def reply(
        self,
        conversation: Conversation,
        *,
        model: ChatModel,
        trust: Trust = TRUSTED,
        cancel: threading.Event | None = None,
    ) -> Iterator[Event]:
        """Reply in a conversation that another program keeps, as events; the last is ``Replied``.

        What is new of it is stored, then the reply; other sessions are recalled, as in :meth:`chat`.
        """
        resent = Resent(conversation, self._database, self._writer, self._worker.wake)
        return resent.reply(self._recall_without, model, trust, cancel)

    def messages_by_id(self, ids: Sequence[int]) -> dict[int, Message]:
        """Messages by id; ids that do not exist are absent."""
        return self._sessions.messages_by_id(ids)

    def path(self, session_id: int) -> list[Message]:
        """A session's messages on the way to where it stands: of each only the version that was kept to."""
        return Branches(self._sessions.messages(session_id)).path(self.desk.leaf(session_id))

    def _recall_without(self, session_id: int | None) -> Recall:
        only = replace(EVIDENCE, without_session=session_id)
        return Recall(self.retrieval, self._sessions, only, self._required, self.pins)

    def _required(self, question: str, among: Sequence[int], cited: Sequence[int]) -> tuple[Requirement, ...]:
        return required(question, Records(self.retrieval, EVIDENCE), among, cited)
