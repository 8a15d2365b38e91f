"""A reply in the chat: recall, word it or converse, store it; as a generator of events."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from localmem.answering.accounting import count_model, note_forced, spent, taken
from localmem.answering.answer import met_by_draft
from localmem.answering.draft import Draft, draft
from localmem.answering.notes import Note, make_notes, notes_made
from localmem.answering.pinned import with_pinned
from localmem.answering.prompting import REPLY_TOKENS, chat_prompt, whole
from localmem.answering.question import read_question
from localmem.answering.recall import Recall
from localmem.answering.repeating import before_repeating
from localmem.answering.support import cited
from localmem.answering.wording import Worded, fall_back, word
from localmem.events import REPEATED, UNCHANGED, AnswerDelta, Event, Recalled, Replied
from localmem.models.catalog import ModelRole
from localmem.models.limits import Stop
from localmem.models.protocols import ChatModel, Finished, StopReason, ThoughtDelta
from localmem.roles.trust import Trust
from localmem.types import Evidence, Ledger, Message, NewMessage, Origin, Requirement, Role

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
    trusted to word answers. To anything else it replies freely, with notes when they are relevant and with
    what the person pinned. What was generated is stored however the reply ends: finished, stopped, the
    generator closed, the model dead. Raises what :meth:`ChatModel.stream` raises.
    """
    text = ask.message.text if ask.message.text.strip() else ask.message.attachments[:ASKED_CHARACTERS]
    by_rule, notes, evidence, needs = _from_memory(text, recall, attached=bool(ask.message.attachments))
    if notes:
        taken(recall.ledger, evidence)
        yield Recalled(evidence, needs)
        yield notes_made(notes, checked=by_rule is not None)
    written = Worded()
    stored: Message | None = None
    try:
        if by_rule is not None and not trust.trusted:
            yield from fall_back(written, by_rule, recall.ledger, trust.reason)
        elif by_rule is not None:
            note_forced(recall.ledger, ModelRole.ANSWERER, trust)
            yield from word(written, text, by_rule, notes, recall.ledger, model, cancel)
        else:
            yield from _freely(written, ask, notes, recall.ledger, model, cancel)
            written.citations = tuple(cited(written.text, notes))
    finally:
        body = written.text.strip()
        if body and body != ask.earlier:
            # Memory's own answer: it is never learnt from, or an error would confirm itself.
            origin = Origin.SAID if by_rule is None else Origin.RECALLED
            stored = store(NewMessage(Role.ASSISTANT, body, origin=origin))
    reason = REPEATED if written.repeated else written.reason.value
    if body and stored is None:
        reason = UNCHANGED
    yield Replied(stored, written.citations, written.stopped, recall.ledger, reason, needs)


def _from_memory(
    text: str, recall: Recall, *, attached: bool
) -> tuple[Draft | None, list[Note], tuple[Evidence, ...], tuple[Requirement, ...]]:
    """What memory has on a text: the rule's answer if it asks for one, notes, evidence, requirements."""
    question = read_question(text)
    found = recall.find(question)
    asks_memory = not attached and recall.asks_memory(text)
    if not found.relevant():
        needs = recall.required(text, found.evidence) if asks_memory else ()
        return None, *with_pinned((), (), recall.pinned(text)), needs
    rule = draft(question, found.parts)
    notes = make_notes(found.sentences, rule)
    used = {note.sentence.message.id for note in notes}
    evidence = tuple(item for item in found.evidence if item.message.id in used)
    needs = () if attached else recall.required(text, evidence, rule.sources)
    if asks_memory:
        return rule, notes, evidence, met_by_draft(needs, question, rule)
    return None, *with_pinned(notes, evidence, recall.pinned(text)), needs


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
    stop = Stop(cancel)
    started = time.perf_counter()
    try:
        for piece in model.stream(prompt, max_tokens=ask.max_tokens, fixed=fixed, think=think, cancel=stop):
            if isinstance(piece, ThoughtDelta):
                yield piece
            elif isinstance(piece, Finished):
                count_model(ledger, piece)
                written.reason = piece.reason
                written.stopped = piece.reason is StopReason.CANCELLED and not written.repeated
            elif not written.repeated:
                written.text += piece.text
                yield AnswerDelta(piece.text)
                once = before_repeating(written.text)
                if once is not None:
                    written.text, written.repeated = once, True
                    stop.set()
    finally:
        spent(ledger, "answer", started)
