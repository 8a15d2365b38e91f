"""Text on its way into a tokeniser."""

from __future__ import annotations

import re

_UNFIT = re.compile("[\0\ud800-\udfff]")


def tokenizable(text: str) -> str:
    """``text`` with NUL and lone surrogates replaced by U+FFFD, of the same length.

    Native tokenisers take UTF-8 and some stop at NUL. Stored text stays as it was: only what a
    model reads is changed, and offsets into it are offsets into the original.
    """
    return _UNFIT.sub("�", text)
