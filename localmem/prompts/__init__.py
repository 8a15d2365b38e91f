"""Prompts are files. ``name.md`` holds a template with ``$variables``; a missing one raises."""

from __future__ import annotations

from functools import cache
from importlib import resources
from string import Template


@cache
def _template(name: str) -> Template:
    return Template((resources.files(__name__) / f"{name}.md").read_text(encoding="utf-8").strip())


def render(prompt: str, /, **values: str) -> str:
    """The prompt with its variables filled in. Raises KeyError when one is missing."""
    return _template(prompt).substitute(values)
