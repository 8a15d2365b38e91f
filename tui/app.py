"""The chat application: one screen over the memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from textual.events import Event, InputEvent, Paste
from textual.screen import Screen

from localmem.errors import BadInput
from localmem.layers.idle import IdleBuilder
from localmem.memory import Memory
from localmem.models.protocols import ChatModel
from localmem.roles.trust import TRUSTED, Trust
from localmem.tui.application import Application
from localmem.tui.chat import ChatScreen
from localmem.tui.commands import BY_NAME
from localmem.tui.keymap import read_keymap
from localmem.tui.models_picker import Models
from localmem.tui.settings import read_theme, write_theme
from localmem.tui.themes import DARK, THEMES


class ChatApp(Application[None]):
    """The chat.

    ``load_model`` is called in a thread after the first frame, and again on the next message when it
    failed. ``session_id`` is the session to open; None: a new one. ``home`` is the folder with the person's
    keys and colours; None: there is none.
    """

    TITLE = "localmem"

    def __init__(
        self,
        memory: Memory,
        load_model: Callable[[], ChatModel],
        session_id: int | None,
        trust: Trust = TRUSTED,
        idle: IdleBuilder | None = None,
        *,
        private: bool = False,
        home: Path | None = None,
        models: Models | None = None,
    ) -> None:
        super().__init__()
        self.memory = memory
        self.models = models
        """The models that can be chosen; None: there is nothing to choose."""
        self.keys: dict[str, str] = {}
        """The person's own keys, by name of command."""
        self._home = home
        self._idle = idle
        self._problems = self._read_home()
        self.chat = ChatScreen(memory, load_model, session_id, trust, idle, private=private)

    def on_mount(self) -> None:
        """Tell what of the home could not be read."""
        for problem in self._problems:
            self.notify(problem, severity="warning", timeout=20, markup=False)

    async def on_event(self, event: Event) -> None:
        """Whatever the person does, work of idle time makes room for it."""
        if self._idle is not None and isinstance(event, InputEvent | Paste):
            self._idle.touch()
        await super().on_event(event)

    def get_default_screen(self) -> Screen[None]:
        """The chat."""
        return self.chat

    def leave(self) -> None:
        """Leave, after a reply that is running has been stopped and stored."""
        self.chat.leave()

    def choose_theme(self, name: str) -> None:
        """Change the colours, now and for later."""
        self.theme = name
        if self._home is not None:
            try:
                write_theme(self._home, name)
            except OSError as error:
                self.notify(f"The choice cannot be kept: {error.strerror}.", severity="warning", markup=False)

    def _read_home(self) -> list[str]:
        """Take keys and colours from the home; return what is wrong with them."""
        if self._home is None:
            return []
        problems = []
        try:
            self.keys = read_keymap(self._home)
            self.set_keymap(self.keys)
            for name, keys in self.keys.items():
                if not BY_NAME[name].keys:  # no key of its own that could be changed
                    self.bind(keys, f"screen.{BY_NAME[name].action}", show=False)
        except BadInput as error:
            problems.append(str(error))
        try:
            self.theme = read_theme(self._home, list(THEMES)) or DARK.name
        except BadInput as error:
            problems.append(str(error))
        return problems
