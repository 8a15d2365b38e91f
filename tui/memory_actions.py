"""What the commands about memory do: look at an answer's evidence, and at all that memory holds."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from localmem.answering.prompting import REPLY_TOKENS
from localmem.disclosure.agent import Agent
from localmem.disclosure.budget import EFFORTS
from localmem.events import Event
from localmem.layers.idle import IdleBuilder
from localmem.models.protocols import ChatModel
from localmem.tui.basis import Basis
from localmem.tui.composer import Composer
from localmem.tui.evidence import Evidence, Left
from localmem.tui.memory_browser import MemoryBrowser
from localmem.tui.session_actions import SessionActions
from localmem.tui.text import cost_line, end_note, one_line
from localmem.types import Message, Role


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
        basis = self._basis_of(answer) if answer is not None else None
        if answer is None or basis is None:
            self.say("There is no answer of this chat here that memory was searched for.")
            return
        place = self.talk.way.place(answer.id) or 0
        before = self.talk.way.messages[:place]
        question = next((m for m in reversed(before) if m.role is Role.USER), None)
        self._show(question, answer, basis)

    def _basis_of(self, answer: Message) -> Basis | None:
        """What an answer rests on: as it was seen, or as it is kept."""
        if answer.id in self.talk.bases:
            return self.talk.bases[answer.id]
        kept = self.memory.replies([answer.id]).get(answer.id)
        if kept is None:
            return None
        cost = cost_line(kept.ledger, end_note(kept.stop_reason, REPLY_TOKENS))
        steps = [] if not kept.ledger.records else ["what was recalled but not cited is not kept"]
        return Basis(cited=kept.citations, cost=cost, steps=steps, over=True)

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

        def ask(cancel: threading.Event) -> Iterator[Event]:
            agent = Agent(EFFORTS["high"], without_session=session_id)
            with talk.held():
                yield from self.memory.answer(text, model=model, trust=talk.trust, cancel=cancel, agent=agent)

        def left(how: Left | None) -> None:
            self.call_later(self._left, how or Left(), answer, basis)

        self.app.push_screen(Evidence(self.memory, text, basis, None if why_not else ask, why_not), left)

    async def _left(self, how: Left, answer: Message | None, basis: Basis) -> None:
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
            composer = self.query_one(Composer)
            composer.write(f"“{one_line(how.correct.text)}” is wrong. Right is: ")
            composer.focus()
        elif how.without is not None and answer_id is not None and not self.refuse() and not self.read_only():
            model = self.model_or_refusal()
            if model is not None:
                self.talk.answer_again(answer_id, model, basis.without | {how.without})
                self.refresh_bindings()
