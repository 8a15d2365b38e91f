"""A dialogue that is being held: said, answered, edited, answered anew, taken up at another turn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from localmem.answering.converse import Ask, reply
from localmem.answering.recall import Recall
from localmem.answering.required import needs_to_keep
from localmem.errors import BadInput
from localmem.events import Event, NotesMade, Recalled, Replied, SecretsNoticed, Stored
from localmem.models.protocols import ChatModel
from localmem.roles.trust import TRUSTED, Trust
from localmem.store.branches import ROOT, Branches
from localmem.store.replies import StoredReply
from localmem.types import Answer, Evidence, Message, NewMessage, Origin, Role


class Keeper(Protocol):
    """Where a conversation is kept."""

    @property
    def session_id(self) -> int | None:
        """Id of its session; None: nothing was said yet, or it is kept nowhere."""
        ...

    @property
    def private(self) -> bool:
        """Whether nothing of it is kept."""
        ...

    @property
    def system(self) -> str:
        """The person's own system prompt; empty: none."""
        ...

    @system.setter
    def system(self, text: str) -> None: ...

    @property
    def leaf(self) -> int | None:
        """Id of the message that it goes on from; None: the last one."""
        ...

    @leaf.setter
    def leaf(self, message_id: int) -> None: ...

    def messages(self) -> list[Message]:
        """All of its messages, every branch, by position."""
        ...

    def last(self) -> int | None:
        """Id of the last message by position, on whatever branch; None: there is none."""
        ...

    def notice(self, message: NewMessage) -> tuple[str, ...]:
        """The kinds of secrets in a message, if it is going to be kept."""
        ...

    def add(self, message: NewMessage) -> Message:
        """Keep a message, from which the conversation goes on."""
        ...

    def delete(self, message_id: int) -> None:
        """Delete a message; what followed it follows the one before it."""
        ...

    def note(self, message_id: int, reply: StoredReply) -> None:
        """Keep what an answer rested on and cost."""
        ...


@dataclass(frozen=True, slots=True)
class With:
    """Who answers."""

    model: ChatModel
    trust: Trust = TRUSTED
    """How far the model is trusted to word answers from memory."""
    cancel: threading.Event | None = None
    """Set from any thread it stops the reply."""
    without: frozenset[int] = frozenset()
    """Ids of messages that must not be recalled for it."""
    think: int = 0
    """Tokens that the model may think before a reply; see :class:`~localmem.answering.converse.Ask`."""


class Dialogue:
    """One session with its branches, or a private chat. Use it from one thread at a time."""

    def __init__(self, keeper: Keeper, recall_without: Callable[[int | None], Recall]) -> None:
        self._keeper = keeper
        self._recall_without = recall_without

    @property
    def session_id(self) -> int | None:
        """Id of the session; None: nothing was said yet, or it is kept nowhere."""
        return self._keeper.session_id

    @property
    def private(self) -> bool:
        """Whether nothing of it is kept."""
        return self._keeper.private

    @property
    def system(self) -> str:
        """The person's own system prompt; empty: none."""
        return self._keeper.system

    @system.setter
    def system(self, text: str) -> None:
        self._keeper.system = text

    def path(self) -> list[Message]:
        """What was said on the branch that it goes on from, in order."""
        return self._branches().path(self._keeper.leaf)

    def versions(self) -> dict[int, list[int]]:
        """Of each message on the path that has versions: the ids of all of them, itself included."""
        branches = self._branches()
        path = branches.path(self._keeper.leaf)
        if len(path) == len(branches.messages):
            return {}
        found = {message.id: branches.versions(message.id) for message in path}
        return {identity: versions for identity, versions in found.items() if len(versions) > 1}

    def say(
        self, text: str, by: With, *, attachments: str = "", replaces: int | None = None
    ) -> Iterator[Event]:
        """Say ``text`` and get the reply, as events; the last is :class:`~localmem.events.Replied`.

        With ``replaces``, the id of an earlier message of the user, it is another version of that, and what
        followed it stays on its own branch. The user's message is stored before anything else; only
        :class:`~localmem.events.SecretsNoticed` may come before: who closes the generator then has nothing
        stored. Raises :class:`BadInput` for an empty message or a secret that the settings refuse, and what
        :meth:`ChatModel.stream` raises.
        """
        if not (text.strip() or attachments.strip()):
            raise BadInput("The message is empty.")
        branches = self._branches()
        if replaces is None:
            history = branches.path(self._keeper.leaf)
        else:
            before = branches.before(self._known(branches, replaces, Role.USER))
            history = branches.path(before.id) if before else []
        said = NewMessage(Role.USER, text, attachments=attachments)
        if kinds := self._keeper.notice(said):
            yield SecretsNoticed(kinds)
        asked = self._store(said, history[-1] if history else None)
        yield Stored(asked)
        yield from self._reply(asked, history, by)

    def answer_again(self, message_id: int, by: With) -> Iterator[Event]:
        """Reply anew to what the assistant's ``message_id`` answers, or to the user's own.

        The events are those of :meth:`say`, from ``Recalled`` on. The reply is another version; the model is
        shown the one before it, and asked for a different one.
        """
        branches = self._branches()
        self._known(branches, message_id, None)
        path = branches.path(message_id)
        if path[-1].role is Role.USER:
            yield from self._reply(path[-1], path[:-1], by)
            return
        if len(path) < 2 or path[-2].role is not Role.USER:
            raise BadInput("This reply answers no message, so there is nothing to answer anew.")
        # The reply may say what is left out now: then the model is not shown it.
        yield from self._reply(path[-2], path[:-2], by, None if by.without else path[-1].text)

    def keep(self, message_id: int, answer: Answer, earlier: Sequence[int] = ()) -> Message | None:
        """Put an answer of `Memory.answer` to the same question beside a reply, as another version of it.

        ``earlier``: ids of messages that tell what was so earlier. The conversation goes on from it. Returns
        it as it is kept; None: a version says the same already.
        """
        branches = self._branches()
        path = branches.path(self._known(branches, message_id, None))
        if len(path) < 2 or path[-2].role is not Role.USER:
            raise BadInput("This reply answers no message, so there is nothing to answer anew.")
        versions = branches.versions(message_id)
        text = answer.text.strip()
        if any(message.id in versions and message.text == text for message in branches.messages):
            return None
        stored = self._store(NewMessage(Role.ASSISTANT, text, origin=Origin.RECALLED), path[-2])
        replied = Replied(
            stored, answer.citations, False, answer.ledger, answer.stop_reason, answer.requirements
        )
        self._note(replied, path[-2], answer.evidence, earlier)
        return stored

    def go_on_from(self, message_id: int) -> None:
        """Take the conversation up at an earlier message: what is said next follows it."""
        self._keeper.leaf = self._known(self._branches(), message_id, None)

    def show(self, message_id: int) -> None:
        """Turn to the newest branch that has this message on it."""
        branches = self._branches()
        self._keeper.leaf = branches.end_of(self._known(branches, message_id, None))

    def delete(self, message_id: int) -> None:
        """Delete a message. Of a kept conversation it can be brought back until the bin is emptied."""
        branches = self._branches()
        path = branches.path(self._keeper.leaf)
        self._known(branches, message_id, None)
        self._keeper.delete(message_id)
        if path[-1].id == message_id and len(path) > 1:
            self._keeper.leaf = path[-2].id

    def _branches(self) -> Branches:
        return Branches(self._keeper.messages())

    def _known(self, branches: Branches, message_id: int, role: Role | None) -> int:
        message = next((m for m in branches.messages if m.id == message_id), None)
        if message is None:
            raise BadInput("This message is not there any more.")
        if role is not None and message.role is not role:
            raise BadInput("Only what you said yourself can be said anew.")
        return message_id

    def _reply(
        self, asked: Message, history: list[Message], by: With, earlier: str | None = None
    ) -> Iterator[Event]:
        ask = Ask(asked, history, self._keeper.system, earlier, think=by.think)
        recall = self._recall_without(self._keeper.session_id)
        recall.leave_out(by.without)
        evidence: Sequence[Evidence] = ()
        earlier_told: Sequence[int] = ()
        for event in reply(ask, lambda said: self._store(said, asked), recall, by.model, by.trust, by.cancel):
            if isinstance(event, Recalled):
                evidence = event.evidence
            elif isinstance(event, NotesMade):
                earlier_told = event.earlier
            elif isinstance(event, Replied):
                self._note(event, asked, evidence, earlier_told, by.without)
            yield event

    def _note(
        self,
        replied: Replied,
        asked: Message,
        evidence: Sequence[Evidence],
        earlier: Sequence[int],
        without: Collection[int] = (),
    ) -> None:
        """Keep what an answer rested on and cost, if there is one."""
        if replied.message is not None:
            kept = StoredReply(
                citations=replied.citations,
                stop_reason=replied.stop_reason,
                ledger=replied.ledger,
                recalled=tuple((item.message.id, item.layer) for item in evidence),
                earlier=tuple(earlier),
                without=tuple(sorted(without)),
                needs=needs_to_keep(replied.requirements, asked.text),
            )
            self._keeper.note(replied.message.id, kept)

    def _store(self, message: NewMessage, before: Message | None) -> Message:
        """Keep a message after ``before``; where that is simply the last one, it needs no saying."""
        last = self._keeper.last()
        if last is not None and (before is None or before.id != last):
            message = replace(message, parent=before.external_id if before else ROOT)
        return self._keeper.add(message)
