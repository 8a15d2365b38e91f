"""Prompts that fit: material is dropped whole, least useful first, and never cut."""

from __future__ import annotations

from collections.abc import Sequence

from localmem.answering.draft import Draft
from localmem.answering.notes import Note
from localmem.models.protocols import ChatMessage, ChatModel
from localmem.prompts import render
from localmem.types import Message, Role

ANSWER_TOKENS = 96
"""Longest answer: one sentence."""
REPLY_TOKENS = 400
"""Longest reply in the chat."""


def answer_prompt(
    model: ChatModel, question: str, notes: Sequence[Note], draft: Draft
) -> list[ChatMessage] | None:
    """The prompt for an answer with as many notes as the window holds; None when not one fits.

    The draft's own notes stay longest.
    """
    kept = sorted(notes, key=lambda note: (note.sentence not in draft.sentences, -note.sentence.relevance))
    while kept:
        chosen = [note for note in notes if note in kept]
        prompt = [
            ChatMessage("system", render("answer.system")),
            ChatMessage(
                "user",
                render("answer.ask", notes=listed(chosen), draft=fenced(draft.text), question=question),
            ),
        ]
        if model.count(prompt) + ANSWER_TOKENS <= model.context:
            return prompt
        kept.pop()
    return None


def chat_prompt(
    model: ChatModel, history: Sequence[Message], text: str, notes: Sequence[Note]
) -> list[ChatMessage]:
    """The prompt for a reply. The oldest exchanges are dropped first, then the notes.

    What is left may still exceed the window when ``text`` alone does; the model then refuses it.
    """
    past = [ChatMessage("user" if m.role is Role.USER else "assistant", m.text) for m in history]
    kept = list(notes)
    while True:
        ask = render("chat.recall", notes=listed(kept), message=text) if kept else text
        prompt = [ChatMessage("system", render("chat.system")), *past, ChatMessage("user", ask)]
        if model.count(prompt) + REPLY_TOKENS <= model.context or not (past or kept):
            return prompt
        if past:
            past = past[next((i for i, m in enumerate(past) if i and m.role == "user"), len(past)) :]
        else:
            kept.remove(min(kept, key=lambda note: note.sentence.relevance))


def listed(notes: Sequence[Note]) -> str:
    """Notes as a fenced list."""
    return "\n".join(f"- {fenced(str(note))}" for note in notes)


def fenced(text: str) -> str:
    """Recalled text on one line, so that it cannot imitate the prompt's own structure."""
    return " ".join(text.split())
