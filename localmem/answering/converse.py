"""A reply in the chat: recall, word it or converse, store it; as a generator of events."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from localmem.answering.accounting import count_model, note_forced, spent, taken
from localmem.answering.draft import Draft, draft
from localmem.answering.notes import Note, make_notes
from localmem.answering.prompting import REPLY_TOKENS, chat_prompt, whole
from localmem.answering.question import read_question
from localmem.answering.recall import Recall
from localmem.answering.support import cited
from localmem.answering.wording import Worded, fall_back, word
from localmem.events import UNCHANGED, AnswerDelta, Event, NotesMade, Recalled, Replied
from localmem.models.catalog import ModelRole
from localmem.models.protocols import ChatModel, StopReason, TextDelta, ThoughtDelta
from localmem.roles.trust import Trust
from localmem.types import Ledger, Message, NewMessage, Role

ASKED_CHARACTERS = 300
"""Of an attachment that came without a word: what memory is searched for."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What is replied to."""

    message: Message
    history: Sequence[Message]
    """What was said before it, in order."""
    system: str = ""
    """The person's own system prompt; empty: none."""
    earlier: str | None = None
    """The reply that it already has, when another one is wanted."""
    max_tokens: int = REPLY_TOKENS
    """The longest reply; at most :data:`REPLY_TOKENS`."""
    think: int = 0
    """Tokens that the model may think before it replies freely, at most a quarter of its window."""


def reply(
    ask: Ask,
    store: Callable[[NewMessage], Message],
    recall: Recall,
    model: ChatModel,
    trust: Trust,
    cancel: threading.Event | None = None,
) -> Iterator[Event]:
    """Reply to a message that is stored; the last event is :class:`Replied`.

    A question about what memory holds is answered as ``ask`` answers it: by rule, when the model is not
    trusted to word answers. To anything else it replies freely, with notes when they are relevant. What was
    generated is stored however the reply ends: finished, stopped, the generator closed, the model dead.
    Raises what :meth:`ChatModel.stream` raises.
    """
    text = ask.message.text if ask.message.text.strip() else ask.message.attachments[:ASKED_CHARACTERS]
    question = read_question(text)
    found = recall.find(question)
    notes: list[Note] = []
    rule: Draft | None = None
    asks_memory = False
    if found.relevant():
        asks_memory = not ask.message.attachments and recall.asks_memory(text)
        rule = draft(question, found.parts)
        notes = make_notes(found.sentences, rule)
        used = {note.sentence.message.id for note in notes}
        evidence = tuple(item for item in found.evidence if item.message.id in used)
        taken(recall.ledger, evidence)
        yield Recalled(evidence)
        yield NotesMade(tuple(str(note) for note in notes), checked=asks_memory)
    written = Worded()
    stored: Message | None = None
    try:
        if rule is not None and asks_memory and not trust.trusted:
            yield from fall_back(written, rule, recall.ledger, trust.reason)
        elif rule is not None and asks_memory:
            note_forced(recall.ledger, ModelRole.ANSWERER, trust)
            yield from word(written, text, rule, notes, recall.ledger, model, cancel)
        else:
            yield from _freely(written, ask, notes, recall.ledger, model, cancel)
            written.citations = tuple(cited(written.text, notes))
    finally:
        body = written.text.strip()
        if body and body != ask.earlier:
            stored = store(NewMessage(Role.ASSISTANT, body))
    reason = UNCHANGED if body and stored is None else written.reason.value
    yield Replied(stored, written.citations, written.stopped, recall.ledger, reason)


def _freely(
    written: Worded,
    ask: Ask,
    notes: Sequence[Note],
    ledger: Ledger,
    model: ChatModel,
    cancel: threading.Event | None,
) -> Iterator[Event]:
    """Stream the model's own reply into ``written``."""
    think = min(ask.think, model.context // 4)
    prompt = chat_prompt(
        model,
        ask.history,
        whole(ask.message),
        notes,
        system=ask.system,
        earlier=ask.earlier,
        room=think + REPLY_TOKENS,
    )
    # The state after the system prompt goes to disk: not after what the person wrote into it.
    fixed = 0 if ask.system else 1
    started = time.perf_counter()
    try:
        for piece in model.stream(prompt, max_tokens=ask.max_tokens, fixed=fixed, think=think, cancel=cancel):
            if isinstance(piece, ThoughtDelta):
                yield piece
            elif isinstance(piece, TextDelta):
                written.text += piece.text
                yield AnswerDelta(piece.text)
            else:
                count_model(ledger, piece)
                written.reason = piece.reason
                written.stopped = piece.reason is StopReason.CANCELLED
    finally:
        spent(ledger, "answer", started)
