"""A task for a model: a fixed prefix, material that changes, a typed value back."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

from localmem.errors import ModelError
from localmem.models.catalog import ModelRole
from localmem.models.protocols import ChatMessage, ChatModel, Finished
from localmem.models.structured import Structured, ask
from localmem.prompts import examples, render, template

T = TypeVar("T", bound=BaseModel)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Task:
    """Something that a role does.

    Its rules and examples come first and never change, so that their state can be kept (``fixed`` of
    :meth:`~localmem.models.protocols.ChatModel.stream`).
    """

    name: str
    """Of the prompt files ``NAME.system.md``, ``NAME.ask.md`` and ``NAME.examples.json``."""
    role: ModelRole
    max_tokens: int
    """Longest reply."""

    @property
    def version(self) -> str:
        """``sha256:...`` of its prompt files: what was made with another one is out of date."""
        parts = (
            template(f"{self.name}.system"),
            template(f"{self.name}.ask"),
            examples(f"{self.name}.examples"),
        )
        return "sha256:" + hashlib.sha256(repr(parts).encode()).hexdigest()

    def fixed(self, model: ChatModel) -> list[ChatMessage]:
        """The rules and the examples; only the rules where the examples would fill half of the window."""
        rules = [ChatMessage("system", render(f"{self.name}.system"))]
        shown = [*rules, *(m for pair in examples(f"{self.name}.examples") for m in _messages(*pair))]
        return shown if model.count(shown) + self.max_tokens <= model.context / 2 else rules

    def ask(self, **material: str) -> ChatMessage:
        """The message that follows them."""
        return ChatMessage("user", render(f"{self.name}.ask", **material))


@dataclass(frozen=True, slots=True)
class Outcome(Generic[V]):
    """What a role gave, and whether a rule had to stand in."""

    value: V
    cost: tuple[Finished, ...]
    """Model calls made, failed ones too."""
    fallback: str | None = None
    """Why the rule stood in; None when the model's value stands."""


def call(
    task: Task,
    model: ChatModel,
    schema: type[T],
    *,
    cancel: threading.Event | None = None,
    deadline: float | None = None,
    **material: str,
) -> Structured[T]:
    """Run a task; raises what :func:`localmem.models.structured.ask` raises."""
    fixed = task.fixed(model)
    return ask(
        model,
        [*fixed, task.ask(**material)],
        schema,
        max_tokens=task.max_tokens,
        fixed=len(fixed),
        cancel=cancel,
        deadline=deadline,
    )


def or_rule(
    by_model: Callable[[], Structured[T]], convert: Callable[[T], V], by_rule: Callable[[], V]
) -> Outcome[V]:
    """The model's value, or the rule's where the model gave none: it crashed, was too slow, made no sense.

    A caller who stopped it wants neither: :class:`Cancelled` goes on.
    """
    try:
        reply = by_model()
    except ModelError as error:
        return Outcome(by_rule(), error.cost, str(error))
    return Outcome(convert(reply.value), reply.cost)


def _messages(ask: str, reply: str) -> tuple[ChatMessage, ChatMessage]:
    return ChatMessage("user", ask), ChatMessage("assistant", reply)
