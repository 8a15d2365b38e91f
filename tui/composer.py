"""Where the person types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.binding import Binding, BindingType
from textual.keys import Keys
from textual.message import Message
from textual.widgets import TextArea

from localmem.text import printable
from localmem.tui.attachments import LONG_PASTE, LONGEST, Attachment, completed, pasted
from localmem.tui.commands import matching, read_slash
from localmem.tui.messages import Submitted
from localmem.tui.text import one_line

# Alt+Enter is ESC and a carriage return in most terminals: Textual reads an Enter, which would send.
ANSI_SEQUENCES_KEYS["\x1b\r"] = (Keys.ControlJ,)  # type: ignore[index]  # it is a dict
NEW_LINE = ("ctrl+j", "shift+enter", "alt+enter", "shift+\r")
"""Ctrl+J comes from every terminal; the last is Shift+Enter as xterm and tmux may write it."""
NAMES = 8
"""Names that are told when a path may go on in several ways."""


class Composer(TextArea):
    """A text of one or more lines; Enter sends it, Up at its top brings back what was said before."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send"),
        Binding("ctrl+j,shift+enter", "newline", "New line", show=False),
    ]

    class Attached(Message):
        """What goes with the message has changed."""

    class Paged(Message):
        """The person turns the pages of what was said, while the cursor is here."""

        def __init__(self, *, up: bool) -> None:
            self.up = up
            super().__init__()

    def __init__(self) -> None:
        super().__init__(
            placeholder="Say something. Enter sends, Ctrl+J new line, F1 helps.",
            compact=True,
            highlight_cursor_line=False,
        )
        self.attachments: list[Attachment] = []
        """What goes with the message."""
        self._said: list[str] = []
        self._commands: list[str] = []  # of this run; memory does not hold them
        self._place = 0  # in what was said; at its end: what is being written
        self._draft = ""
        self._pasted = 0

    @property
    def size_in_all(self) -> int:
        """Characters of the message with its attachments."""
        return len(self.text) + sum(len(item.text) for item in self.attachments)

    def remember(self, said: Sequence[str]) -> None:
        """What Up brings back besides the commands that were given, the oldest first."""
        self._said = [printable(text) for text in said] + self._commands
        self._place = len(self._said)

    def forget_commands(self) -> None:
        """Bring back none that were given until now: what stands behind them may have been private."""
        self._commands = []

    async def _on_key(self, event: events.Key) -> None:
        """Act on the keys above in the order they were typed; bindings run before text typed just ahead."""
        row = self.wrapped_document.location_to_offset(self.cursor_location).y
        match event.key:
            case "enter":
                self.action_submit()
            case key if key in NEW_LINE:
                self.action_newline()
            case "up" if row == 0 and self._place > 0:
                self._go_back(self._place - 1)
            case "down" if row == self.wrapped_document.height - 1 and self._place < len(self._said):
                self._go_back(self._place + 1)
            case "tab" if matching(self.text):
                self.write(f"/{matching(self.text)[0].name} ")
            case "tab" if self.text.startswith(("/attach ", "/export ")):
                self._complete_path()
            case "backspace" if not self.text and self.attachments:
                self.detach()
            case "pageup" | "pagedown" if not self.max_scroll_y:
                self.post_message(self.Paged(up=event.key == "pageup"))
            case _:
                return
        event.stop()
        event.prevent_default()

    def action_submit(self) -> None:
        """Send what was typed."""
        if read_slash(self.text):
            self._commands.append(self.text)
            self._keep(self.text)
        if self.text.strip() or self.attachments:
            self.post_message(Submitted(self.text))

    def action_newline(self) -> None:
        """Begin a new line."""
        self.insert("\n")

    def write(self, text: str) -> None:
        """Put ``text`` in place of what was typed; Ctrl+Z takes it back."""
        self.replace(text, (0, 0), self.document.end)
        self.move_cursor(self.document.end)

    def sent(self, text: str) -> None:
        """Take away ``text`` and what was attached, which is stored now; keep what was typed after it."""
        self.attachments = []
        self.post_message(self.Attached())
        self.text = self.text.removeprefix(text)  # not to be taken back: it may have been private
        self.move_cursor(self.document.end)
        self._keep(text)

    def attach(self, attachment: Attachment) -> None:
        """Let a text go with the message."""
        if self._refuses(len(attachment.text)):
            return
        self.attachments.append(attachment)
        self.post_message(self.Attached())

    def detach(self) -> None:
        """Take the last attachment away."""
        if self.attachments:
            self.attachments.pop()
            self.post_message(self.Attached())

    async def _on_paste(self, event: events.Paste) -> None:
        """Paste without control sequences, which the text area would draw; a long text is attached."""
        event.stop()
        event.prevent_default()
        # Some terminals paste line ends as carriage returns.
        text = printable(event.text.replace("\r\n", "\n").replace("\r", "\n"))
        attachment = pasted(text, self._pasted + 1)
        if attachment is not None:
            self._pasted += 1
            self.attach(attachment)
        elif not self._refuses(len(text)):
            self.insert(text)

    @on(TextArea.Changed)
    @on(Attached)
    def _tell_size(self) -> None:
        """Of a long message, how much of a model's window it takes: roughly a token for four characters."""
        size = self.size_in_all
        tokens = f"{size:,} characters, about {size // 4:,} tokens"
        self.border_subtitle = tokens if size >= LONG_PASTE else ""

    def _complete_path(self) -> None:
        command, _, path = self.text.partition(" ")
        whole, names = completed(path)
        if whole != path:
            self.write(f"{command} {whole}")
        elif names:
            more = f" … {len(names) - NAMES:,} more" if len(names) > NAMES else ""
            self.app.notify(", ".join(one_line(name, 40) for name in names[:NAMES]) + more, markup=False)

    def _keep(self, text: str) -> None:
        """Let Up bring a text back."""
        if text.strip() and self._said[-1:] != [text]:
            self._said.append(text)
        self._place = len(self._said)

    def _refuses(self, more: int) -> bool:
        size = self.size_in_all + more
        if size <= LONGEST:
            return False
        self.app.notify(
            f"A message may have {LONGEST:,} characters; with this it would have {size:,}. "
            "`localmem import FILE` takes long texts in.",
            severity="warning",
            markup=False,
        )
        return True

    def _go_back(self, place: int) -> None:
        """Show what was said at this place; at the end, what was being written."""
        if self._place == len(self._said):
            self._draft = self.text
        self._place = place
        self.write(self._draft if place == len(self._said) else self._said[place])
