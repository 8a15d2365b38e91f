"""``/v1/chat/completions``: recall, reply, store; in one piece or as server-sent events."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from localmem.answering.prompting import REPLY_TOKENS
from localmem.events import AnswerDelta, Event, Fallback, NotesMade, Recalled, Replied, Stored
from localmem.models.protocols import StopReason
from localmem.resent import Conversation
from localmem.servers.openai_shapes import BadRequest, ChatRequest, usage
from localmem.shapes import evidence_json, ledger_json
from localmem.types import Evidence, Message, NewMessage, Role

MODEL = "localmem"
"""Replies with what memory holds, and remembers the conversation."""
PRIVATE_MODEL = "localmem-private"
"""The same, and remembers nothing; for the titles and tags that chat programs ask for by themselves."""
SOURCE = "endpoint"
"""The source of sessions held through the endpoint."""


def conversation_of(request: ChatRequest, session: str | None) -> Conversation:
    """What a client sent, as a conversation. System prompts are heeded and not stored; tools are passed over.

    Raises :class:`BadRequest` for a model that is not ours, :class:`BadInput` if nothing is asked.
    """
    if request.model not in (MODEL, PRIVATE_MODEL):
        raise BadRequest(
            f"There is no model {request.model!r}. Models: {MODEL}, {PRIVATE_MODEL}.",
            "model",
            404,
            "model_not_found",
        )
    system = [m.text for m in request.messages if m.role in ("system", "developer")]
    told = tuple(
        NewMessage(Role(m.role), m.text)
        for m in request.messages
        if m.role in ("user", "assistant") and m.text.strip()
    )
    return Conversation(
        told,
        f"{SOURCE}:{request.user}" if request.user else SOURCE,
        session,
        system="\n\n".join(system),
        max_tokens=request.limit or REPLY_TOKENS,
        keep=request.store is not False and request.model != PRIVATE_MODEL,
    )


@dataclass(slots=True)
class Reply:
    """A reply on its way to a client, in the shapes of the API."""

    model: str
    identity: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))
    text: str = ""
    """What may be sent of it."""
    _asked: Message | None = None
    _evidence: tuple[Evidence, ...] = ()
    _checked: bool = False
    _end: Replied | None = None

    async def follow(self, events: AsyncGenerator[Event]) -> AsyncGenerator[str]:
        """Yield what may be sent, piece by piece.

        An answer that is checked at its end waits for that: what was sent cannot be taken back.
        """
        held = ""
        async with aclosing(events):
            async for event in events:
                match event:
                    case Stored(message):
                        self._asked = message
                    case Recalled(evidence):
                        self._evidence = evidence
                    case NotesMade(checked=checked):
                        self._checked = checked
                    case Fallback():
                        held = ""
                    case AnswerDelta(text) if self._checked:
                        held += text
                    case AnswerDelta(text):
                        self.text += text
                        yield text
                    case Replied():
                        self._end = event
        if held:
            self.text += held
            yield held

    def whole(self) -> dict[str, object]:
        """The reply in one piece."""
        message = {"role": "assistant", "content": self.text}
        choice = {"index": 0, "message": message, "finish_reason": self._reason, "logprobs": None}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self.usage(), **self._more()}

    def chunk(self, text: str = "", *, role: bool = False) -> dict[str, object]:
        """A piece of the reply."""
        delta = {"role": "assistant", "content": text} if role else {"content": text}
        return self._chunk([{"index": 0, "delta": delta, "finish_reason": None}])

    def last_chunk(self) -> dict[str, object]:
        """The end of the reply, with what it rests on and what it cost."""
        end = {"index": 0, "delta": {}, "finish_reason": self._reason}
        return {**self._chunk([end]), **self._more()}

    def usage_chunk(self) -> dict[str, object]:
        """The tokens, where the client asks for them."""
        return {**self._chunk([]), "usage": self.usage()}

    def usage(self) -> dict[str, object]:
        """Tokens read and written."""
        if self._end is None:
            return usage(0, 0)
        ledger = self._end.ledger
        return usage(ledger.tokens_read + ledger.tokens_reused, ledger.tokens_written)

    @property
    def _reason(self) -> str:
        return "length" if self._end and self._end.stop_reason == StopReason.LENGTH else "stop"

    def _head(self, kind: str) -> dict[str, object]:
        return {"id": self.identity, "object": kind, "created": self.created, "model": self.model}

    def _chunk(self, choices: list[dict[str, object]]) -> dict[str, object]:
        return {**self._head("chat.completion.chunk"), "choices": choices}

    def _more(self) -> dict[str, object]:
        """The extra field: the session, the messages that the reply cites, and the ledger."""
        cited = set(self._end.citations) if self._end else set()
        stored = self._asked.session_id if self._asked and self._asked.session_id else None
        return {
            "localmem": {
                "session_id": stored,
                "citations": [evidence_json(i) for i in self._evidence if i.message.id in cited],
                "recalled": len(self._evidence),
                "ledger": ledger_json(self._end.ledger) if self._end else None,
            }
        }
