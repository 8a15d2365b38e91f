"""A typed value from a model: grammar for shape, pydantic for meaning, one repair turn, or a typed error.

A hosted model is held to the grammar; the parser trusts no model to be. It takes the first JSON object of
the reply, whatever stands around it, and guesses nothing: what is missing, cut off or badly escaped makes the
reply unusable.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from localmem.models.errors import Cancelled, Fault, ModelError, PromptTooLong, ReplyUnusable
from localmem.models.grammar import grammar_of
from localmem.models.limits import Stop
from localmem.models.protocols import ChatMessage, ChatModel, Finished, StopReason, ThoughtDelta

T = TypeVar("T", bound=BaseModel)

_SHOWN = 400  # characters of a failed reply that the repair turn shows
_NAMED = 3  # problems of a value that it names
_PROBLEM = 160  # characters of each
_START = re.compile(r'(\[\s*)?\{\s*["}]')  # a brace without a quote after it is prose
_DECODER = json.JSONDecoder(strict=False)  # a bare line end in a string means a line end


@dataclass(frozen=True, slots=True)
class Structured(Generic[T]):
    """A valid value and what it cost."""

    value: T
    cost: tuple[Finished, ...]
    """One for each model call."""
    repaired: bool
    """The first reply was unusable, the second was not."""


def ask(
    model: ChatModel,
    messages: Sequence[ChatMessage],
    schema: type[T],
    *,
    max_tokens: int,
    fixed: int = 0,
    cancel: threading.Event | None = None,
    deadline: float | None = None,
) -> Structured[T]:
    """Ask for JSON of the type ``schema``, once more if the first reply is unusable.

    ``max_tokens`` is for each of the two replies, ``deadline`` (seconds from now) for both together; see
    :meth:`ChatModel.stream <localmem.models.protocols.ChatModel.stream>` for the rest.

    Raises :class:`ReplyUnusable` with the last reply's fault, :class:`ModelTimeout`, :class:`ModelCrashed`,
    :class:`PromptTooLong` (for ``messages``; a repair turn without room is left out), :class:`Cancelled` when
    ``cancel`` was set. Each has the calls made in ``cost``.
    """
    call = _Call(model, grammar_of(schema), max_tokens, fixed, cancel, deadline)
    try:
        reply = call.reply(messages)
        try:
            return Structured(parse(reply, schema), tuple(call.cost), repaired=False)
        except ReplyUnusable as error:
            problem = error
        try:
            reply = call.reply([*messages, *_repair(reply, problem)])
        except PromptTooLong:
            raise problem from None
        return Structured(parse(reply, schema), tuple(call.cost), repaired=True)
    except (ModelError, Cancelled) as error:
        error.cost = tuple(call.cost)
        raise


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model wrote."""

    text: str
    cut: bool = False
    """It had reached ``max_tokens``."""


def parse(reply: Reply, schema: type[T]) -> T:
    """The value in a reply; raises :class:`ReplyUnusable`, whose text says in few words what is wrong."""
    try:
        return schema.model_validate_json(_first_object(reply), strict=True)
    except ValidationError as error:
        raise _unusable("wrong value", f"the value does not fit: {_problems(error)}") from error


def _first_object(reply: Reply) -> str:
    """The first JSON object of a reply, past any thinking, prose and code fence, in strict JSON."""
    text = _after_thinking(reply.text)
    start = _START.search(text)
    if start is None:
        if not text.strip():
            raise _unusable("empty", "the reply is empty")
        raise _unusable("no JSON", "the reply has no JSON object")
    if start[1]:
        raise _unusable("wrong value", "the reply is a list, not one object")
    try:
        found, _ = _DECODER.raw_decode(text, start.start())
        return json.dumps(found)
    except RecursionError as error:
        raise _unusable("broken JSON", "the reply is nested too deeply") from error
    except ValueError as error:  # of a number with thousands of digits too
        if reply.cut:
            raise _unusable("cut off", "the reply was cut off at its longest length") from error
        why = error.msg if isinstance(error, json.JSONDecodeError) else "a number is too long"
        raise _unusable("broken JSON", f"the reply has broken JSON: {why}") from error


def _after_thinking(text: str) -> str:
    """``text`` without what a model thought before it answered; empty while it still thinks."""
    if text.lstrip().startswith("{"):
        return text
    answer = text.rpartition("</think>")[2]  # the opening tag may have been in the prompt
    return answer.partition("<think>")[0]


def _unusable(fault: Fault, message: str) -> ReplyUnusable:
    return ReplyUnusable(message, fault)


def _problems(error: ValidationError) -> str:
    named = []
    for problem in error.errors(include_url=False, include_input=False)[:_NAMED]:
        place = ".".join(map(str, problem["loc"]))
        named.append(f"{place}: {problem['msg']}".removeprefix(": ")[:_PROBLEM])
    return "; ".join(named)


def _repair(reply: Reply, problem: ReplyUnusable) -> list[ChatMessage]:
    """The failed reply as far as it needs to be seen, and what is wrong with it."""
    shown = _after_thinking(reply.text).strip()
    if len(shown) > _SHOWN:
        shown = f"{shown[:_SHOWN].rstrip()} ..."
    again = f"This cannot be used: {problem}. Reply again, shortly, with only one JSON object as asked."
    return [ChatMessage("assistant", shown or "(nothing)"), ChatMessage("user", again)]


class _Call:
    """The model calls of one question, under one deadline."""

    def __init__(
        self,
        model: ChatModel,
        grammar: str,
        max_tokens: int,
        fixed: int,
        cancel: threading.Event | None,
        deadline: float | None,
    ) -> None:
        self._model = model
        self._grammar = grammar
        self._max_tokens = max_tokens
        self._fixed = fixed
        self._cancel = cancel
        self._end = None if deadline is None else time.monotonic() + deadline
        self.cost = list[Finished]()

    def reply(self, messages: Sequence[ChatMessage]) -> Reply:
        """Let the model write until its object is complete; raises :class:`Cancelled`."""
        stop = Stop(self._cancel)
        text = ""
        complete = False
        reason = StopReason.END
        for event in self._model.stream(
            messages,
            max_tokens=self._max_tokens,
            fixed=self._fixed,
            grammar=self._grammar,
            cancel=stop,
            deadline=None if self._end is None else max(self._end - time.monotonic(), 0.0),
        ):
            if isinstance(event, Finished):
                self.cost.append(event)
                reason = event.reason
            elif isinstance(event, ThoughtDelta):
                continue
            elif complete:
                # Not before: under a grammar only the end can follow, and a model that ends by itself is
                # not at risk of being killed for stopping too slowly on a busy machine.
                stop.set()
            else:
                text += event.text
                complete = "}" in event.text and _is_complete(text)
        if reason is StopReason.CANCELLED and not complete:
            raise Cancelled("The question to the model was stopped.")
        return Reply(text, cut=reason is StopReason.LENGTH)


def _is_complete(text: str) -> bool:
    try:
        _first_object(Reply(text))
    except ReplyUnusable:
        return False
    return True
