"""A summariser that needs no weights: it says what each numbered line of its prompt says, in its own form."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from localmem.models.protocols import ChatMessage
from localmem.models.scripted import ScriptedModel

_LINE = re.compile(r"^\d+\. (?:\[(?P<day>[^\]]+)\] )?(?P<who>[^:]+): (?P<text>.*)$")


def told(prompt: tuple[ChatMessage, ...]) -> list[re.Match[str]]:
    """The numbered lines of a prompt's material."""
    return [match for line in prompt[-1].text.splitlines() if (match := _LINE.match(line))]


def reply(prompt: tuple[ChatMessage, ...]) -> str:
    """Faithful JSON for the task that the prompt sets."""
    lines = told(prompt)
    if '"summaries"' in prompt[0].text:
        return json.dumps({"summaries": [f"{m['who']} told: {short(m['text'])}" for m in lines]})
    facts = [{"message": n, "fact": f"{m['who']} told: {short(m['text'])}"} for n, m in enumerate(lines, 1)]
    return json.dumps({"facts": facts[:25]})


def short(text: str) -> str:
    """What the first speaker said, in few words."""
    return " ".join(text.split(" / ")[0].split()[:12])


def summariser(script: Callable[[tuple[ChatMessage, ...]], str] = reply) -> ScriptedModel:
    return ScriptedModel(script, name="summariser", context=32_768)
