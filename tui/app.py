"""The chat application: one screen over the memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen

from localmem.memory import Memory
from localmem.models.protocols import ChatModel
from localmem.roles.trust import TRUSTED, Trust
from localmem.tui.chat import ChatScreen


class ChatApp(App[None]):
    """The chat.

    ``load_model`` is called in a thread after the first frame, and again on the next message when it
    failed. ``session_id`` is the session to open; None: a new one.
    """

    TITLE = "localmem"
    CSS_PATH = "localmem.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q", "quit", "Quit", priority=True)]

    def __init__(
        self,
        memory: Memory,
        load_model: Callable[[], ChatModel],
        session_id: int | None,
        trust: Trust = TRUSTED,
    ) -> None:
        super().__init__()
        self.chat = ChatScreen(memory, load_model, session_id, trust)

    def get_default_screen(self) -> Screen[None]:
        """The chat."""
        return self.chat

    async def action_quit(self) -> None:
        """Leave, after a reply that is running has been stopped and stored."""
        self.chat.leave()
