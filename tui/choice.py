"""A small window with a question and the ways to answer it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option


class Choice(ModalScreen[str | None]):
    """Returns the key of what was chosen; None when the person left. The first way is the harmless one."""

    DEFAULT_CSS = """
    Choice { align: center middle; }
    Choice OptionList, Choice OptionList:focus { border: none; height: auto; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Back")]

    def __init__(self, question: str, ways: Mapping[str, str]) -> None:
        super().__init__()
        self._question = question
        self._ways = ways

    def compose(self) -> ComposeResult:
        """The question above the ways."""
        with Vertical(classes="dialog"):
            yield Static(Content(self._question), classes="question")
            options = (Option(Content(text), id=key) for key, text in self._ways.items())
            yield OptionList(*options, markup=False)
        yield Footer()

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)
