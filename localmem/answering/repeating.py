"""Small models that write the likeliest token may come to say one thing for ever: told from the text."""

from __future__ import annotations

TIMES = 5
"""How often in a row something is said before it is taken for a loop. Refrains come fewer times."""
SHORTEST, LONGEST = 12, 300
"""Characters of what is repeated; shorter things, such as ``ha ha`` and lines of a table, may be meant."""


def before_repeating(text: str) -> str | None:
    """``text`` up to the end of what it repeats, said once; None: it does not end in a loop.

    To be asked after every piece: it looks at the last ``TIMES * LONGEST`` characters, about 40 µs.
    """
    for period in range(SHORTEST, min(LONGEST, len(text) // TIMES) + 1):
        if text[-period:] == text[-2 * period : -period] and _is_loop(text, period):
            start = len(text) - TIMES * period
            while start > 0 and text[start - 1] == text[start - 1 + period]:
                start -= 1
            end = start + period
            # A word and its stop stay whole.
            while end < start + 2 * period and not (text[end - 1].isspace() or text[end].isspace()):
                end += 1
            return text[:end].rstrip()
    return None


def _is_loop(text: str, period: int) -> bool:
    said = text[-period:]
    words = any(c.isspace() for c in said.strip()) and any(c.isalpha() for c in said)
    return words and text.endswith(said * TIMES)
