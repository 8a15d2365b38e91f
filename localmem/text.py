"""Text on its way to a screen."""

from __future__ import annotations

import re

# An escape sequence (CSI, OSC, or ESC and one character), or a lone control character but for
# newline and tab. Text out of a model or an import must not move the cursor or fill the clipboard.
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)


def printable(text: str) -> str:
    """``text`` without terminal control sequences and with lone surrogates replaced."""
    return _CONTROL.sub("", text).encode("utf-8", "replace").decode("utf-8")
