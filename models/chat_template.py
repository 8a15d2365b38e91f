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


class ChatTemplate:
    """Renders prompts with a Jinja template, whatever that template refuses.

    ``control`` are the texts of the vocabulary's control tokens. Spelled out in a message they
    would end it and begin another in the system's name, so there they are broken up and stay text.
    """

    def __init__(self, template: str, *, eos: str, bos: str, control: Iterable[str]) -> None:
        self._format = Jinja2ChatFormatter(template=template, eos_token=eos, bos_token=bos)
        longest_first = sorted((text for text in control if len(text) > 1), key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self._system_role = self._takes_system_role()

    def render(self, messages: Sequence[ChatMessage]) -> str:
        """The prompt, up to where the assistant begins; raises :class:`BadInput` when refused."""
        if not self._system_role:
            messages = _merge_system(messages)
        payload: list[Any] = [
            {"role": message.role, "content": self._control.sub(_broken, tokenizable(message.text))}
            for message in messages
        ]
        try:
            return self._format(messages=payload).prompt
        except (TemplateError, ValueError) as error:  # templates refuse by raising
            raise BadInput(f"The model's chat template refuses this prompt: {error}") from error

    def _takes_system_role(self) -> bool:
        """Whether a system message is rendered; some templates raise, some leave it out."""
        self._system_role = True
        try:
            return "zqx" in self.render([ChatMessage("system", "zqx"), ChatMessage("user", "hello")])
        except BadInput:
            return False


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
