"""How much of a conversation a model reads again that it had read before."""

from __future__ import annotations

from typing import Any

from localmem.bench.conversation import QUESTIONS, RULES, SUMMARISE, summary_prompt
from localmem.models.costlaw import writing_of
from localmem.models.protocols import ChatMessage, ChatModel, Finished, TextDelta


class Rereading:
    """Sums over calls: their prompt tokens, those known from earlier calls, and those of them read again."""

    def __init__(self) -> None:
        self.prompt = 0
        self.known = 0
        self.again = 0

    def add(self, call: Finished, known: int) -> None:
        """Count a call whose prompt began with ``known`` tokens that the model had evaluated before."""
        prompt = call.tokens_reused + call.tokens_read
        known = min(known, prompt - 1)  # the last token is always read: its logits are needed
        self.prompt += prompt
        self.known += known
        self.again += max(known - call.tokens_reused, 0)

    def shares(self) -> dict[str, Any]:
        """Shares of all prompt tokens."""
        return {
            "prompt_tokens": self.prompt,
            "reread_tokens": self.again,
            "reread_share": self.again / self.prompt,
            "reread_share_without_reuse": self.known / self.prompt,
        }


def ten_turns(model: ChatModel, written: int, *, summaries: bool) -> dict[str, Any]:
    """Ten turns in which the model's own answers stay; with ``summaries`` another role asks in between."""
    counted = Rereading()
    messages = [RULES]
    known = 0  # tokens that the next prompt begins with and the model has evaluated
    rules_known = 0  # of the summaries' fixed beginning
    for turn, question in enumerate(QUESTIONS):
        messages.append(ChatMessage("user", question))
        text, call = _ask(model, messages, written)
        counted.add(call, known)
        messages.append(ChatMessage("assistant", text))
        evaluated = writing_of(call)
        known = call.tokens_reused + call.tokens_read + (evaluated.count if evaluated else 0)
        if summaries:
            counted.add(_ask(model, summary_prompt(turn), written)[1], rules_known)
            rules_known = model.count([SUMMARISE])
    return {"turns": len(QUESTIONS), **counted.shares()}


def _ask(model: ChatModel, messages: list[ChatMessage], written: int) -> tuple[str, Finished]:
    *pieces, last = model.stream(messages, max_tokens=written, fixed=1)
    assert isinstance(last, Finished)
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)), last
