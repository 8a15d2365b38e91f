"""Text cut to a number of words, keeping the clauses with numbers, dates and names."""

from __future__ import annotations

import re

from localmem.index.tokens import UNSPACED

_CLAUSE = re.compile(
    r"(?<=[,;])\s+|\s+(?=[-–—]\s)|\s+(?=(?:because|but|so|although|while|which|since)\s)|(?<=[，；、])"
)
_NAME = re.compile(r"(?<=[^:.!?]\s)[A-Z]\w")
_NUMBER = re.compile(r"\d[\d.,:]*")
_DAY = r"\d{1,2} [A-Z][a-z]{2,8} \d{4}"
_UNIT = re.compile(rf"\S*\b(?:(?:from|on|in|since|until|by) )?{_DAY}(?: to {_DAY})?\S*|\S+")
"""What is never cut apart: a date as this package writes it, or a word."""
_CONJUNCTION = re.compile(r"^(?:and|but|so|which|where|who|while)\s+", re.IGNORECASE)
_LONG = 40
"""Characters. A longer word counts as several."""


def length(text: str) -> int:
    """Words of ``text``; of a script without spaces, two characters are one, as in the index."""
    words = text.split()
    count = len(words)
    if len(text) > _LONG and len(text) > 10 * count:  # only then may there be a long one
        count += sum(len(word) // _LONG for word in words)
    return count if text.isascii() else count + len(UNSPACED.findall(text)) // 2


def shortened(text: str, words: int, opening: str) -> str:
    """``text``, or what of it fits in ``words``: clauses that lie together, else its cut beginning.

    Clauses that are not its beginning get ``opening``, which says whose words they are.
    """
    text = text[: 2 * _LONG * words]
    if length(text) <= words:
        return text
    clauses = _CLAUSE.split(text)
    lengths = [length(clause) for clause in clauses]
    best, span = 0.0, (0, 0)
    for start in range(len(clauses)):
        room = words - (length(opening) if start else 0)
        value = 0.0 if start else 1.0
        for end in range(start, len(clauses)):
            room -= lengths[end]
            if room < 0:
                break
            value += _told(clauses[end])
            if value > best:
                best, span = value, (start, end + 1)
    start, end = span
    cut = _cut(text, words)
    if sum(map(_told, clauses[start:end])) < _told(cut):
        return cut
    kept = " ".join(clauses[start:end]).strip(",;:，；、 -–—")
    return f"{opening} {_CONJUNCTION.sub('', kept)}" if start else kept


def _told(text: str) -> float:
    return 2 * len(_NUMBER.findall(text)) + len(_NAME.findall(text)) + length(text) / 20


def _cut(text: str, words: int) -> str:
    """The beginning of ``text``, ending in "…"."""
    kept, left = [], words
    for word in _UNIT.findall(text):
        cost = length(word)
        if cost > left:
            if cost > 1 and left > 0 and " " not in word:  # a link, a blob, or a script without spaces
                kept.append(word[: max(2 * left - 4, 1)])
            break
        kept.append(word)
        left -= cost
    return " ".join(kept).rstrip(",;:，；、 -–—") + "…"
