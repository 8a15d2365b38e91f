from __future__ import annotations

import pytest

from localmem.text import CUT, TITLE_LENGTH, titled

LONG = "How do I bring the bicycle that my aunt left me back to the shop in town?"


def test_a_title_is_the_beginning_of_what_was_said_cut_between_two_words() -> None:
    assert titled("How  do I\nbegin?") == "How do I begin?"
    assert titled(LONG) == "How do I bring the bicycle that my aunt left me back to the…"
    assert titled("x" * TITLE_LENGTH) == "x" * TITLE_LENGTH


@pytest.mark.parametrize("text", [LONG, "x" * 200, "猫" * 200, "word, " * 200, "  " + "a " * 400, ""])
def test_a_title_is_never_too_long_and_says_only_what_was_said(text: str) -> None:
    title = titled(text)
    assert len(title) <= TITLE_LENGTH + len(CUT)
    assert title.removesuffix(CUT) in " ".join(text.split())
