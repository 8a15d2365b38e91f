"""The chat application: one screen over the memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.events import Event, InputEvent, Paste
from textual.screen import Screen

from localmem.layers.idle import IdleBuilder
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
        idle: IdleBuilder | None = None,
    ) -> None:
        super().__init__()
        self.chat = ChatScreen(memory, load_model, session_id, trust, idle)
        self._idle = idle

    async def on_event(self, event: Event) -> None:
        """Whatever the person does, work of idle time makes room for it."""
        if self._idle is not None and isinstance(event, InputEvent | Paste):
            self._idle.touch()
        await super().on_event(event)

    def get_default_screen(self) -> Screen[None]:
        """The chat."""
        return self.chat

    async def action_quit(self) -> None:
        """Leave, after a reply that is running has been stopped and stored."""
        self.chat.leave()
