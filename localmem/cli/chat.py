"""``localmem chat``, and ``localmem`` alone: the chat in this terminal, or in a browser on this machine.

The chat lies a layer above and is found by its name, so that nothing here imports a terminal library.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from localmem.cli.context import Context, pass_context
from localmem.cli.damage import FORESEEN
from localmem.errors import BadInput
from localmem.models.catalog import ModelRole, find
from localmem.models.library import DEFAULT_CHAT, DEFAULT_EMBEDDER
from localmem.privacy.damage import damage_of
from localmem.store.connection import is_encrypted


@click.command("chat")
@click.option("--session", "session_id", type=int, metavar="ID", help="Go on with this session.")
@click.option("--last", is_flag=True, help="Go on with the latest chat.")
@click.option("--private", is_flag=True, help="Keep nothing of this chat; memory is recalled all the same.")
@click.option("--web", is_flag=True, help="Show the chat in a browser on this machine.")
@pass_context
def chat_command(context: Context, session_id: int | None, last: bool, private: bool, web: bool) -> None:
    """Chat in the terminal, with everything remembered."""
    if (session_id is not None) + last + private > 1:
        raise BadInput("Give one of --session, --last and --private.")
    if web:
        chosen = ["--last"] * last + ["--private"] * private
        chosen += [] if session_id is None else ["--session", str(session_id)]
        _serve(context, chosen)
    else:
        _run(context, session_id, last=last, private=private)


def _run(context: Context, session_id: int | None, *, last: bool, private: bool) -> None:
    """Open the chat. Raises ModelMissing when a model is still missing after it was offered."""
    tui: Any = importlib.import_module("localmem.tui")
    missing = _missing(context)
    if missing and at_terminal():
        tui.offer(context.library, missing)
    context.library.path(context.library.role(ModelRole.ANSWERER))
    if not at_terminal():
        raise BadInput('The chat needs a terminal with a screen. For one answer: localmem ask "QUESTION"')
    trust = context.team.standing(ModelRole.ANSWERER).trust
    summariser = context.team.if_trusted(ModelRole.SUMMARISER, background=True)
    memory = context.memory()
    try:
        tui.run(
            memory,
            context.library,
            trust,
            summariser,
            session_id=session_id,
            last=last,
            private=private,
            home=context.home,
        )
    except FORESEEN:
        raise
    except Exception as error:  # nobody foresaw it: it ends with a sentence, whatever it is
        raise damage_of(context.database) or tui.chat_failed(error, context.home) from error
    if memory.empty_bin():
        context.say("Removing what you deleted from the file…")
    memory.purge()


def _serve(context: Context, arguments: Sequence[str]) -> None:
    """Show the chat in a browser until Ctrl+C; each tab runs it in a process of its own.

    Raises :class:`BadInput` without the packages for it, ModelMissing before anything is served.
    """
    context.library.path(context.library.role(ModelRole.ANSWERER))
    context.library.path(context.library.role(ModelRole.EMBEDDER))
    if is_encrypted(context.database) and context.key_file is None:
        raise BadInput("In a browser nobody can type the passphrase. Give the key with --key-file.")
    options = ["--db", str(context.database.absolute()), "--home", str(context.home.absolute())]
    if context.key_file is not None:
        options += ["--key-file", str(context.key_file.absolute())]
    web: Any = importlib.import_module("localmem.tui.web")
    web.serve([*options, "chat", *arguments], context.say)


def _missing(context: Context) -> list[Any]:
    """The small models that are to serve and are not here; others the person chose and can get."""
    serving = (context.library.role(ModelRole.ANSWERER), context.library.role(ModelRole.EMBEDDER))
    return [
        find(name)
        for name in serving
        if name in (DEFAULT_CHAT, DEFAULT_EMBEDDER) and not context.library.installed(name)
    ]


def at_terminal() -> bool:
    """Whether somebody can see the chat and type; in a browser's tab they can without a terminal."""
    if "TEXTUAL_DRIVER" in os.environ:
        return True
    return sys.stdin.isatty() and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
