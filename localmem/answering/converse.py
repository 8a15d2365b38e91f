"""The chat: store what the user said, recall, reply, store the reply; as a generator of events."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence

from localmem.answering.draft import draft
from localmem.answering.notes import Note, make_notes
from localmem.answering.prompting import REPLY_TOKENS, chat_prompt
from localmem.answering.question import read_question
from localmem.answering.recall import Recall, relevant
from localmem.answering.support import cited
from localmem.errors import BadInput
from localmem.events import AnswerDelta, Event, NotesMade, Recalled, Replied, Stored
from localmem.models.protocols import ChatModel, StopReason, TextDelta
from localmem.types import Message, NewMessage, Role


def chat(
    text: str,
    history: Sequence[Message],
    store: Callable[[NewMessage], Message],
    recall_without: Callable[[int], Recall],
    model: ChatModel,
    cancel: threading.Event | None = None,
) -> Iterator[Event]:
    """Reply to ``text`` in the session whose messages are ``history``; the last event is :class:`Replied`.

    The user's message is stored before anything else. What was generated is stored however the reply
    ends: finished, stopped, the generator closed, the model dead. Only other sessions are recalled: this
    one is in ``history``. Raises :class:`BadInput` for an empty
    message and what :meth:`ChatModel.stream` raises.
    """
    if not text.strip():
        raise BadInput("The message is empty.")
    asked = store(NewMessage(Role.USER, text))
    yield Stored(asked)
    recall = recall_without(asked.session_id)
    evidence, sentences = recall.find(text)
    notes: list[Note] = []
    if relevant(sentences):
        rule = draft(read_question(text), [sentences])
        notes = make_notes(sentences, rule.sentences)
        used = {note.sentence.message.id for note in notes}
        evidence = [item for item in evidence if item.message.id in used]
        recall.read(evidence)
        yield Recalled(tuple(evidence))
        yield NotesMade(tuple(str(note) for note in notes))
    started = time.perf_counter()
    written: list[str] = []
    stopped = False
    reply: Message | None = None
    try:
        prompt = chat_prompt(model, history, text, notes)
        for piece in model.stream(prompt, max_tokens=REPLY_TOKENS, cancel=cancel):
            if isinstance(piece, TextDelta):
                written.append(piece.text)
                yield AnswerDelta(piece.text)
            else:
                recall.count_model(piece)
                stopped = piece.reason is StopReason.CANCELLED
    finally:
        recall.spent("answer", started)
        body = "".join(written).strip()
        if body:
            reply = store(NewMessage(Role.ASSISTANT, body))
    yield Replied(reply, tuple(cited(body, notes)), stopped, recall.ledger)
