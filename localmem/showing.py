"""A session's layer as Markdown, the way a person or another program reads it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from localmem.entries import Layer
from localmem.errors import BadInput
from localmem.layers import markdown
from localmem.models.catalog import ModelRole
from localmem.steps import Level

if TYPE_CHECKING:
    from localmem.home import Home
    from localmem.memory import Memory


def shown(
    memory: Memory, session_id: int, layer: str, home: Home | None, cancel: threading.Event | None
) -> str:
    """A layer with its heading. What is missing is made by the home's summariser, where it is trusted.

    Raises :class:`BadInput` when there is no such session or layer, :class:`Cancelled`.
    """
    if layer not in set(Level):
        raise BadInput(f"{layer!r} is not a layer. Layers: {', '.join(Level)}.")
    session, messages = memory.session(session_id), memory.messages(session_id)
    if layer == Level.RAW:
        return f"{markdown.heading(session, layer)}\n{markdown.raw(memory.path(session_id))}"
    made = Layer(layer)
    summariser = None
    if home is not None and made is not Layer.SUMMARY:  # a summary is there at once
        summariser = home.team.if_trusted(ModelRole.SUMMARISER)
    entries = memory.layer(session_id, made, summariser=summariser, cancel=cancel)
    text = markdown.derived(made, entries, memory.layer_failures(session_id), messages)
    return f"{markdown.heading(session, layer)}\n{text}"
