"""A :class:`~localmem.models.protocols.ChatModel` that says what it was told to say."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from localmem.models.errors import ModelTimeout, PromptTooLong
from localmem.models.protocols import ChatMessage, Finished, Generated, Sampling, StopReason
from localmem.models.thinking import TAGS
from localmem.models.thinking import Reply as Delivery

Reply = str | Exception
Script = Callable[[tuple[ChatMessage, ...]], Reply]

_PIECE = re.compile(r"\s*\S+|\s+$")


class ScriptedModel:
    """Replies from a list, in order, or from a function of the prompt.

    A token is a word. What a reply has from ``<think>`` at its beginning to ``</think>`` is thought, not
    said. A reply that is an exception is raised where the model would have started to write, so that
    failures can be scripted too. ``history`` keeps every prompt it was given.
    A list that has run out raises ``AssertionError``: a test asked for more than it scripted.
    """

    def __init__(
        self, replies: Iterable[Reply] | Script = (), *, name: str = "scripted", context: int = 8192
    ) -> None:
        self._script = replies if callable(replies) else None
        self._queue: deque[Reply] = deque() if callable(replies) else deque(replies)
        self._name = name
        self._context = context
        self.history: list[tuple[ChatMessage, ...]] = []

    @property
    def name(self) -> str:
        """The name it was given."""
        return self._name

    @property
    def fingerprint(self) -> str:
        """``sha256:...`` of the name: there are no weights."""
        return "sha256:" + hashlib.sha256(self._name.encode()).hexdigest()

    @property
    def context(self) -> int:
        """Window in words."""
        return self._context

    def enqueue(self, *replies: Reply) -> None:
        """Add replies to the end of the list."""
        if self._script is not None:
            raise TypeError("this model's replies come from a function")
        self._queue.extend(replies)

    def count(self, messages: Sequence[ChatMessage]) -> int:
        """Words of the messages, one more for each role."""
        return sum(1 + len(message.text.split()) for message in messages)

    def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        max_tokens: int,
        fixed: int = 0,
        grammar: str | None = None,
        sampling: Sampling | None = None,
        think: int = 0,
        cancel: threading.Event | None = None,
        deadline: float | None = None,
    ) -> Iterator[Generated]:
        """Stream the next reply word by word; see :meth:`ChatModel.stream`.

        A script is not held to a ``grammar``, and nothing is drawn: it stands for any model.
        """
        started = time.monotonic()
        prompt = tuple(messages)
        read = self.count(prompt)
        if read + think + max_tokens > self._context:
            raise PromptTooLong(
                f"The prompt has {read} tokens and {think + max_tokens} are asked for; "
                f"{self._name} has a window of {self._context}."
            )
        self.history.append(prompt)
        reply = self._next(prompt)
        if isinstance(reply, Exception):
            raise reply
        first = time.monotonic()
        written, most = 0, max_tokens
        reason = StopReason.END
        delivery = Delivery([] if grammar else TAGS)
        for piece in _PIECE.findall(reply):
            if cancel is not None and cancel.is_set():
                reason = StopReason.CANCELLED
                break
            if deadline is not None and time.monotonic() - started > deadline:
                raise ModelTimeout(f"{self._name} did not finish within {deadline:g} seconds.")
            if written == most:
                reason = StopReason.LENGTH
                break
            written += 1
            thought = delivery.closing_tag
            yield from delivery.feed(piece.encode("utf-8", "replace"))
            if thought or delivery.closing_tag:
                most = max_tokens + min(written, think)
        yield from delivery.end(whole=reason is StopReason.END)
        yield Finished(reason, read, 0, written, first - started, time.monotonic() - first)

    def close(self) -> None:
        """Nothing to free."""

    def _next(self, prompt: tuple[ChatMessage, ...]) -> Reply:
        if self._script is not None:
            return self._script(prompt)
        if not self._queue:
            raise AssertionError(f"{self._name} was asked {len(self.history)} times; it has no reply left")
        return self._queue.popleft()
