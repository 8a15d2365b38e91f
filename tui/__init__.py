"""The Textual chat, imported as ``localmem.tui``: one more consumer of :mod:`localmem.events`.

It lies above the rest: nothing in localmem imports it, and textual is loaded when :func:`run` is called.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from pathlib import Path

from localmem.answering.keepers import CHAT_SOURCE
from localmem.layers.idle import IdleBuilder
from localmem.memory import Memory
from localmem.models.catalog import CatalogEntry
from localmem.models.library import Library
from localmem.models.protocols import ChatModel
from localmem.probing.team import Team
from localmem.roles.trust import Trust
from localmem.tui.failures import chat_failed

__all__ = ["chat_failed", "offer", "run"]

if "SSH_CONNECTION" in os.environ:
    # Textual reads it when it is first imported. A reply costs 1,800 bytes a token at 60 frames a second.
    os.environ.setdefault("TEXTUAL_FPS", "10")


def offer(library: Library, missing: Sequence[CatalogEntry]) -> None:
    """Offer to fetch these models, and return when they are here or the person left."""
    from localmem.tui.welcome import Welcome

    app = Welcome(library, missing)
    app.run()
    if app.failure is not None:
        raise app.failure


def run(
    memory: Memory,
    library: Library,
    trust: Trust,
    summariser: ChatModel | None,
    *,
    session_id: int | None,
    last: bool,
    private: bool = False,
    home: Path | None = None,
) -> None:
    """Open the chat and return when the person quits; the caller closes ``memory`` and ``library``.

    It opens session ``session_id``, or with ``last`` the latest chat, or else a new one; with ``private`` one
    of which nothing is kept. ``trust`` says whether the model may word what memory is asked for;
    ``summariser`` makes layers in idle time; ``home`` has the person's keys and colours. What was deleted
    can be brought back until it returns; the caller empties the bin then. Raises :class:`BadInput`, before
    anything is drawn, when there is no such session, and the failure that ended the chat, if one did.
    """
    from localmem.tui.app import ChatApp
    from localmem.tui.models_picker import Models

    opened = session_to_open(memory, session_id, last)
    memory.empty_bin()  # of a chat that was not closed
    idle = IdleBuilder(memory.builder(summariser)) if summariser else None
    app = ChatApp(
        memory,
        lambda: library.chat_model("answerer"),
        opened,
        trust,
        idle,
        private=private,
        home=home,
        models=Models(library, Team(library, home)) if home else None,
    )
    gc.freeze()  # what is imported stays: going through it, a garbage collection holds up a key for 40 ms
    try:
        app.run()
    finally:
        if idle is not None:
            idle.close()
    if app.failure is not None:
        raise app.failure


def session_to_open(memory: Memory, session_id: int | None, last: bool) -> int | None:
    """Id of the session that :func:`run` opens; None: a new one."""
    if session_id is not None:
        return memory.session(session_id).id
    if not last:
        return None
    return next((session.id for session in memory.sessions() if session.source == CHAT_SOURCE), None)
