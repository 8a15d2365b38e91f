"""A GGUF's own chat template: messages in, prompt out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from jinja2 import TemplateError
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

from localmem.models.errors import BadInput
from localmem.models.protocols import ChatMessage
from localmem.models.text import tokenizable
from localmem.models.thinking import TagPair, spoken_tags

_HELLO = ChatMessage("user", "hello")


class ChatTemplate:
    """Renders prompts with a Jinja template, whatever that template refuses; without thinking unless told.

    ``control`` are the texts of the vocabulary's control tokens. Spelled out in a message they
    would end it and begin another in the system's name, so there they are broken up and stay text.
    """

    def __init__(self, template: str, *, eos: str, bos: str, control: Iterable[str]) -> None:
        self._format = Jinja2ChatFormatter(template=template, eos_token=eos, bos_token=bos)
        longest_first = sorted((text for text in control if len(text) > 1), key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self.tags = spoken_tags(template)
        """The tags between which the model thinks, if it does."""
        self._system_role = self._takes(ChatMessage("system", "zqx"), _HELLO)
        self._neighbours = self._takes(_HELLO, ChatMessage("user", "zqx"))

    def render(self, messages: Sequence[ChatMessage], *, think: bool = False) -> str:
        """The prompt, up to where the reply begins; raises :class:`BadInput` when refused."""
        if not self._system_role:
            messages = _merge_system(messages)
        if not self._neighbours:
            messages = _merge_neighbours(messages)
        prompt = self._rendered(messages, think=think)
        begun = self.begun(prompt)
        # Some templates have the model begin to think, whatever they are told: closed as others write it.
        return prompt if think or begun is None else f"{prompt.rstrip()}\n\n{begun[1]}\n\n"

    def begun(self, prompt: str) -> TagPair | None:
        """The tags of the thinking that a prompt ends with the opening of; None: with that of no thinking."""
        end = prompt.rstrip()
        return next((pair for pair in self.tags if end.endswith(pair[0])), None)

    def render_beginning(self, messages: Sequence[ChatMessage], *, think: bool = False) -> tuple[str, str]:
        """Two prompts with nothing in common but what all prompts have that begin with ``messages``."""
        one, other = (self.render([*messages, ChatMessage("user", text)], think=think) for text in "0x")
        return one, other

    def _rendered(self, messages: Sequence[ChatMessage], *, think: bool = False) -> str:
        payload: list[Any] = [
            {"role": message.role, "content": self._plain(tokenizable(message.text))} for message in messages
        ]
        try:
            return self._format(messages=payload, enable_thinking=think).prompt
        except (TemplateError, ValueError) as error:  # templates refuse by raising
            raise BadInput(f"The model's chat template refuses this prompt: {error}") from error

    def _plain(self, text: str) -> str:
        """``text`` with no control token in it, also none that is a part of one that was broken up."""
        while self._control.search(text):
            text = self._control.sub(_broken, text)
        return text

    def _takes(self, *messages: ChatMessage) -> bool:
        """Whether messages like these are rendered; some templates raise, some leave one out."""
        try:
            prompt = self._rendered(messages)
        except BadInput:
            return False
        return all(message.text in prompt for message in messages)


def _broken(control_token: re.Match[str]) -> str:
    """A control token's text with a zero-width space in it: looks the same, is only text."""
    text = control_token[0]
    return text[0] + "\u200b" + text[1:]


def _merge_system(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Put the system messages' text in front of the first user message."""
    system = [message.text for message in messages if message.role == "system"]
    rest = [message for message in messages if message.role != "system"]
    if not system:
        return rest
    for i, message in enumerate(rest):
        if message.role == "user":
            rest[i] = ChatMessage("user", "\n\n".join([*system, message.text]))
            return rest
    return [ChatMessage("user", "\n\n".join(system)), *rest]


def _merge_neighbours(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Make one message of those that follow each other in the same role."""
    merged: list[ChatMessage] = []
    for message in messages:
        if merged and merged[-1].role == message.role:
            message = ChatMessage(message.role, f"{merged.pop().text}\n\n{message.text}")
        merged.append(message)
    return merged
