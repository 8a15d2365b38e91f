"""Small windows that ask for a text."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Static, TextArea

from localmem.text import printable


class AskLine(ModalScreen[str | None]):
    """Asks for one line; returns it, or None when the person left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Back"),
        Binding("enter", "submit", "Done"),
    ]

    def __init__(self, question: str, text: str = "") -> None:
        super().__init__()
        self._question = question
        self._text = printable(text)

    def compose(self) -> ComposeResult:
        """The question above the line."""
        with Vertical(classes="dialog"):
            yield Static(Content(self._question), classes="question")
            yield Input(self._text, compact=True, select_on_focus=False)
        yield Footer()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter gives the line back."""
        self.dismiss(event.value)


class AskText(ModalScreen[str | None]):
    """Asks for a text of several lines; returns it, or None when the person left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Back"),
        Binding("ctrl+s", "submit", "Done", priority=True),
    ]

    def __init__(self, question: str, text: str = "") -> None:
        super().__init__()
        self._question = question
        self._text = printable(text)

    def compose(self) -> ComposeResult:
        """The question above the text."""
        with Vertical(classes="dialog -tall"):
            yield Static(Content(self._question), classes="question")
            yield TextArea(self._text, compact=True, highlight_cursor_line=False)
        yield Footer()

    def action_submit(self) -> None:
        """Give the text back."""
        self.dismiss(self.query_one(TextArea).text)
