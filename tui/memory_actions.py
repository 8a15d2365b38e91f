"""What the commands about memory do: look at an answer's evidence, and at all that memory holds."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import replace

from localmem.answering.sentences import split_sentences
from localmem.dates import dates_in
from localmem.disclosure.agent import Agent
from localmem.disclosure.budget import Budget
from localmem.events import Event
from localmem.index.tokens import terms
from localmem.layers.idle import IdleBuilder
from localmem.models.protocols import ChatModel
from localmem.text import printable
from localmem.tui.basis import Basis, kept_basis
from localmem.tui.composer import Composer
from localmem.tui.evidence import Evidence, Left
from localmem.tui.memory_browser import MemoryBrowser
from localmem.tui.session_actions import SessionActions
from localmem.tui.text import one_line
from localmem.types import Message, Role

LONGEST = 1000
"""Characters of a sentence that is to be corrected."""


class MemoryActions(SessionActions):
    """One method for each command."""

    model: ChatModel | None
    idle: IdleBuilder | None

    def action_memory(self, sought: str = "") -> None:
        """Look at what memory holds."""
        if not self.refuse():
            self.app.push_screen(MemoryBrowser(self.memory, self.idle, sought), self._found)

    def _found(self, message: Message | None) -> None:
        if message is not None:
            self.open_session(message.session_id, message.id)

    def action_evidence(self) -> None:
        """What the selected answer rests on, or the last one, or the one that is being written."""
        if self.talk.cancel is not None:
            question = self.target(Role.USER)
            self._show(question, None, self.talk.basis)
            return
        answer = self.target(Role.ASSISTANT)
        place = self.talk.way.place(answer.id) or 0 if answer else 0
        before = self.talk.way.messages[:place]
        question = next((m for m in reversed(before) if m.role is Role.USER), None)
        basis = self._basis_of(answer, question) if answer is not None else None
        if answer is None or basis is None:
            self.say("There is no answer of this chat here that memory was searched for.")
            return
        self._show(question, answer, basis)

    def _basis_of(self, answer: Message, question: Message | None) -> Basis | None:
        """What an answer rests on: as it was seen, or as it is kept."""
        if answer.id not in self.talk.bases:
            kept = self.memory.replies([answer.id]).get(answer.id)
            if kept is None:
                return None
            self.talk.bases[answer.id] = kept_basis(kept, question.text if question else "")
        return self.talk.bases[answer.id]

    def _show(self, question: Message | None, answer: Message | None, basis: Basis) -> None:
        text = question.text if question else ""
        why_not = ""
        if self.talk.dialogue.private:
            why_not = "A private chat keeps nothing, and to ask deeper keeps a trace of the question."
        elif not text.strip():
            why_not = "There is no question that could be asked again."
        elif basis.without:
            why_not = "This answer leaves messages out; to ask deeper would bring them back."
        model, talk, session_id = self.model, self.talk, self.talk.dialogue.session_id

        asked = question.sent_at if question else None

        def ask(budget: Budget, trace: int | None, cancel: threading.Event) -> Iterator[Event]:
            home = self.memory.home
            by_home = home.agent("agent", budget, asked, use_model=True) if home else None
            agent = replace(by_home or Agent(budget, asked=asked), without_session=session_id)
            with talk.held():
                if trace is None:
                    yield from self.memory.answer(
                        text, model=model, trust=talk.trust, cancel=cancel, agent=agent
                    )
                else:
                    yield from self.memory.resume(
                        trace, model=model, trust=talk.trust, cancel=cancel, agent=agent
                    )

        def left(how: Left | None) -> None:
            self.call_later(self._left, how or Left(), answer, basis, text)

        self.app.push_screen(Evidence(self.memory, text, basis, None if why_not else ask, why_not), left)

    async def _left(self, how: Left, answer: Message | None, basis: Basis, question: str) -> None:
        # A reply that was being written when the panel was opened is known by what it rests on.
        answer_id = answer.id if answer else next((i for i, b in self.talk.bases.items() if b is basis), None)
        if how.forgotten:
            self.talk.bases.clear()
            self.read_history()
            self.say(
                "Forgotten. Copies made outside of this memory are not reached: localmem forget names them."
            )
        if how.session_id is not None:
            self.open_session(how.session_id, how.message_id)
        elif how.forgotten and self.talk.dialogue.session_id is not None:
            await self._show_changes(self.talk.dialogue.session_id)
        elif how.correct is not None:
            self._correct(how.correct, question)
        elif how.keep is not None and answer_id is not None and not self.refuse():
            self._keep(answer_id, how.keep)
        elif how.toggled is not None and answer_id is not None and not self.refuse() and not self.read_only():
            model = self.model_or_refusal()
            if model is not None:
                self.talk.answer_again(answer_id, model, basis.without ^ {how.toggled})
                self.refresh_bindings()

    def _correct(self, wrong: Message, question: str) -> None:
        """Let the person write what is right: in the same words, so that it is found where the other was."""
        if self.read_only():
            return
        composer = self.query_one(Composer)
        composer.write(said_about(question, wrong))
        composer.focus()
        self.say("Change it to what is right and send it. What was said last counts.")

    def _keep(self, answer_id: int, deeper: Basis) -> None:
        """Put a deeper answer beside one of the chat."""
        answer = deeper.answer
        assert answer is not None
        if len(self.memory.messages_by_id(answer.citations)) < len(answer.citations):
            self.say("What this answer rests on is not there any more, so it is not kept.")
            return
        found: list[Message | None] = []
        dialogue = self.talk.dialogue
        if not self.attempt(lambda: found.append(dialogue.keep(answer_id, answer, deeper.earlier))):
            return
        kept = found[0]
        if kept is None:
            self.say("The chat has this very answer already, so nothing was added.")
            return
        self.talk.bases[kept.id] = replace(deeper, answer=None, deeper=deeper)
        self.read_history()
        self.talk.reopen(kept.id)
        self.say("Kept as another version of the answer: Left and Right turn to the others.")


def said_about(question: str, message: Message) -> str:
    """The sentence of a message that has most to do with a question, as it can be said anew today.

    Who else said it stands before it, and dates stand for "yesterday": it is not said on the same day.
    """
    asked = set(terms(question))
    sentences = split_sentences(message.text) or [message.text]
    best = max(sentences, key=lambda sentence: len(asked.intersection(terms(sentence))))
    if message.sent_at is not None:
        for mention in reversed(dates_in(best, message.sent_at.date())):
            start, end = mention.span
            if not re.search(r"\d{4}", best[start:end]):
                best = f"{best[:start]}{mention}{best[end:]}"
    who = f"{one_line(message.speaker)}: " if message.speaker else ""
    return who + printable(best)[:LONGEST]
