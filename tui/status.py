"""The line above the keys: what goes on, and on its right tokens, context and memory."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from localmem.types import Ledger


class StatusBar(Horizontal):
    """What goes on, and the figures of the last reply."""

    def __init__(self) -> None:
        super().__init__()
        self._window = 0
        self._spent: Ledger | None = None
        self._stored: int | None = None

    def compose(self) -> ComposeResult:
        """Two texts; the left one gives way."""
        yield Static("", id="status", markup=False)
        yield Static("", id="meter", markup=False)

    def tell(self, text: str) -> None:
        """Say what goes on."""
        self.query_one("#status", Static).update(Content(text))

    def count(
        self, *, context: int | None = None, ledger: Ledger | None = None, messages: int | None = None
    ) -> None:
        """Take in new figures: the model's window, what a reply cost, how much memory holds."""
        self._window = context or self._window
        self._spent = ledger or self._spent
        self._stored = messages if messages is not None else self._stored
        self._show()

    def on_resize(self) -> None:
        """Say less where there is little room."""
        self._show()

    def _show(self) -> None:
        text = meter(self._spent, self._window, self._stored, short=self.size.width < 90)
        self.query_one("#meter", Static).update(Content(text))


def meter(ledger: Ledger | None, context: int, messages: int | None, *, short: bool = False) -> str:
    """Tokens of the last prompt and reply out of the model's window, and the messages in memory."""
    parts = []
    if ledger is not None and ledger.model_calls:
        used = ledger.tokens_read + ledger.tokens_reused + ledger.tokens_written
        share = f"{min(used / context, 1):.0%}" if context else ""
        window = f"{used:,} of {context:,} tokens" if context else f"{used:,} tokens"
        parts.append(f"context {share}" if short and context else f"context {window}")
    if messages is not None:
        parts.append(f"{messages:,} in memory" if short else f"{messages:,} messages in memory")
    return " · ".join(parts)
