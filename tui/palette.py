"""What the command palette offers: the chat's commands, and sessions by title."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from localmem.tui.commands import SLASH, Command
from localmem.tui.finding import best_titles
from localmem.tui.text import title_of

if TYPE_CHECKING:
    from localmem.tui.app import ChatApp

TITLES = 12
"""Sessions that are offered at most."""


class Commands(Provider):
    """The chat's commands."""

    async def discover(self) -> Hits:
        """All of them, in their order."""
        for command in SLASH:
            yield DiscoveryHit(Content(_name(command)), self._run(command), help=command.about)

    async def search(self, query: str) -> Hits:
        """Those that match."""
        matcher = self.matcher(query)
        for command in SLASH:
            score = max(matcher.match(_name(command)), 0.9 * matcher.match(command.about))
            if score > 0:
                yield Hit(score, matcher.highlight(_name(command)), self._run(command), help=command.about)

    def _run(self, command: Command) -> Callable[[], object]:
        return partial(cast("ChatApp", self.app).chat.run_command, command.name, "")


class Sessions(Provider):
    """Sessions by title. Titles are shown as they are, never read as markup."""

    async def search(self, query: str) -> Hits:
        """Those whose titles match."""
        app = cast("ChatApp", self.app)
        sessions = await asyncio.to_thread(lambda: best_titles(app.memory.sessions(), query)[:TITLES])
        for place, session in enumerate(sessions):
            title = title_of(session)
            open_it = partial(app.chat.open_session, session.id)
            yield Hit(0.5 - place / 100, Content(f"Open: {title}"), open_it, text=title)


class Palette(CommandPalette):
    """The command palette over the chat."""

    def __init__(self) -> None:
        super().__init__([Commands, Sessions], placeholder="A command, or the title of a session")


def _name(command: Command) -> str:
    return f"/{command.name}"
