"""The chat: store what the user said, recall, reply, store the reply; as a generator of events."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence

from localmem.answering.accounting import count_model, note_forced, spent, taken
from localmem.answering.draft import Draft, draft
from localmem.answering.notes import Note, make_notes
from localmem.answering.prompting import REPLY_TOKENS, chat_prompt
from localmem.answering.question import read_question
from localmem.answering.recall import Recall
from localmem.answering.support import cited
from localmem.answering.wording import Worded, fall_back, word
from localmem.errors import BadInput
from localmem.events import AnswerDelta, Event, NotesMade, Recalled, Replied, Stored
from localmem.models.catalog import ModelRole
from localmem.models.protocols import ChatMessage, ChatModel, StopReason, TextDelta
from localmem.roles.trust import Trust
from localmem.types import Ledger, Message, NewMessage, Role


def chat(
    text: str,
    history: Sequence[Message],
    store: Callable[[NewMessage], Message],
    recall_without: Callable[[int], Recall],
    model: ChatModel,
    trust: Trust,
    cancel: threading.Event | None = None,
) -> Iterator[Event]:
    """Reply to ``text`` in the session whose messages are ``history``; the last event is :class:`Replied`.

    A question about what memory holds is answered as ``ask`` answers it: by rule, when the model is not
    trusted to word answers. To anything else it replies freely, with notes when they are relevant. Only
    other sessions are recalled: this one is in ``history``. The user's message is stored before anything
    else. What was generated is stored however the reply ends: finished, stopped, the generator closed, the
    model dead. Raises :class:`BadInput` for an empty message and what :meth:`ChatModel.stream` raises.
    """
    if not text.strip():
        raise BadInput("The message is empty.")
    asked = store(NewMessage(Role.USER, text))
    yield Stored(asked)
    recall = recall_without(asked.session_id)
    question = read_question(text)
    found = recall.find(question)
    notes: list[Note] = []
    rule: Draft | None = None
    if found.relevant():
        rule = draft(question, found.parts)
        notes = make_notes(found.sentences, rule)
        used = {note.sentence.message.id for note in notes}
        evidence = tuple(item for item in found.evidence if item.message.id in used)
        taken(recall.ledger, evidence)
        yield Recalled(evidence)
        yield NotesMade(tuple(str(note) for note in notes))
    reply = Worded()
    stored: Message | None = None
    try:
        asks_memory = rule is not None and recall.asks_memory(text)
        if rule is not None and asks_memory and not trust.trusted:
            yield from fall_back(reply, rule, recall.ledger, trust.reason)
        elif rule is not None and asks_memory:
            note_forced(recall.ledger, ModelRole.ANSWERER, trust)
            yield from word(reply, text, rule, notes, recall.ledger, model, cancel)
        else:
            yield from _freely(reply, chat_prompt(model, history, text, notes), recall.ledger, model, cancel)
            reply.citations = tuple(cited(reply.text, notes))
    finally:
        if body := reply.text.strip():
            stored = store(NewMessage(Role.ASSISTANT, body))
    yield Replied(stored, reply.citations, reply.stopped, recall.ledger)


def _freely(
    reply: Worded,
    prompt: Sequence[ChatMessage],
    ledger: Ledger,
    model: ChatModel,
    cancel: threading.Event | None,
) -> Iterator[Event]:
    """Stream the model's own reply into ``reply``."""
    started = time.perf_counter()
    try:
        for piece in model.stream(prompt, max_tokens=REPLY_TOKENS, fixed=1, cancel=cancel):
            if isinstance(piece, TextDelta):
                reply.text += piece.text
                yield AnswerDelta(piece.text)
            else:
                count_model(ledger, piece)
                reply.stopped = piece.reason is StopReason.CANCELLED
    finally:
        spent(ledger, "answer", started)
