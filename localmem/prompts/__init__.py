"""Prompts are files. ``name.md`` holds a template with ``$variables``; a missing one raises.

``name.json`` holds worked examples: what is asked, what to reply.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from string import Template


@cache
def template(name: str) -> str:
    """The text of a prompt, its variables not filled in."""
    return (resources.files(__name__) / f"{name}.md").read_text(encoding="utf-8").strip()


def render(prompt: str, /, **values: str) -> str:
    """The prompt with its variables filled in. Raises KeyError when one is missing."""
    return Template(template(prompt)).substitute(values)


@cache
def examples(name: str) -> tuple[tuple[str, str], ...]:
    """Pairs of question and reply."""
    text = (resources.files(__name__) / f"{name}.json").read_text(encoding="utf-8")
    return tuple((example["ask"], example["reply"]) for example in json.loads(text))
