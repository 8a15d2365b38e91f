"""What the chat and its first start have in common: colours, how they end, and what becomes of a failure."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from pathlib import Path
from typing import IO, Any, ClassVar, TypeVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.driver import Driver

from localmem.tui.themes import DARK, THEMES

_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]

Result = TypeVar("Result")


class Application(App[Result]):
    """An application of localmem."""

    CSS_PATH = Path(__file__).with_name("localmem.tcss")
    ENABLE_COMMAND_PALETTE = False  # the chat's screen opens its own
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-wide")]  # noqa: RUF012 - Textual's own, no ClassVar
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q", "quit", "Quit", show=False, priority=True)]

    def __init__(self) -> None:
        super().__init__()
        self.failure: Exception | None = None
        """The first failure that nobody handled; it ended the application. Whoever ran it tells of it."""
        for theme in THEMES.values():
            self.register_theme(theme)
        self.theme = DARK.name

    def leave(self) -> None:
        """End in good order."""
        self.exit()

    async def action_quit(self) -> None:
        """Ctrl+Q."""
        self.leave()

    def on_mount(self) -> None:
        """A terminal that is closed, and a system that is shut down, end it as a person does."""
        with contextlib.suppress(NotImplementedError, RuntimeError):  # Windows; not in the main thread
            for number in _SIGNALS:
                asyncio.get_running_loop().add_signal_handler(number, self.leave)
        # Of the screen that the shell wiped, Textual draws only what changes.
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))

    def on_unmount(self) -> None:
        """The signals are the program's again."""
        with contextlib.suppress(NotImplementedError, RuntimeError):  # as when it was mounted
            for number in _SIGNALS:
                asyncio.get_running_loop().remove_signal_handler(number)

    def _build_driver(self, *arguments: Any, **options: Any) -> Driver:
        driver = super()._build_driver(*arguments, **options)
        if hasattr(driver, "_file"):  # Linux, macOS
            driver._file = _Output(driver._file)
        return driver

    def _handle_exception(self, error: Exception) -> None:
        self.failure = self.failure or error
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        # Textual's own prints the local variables of every frame: the text of memory.
        self._close_messages_no_wait()


class _Output:
    """Where the screen is written to. Textual's writer ends over a closed terminal, and then all waits.

    What cannot be written any more is dropped: SIGHUP tells of it.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._file.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
