"""Text on its way to a screen or into a prompt."""

from __future__ import annotations

import re

# An escape sequence (CSI, a whole OSC or its like, or ESC and one character), or a lone control character
# but for newline and tab. Text out of a model or an import must not move the cursor or fill the clipboard.
# An OSC without its end is no sequence: to drop all that follows would hide what others said.
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)|\x1b.?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)


def printable(text: str) -> str:
    """``text`` without terminal control sequences and with lone surrogates replaced."""
    return _CONTROL.sub("", text).encode("utf-8", "replace").decode("utf-8")


TITLE_LENGTH = 60
"""Characters of a message that name its session."""
CUT = "…"
"""Ends a title of which more was said."""


def titled(text: str) -> str:
    """A title out of what was said: its beginning on one line, cut between two words where that can be."""
    line = " ".join(text[: 10 * TITLE_LENGTH].split())
    if len(line) <= TITLE_LENGTH:
        return line
    whole = line[:TITLE_LENGTH].rsplit(" ", 1)[0]
    return (whole if len(whole) > TITLE_LENGTH // 2 else line[: TITLE_LENGTH - 1]).rstrip(" ,;:-") + CUT


def fenced(text: str) -> str:
    """Text out of memory on one line, so that it cannot imitate a prompt's own structure."""
    return " ".join(text.split())
