"""Prompts that fit: material is dropped whole, least useful first, and never cut."""

from __future__ import annotations

from collections.abc import Sequence

from localmem.answering.draft import Draft
from localmem.answering.notes import Note
from localmem.errors import PromptTooLong
from localmem.models.catalog import ModelRole
from localmem.models.protocols import ChatMessage, ChatModel
from localmem.prompts import render
from localmem.roles.task import Task
from localmem.roles.window import pieces_that_fit
from localmem.text import fenced
from localmem.types import Message, Role

ANSWER = Task("answer", ModelRole.ANSWERER, max_tokens=96)
"""One sentence."""
REPLY_TOKENS = 400
"""Longest reply in the chat."""
THINK_TOKENS = 1024
"""Longest thinking before a reply, where it is wanted: 10 to 60 seconds of a small model."""
DROPPED = 8
"""Exchanges that leave a full prompt together."""


def answer_prompt(
    model: ChatModel, question: str, notes: Sequence[Note], draft: Draft
) -> list[ChatMessage] | None:
    """The prompt for an answer with as many notes as the window holds; None when not one fits.

    The draft's own notes stay longest.
    """
    useful = sorted(notes, key=lambda note: (note.sentence not in draft.sentences, -note.sentence.relevance))
    fixed = ANSWER.fixed(model)

    def build(more: int) -> list[ChatMessage]:
        kept = useful[: more + 1]
        chosen = listed([note for note in notes if note in kept])
        return [*fixed, ANSWER.ask(notes=chosen, draft=fenced(draft.text), question=question)]

    more = pieces_that_fit(model, build, len(useful) - 1, ANSWER.max_tokens) if useful else None
    return None if more is None else build(more)


def chat_prompt(
    model: ChatModel,
    history: Sequence[Message],
    text: str,
    notes: Sequence[Note],
    *,
    system: str = "",
    earlier: str | None = None,
    room: int = REPLY_TOKENS,
) -> list[ChatMessage]:
    """The prompt for a reply of at most ``room`` tokens.

    The oldest exchanges are dropped first, then the notes, those that were pinned last.

    ``system`` is the person's own system prompt. ``earlier`` is the reply that ``text`` has already:
    another one is asked for then.

    Exchanges go several at a time: for the next turns the prompt begins as it did, and what the
    model has read of it is reused.
    Raises :class:`PromptTooLong` when ``text`` alone leaves no room for a reply.
    """
    rules = render("chat.system")
    first = ChatMessage("system", f"{rules}\n\n{system}" if system else rules)
    again = (
        []
        if earlier is None
        else [ChatMessage("assistant", earlier), ChatMessage("user", render("chat.again"))]
    )
    past = [ChatMessage("user" if m.role is Role.USER else "assistant", whole(m)) for m in history]
    starts = [0, *(i for i, m in enumerate(past) if i and m.role == "user")] if past else []
    useful = sorted(notes, key=lambda note: (not note.pinned, -note.sentence.relevance))

    def build(pieces: int) -> list[ChatMessage]:
        kept = useful[:pieces]
        chosen = [note for note in notes if note in kept]
        ask = render("chat.recall", notes=listed(chosen), message=text) if kept else text
        exchanges = pieces - len(kept)
        recent = past[starts[-exchanges] :] if exchanges else []
        return [first, *recent, ChatMessage("user", ask), *again]

    pieces = pieces_that_fit(model, build, len(useful) + len(starts), room)
    if pieces is None:
        raise PromptTooLong(
            f"The message is too long for {model.name}, which has room for {model.context - room} "
            f"tokens. Shorten it, or choose a model with a larger window: localmem models list"
        )
    exchanges = max(pieces - len(useful), 0)
    spare = -(len(starts) - exchanges) % DROPPED
    return build(pieces - spare if spare <= exchanges / 2 else pieces)


def whole(message: Message) -> str:
    """What was said, with what was attached to it."""
    if not message.attachments:
        return message.text
    return "\n\n".join(filter(None, (message.text, render("chat.attached", text=message.attachments))))


def listed(notes: Sequence[Note]) -> str:
    """Notes as a fenced list."""
    return "\n".join(f"- {fenced(str(note))}" for note in notes)
