"""Moving in a list from keys of the screen around it."""

from __future__ import annotations

from textual.widgets import OptionList


def move(options: OptionList, by: int) -> None:
    """One line up (``by`` below 0) or down."""
    options.action_cursor_up() if by < 0 else options.action_cursor_down()


def page(options: OptionList, by: int) -> None:
    """One page up (``by`` below 0) or down."""
    options.action_page_up() if by < 0 else options.action_page_down()  # type: ignore[no-untyped-call]
