"""Where the person types."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.widgets import TextArea

from localmem.text import printable
from localmem.tui.messages import Submitted

LONGEST = 100_000
"""Characters of a message that may be typed or pasted: more than a small model's window holds."""


class Composer(TextArea):
    """A text of one or more lines; Enter sends it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send"),
        Binding("ctrl+j,shift+enter", "newline", "New line"),
    ]

    async def _on_key(self, event: events.Key) -> None:
        """Act on the keys above in the order they were typed; bindings run before text typed just ahead."""
        if event.key not in ("enter", "ctrl+j", "shift+enter"):
            return
        event.stop()
        event.prevent_default()
        if event.key == "enter":
            self.action_submit()
        else:
            self.action_newline()

    def action_submit(self) -> None:
        """Send what was typed."""
        if self.text.strip():
            self.post_message(Submitted(self.text))

    def action_newline(self) -> None:
        """Begin a new line."""
        self.insert("\n")

    def sent(self, text: str) -> None:
        """Take away ``text``, which is stored now, and keep what was typed after it."""
        self.text = self.text.removeprefix(text)
        self.move_cursor(self.document.end)

    async def _on_paste(self, event: events.Paste) -> None:
        """Paste without control sequences, which the text area would draw."""
        event.stop()
        event.prevent_default()
        # Some terminals paste line ends as carriage returns.
        text = printable(event.text.replace("\r\n", "\n").replace("\r", "\n"))
        if len(self.text) + len(text) > LONGEST:
            self.app.notify(
                f"A message may have {LONGEST:,} characters; with this it would have "
                f"{len(self.text) + len(text):,}. `localmem import FILE` takes long texts in.",
                severity="warning",
                markup=False,
            )
            return
        self.insert(text)
