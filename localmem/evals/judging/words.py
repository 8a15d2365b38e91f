"""The words of short texts: tokens, the items of a list, names, and what of them a question does not have."""

from __future__ import annotations

import re
from collections.abc import Sequence

from localmem.index.tokens import STOP_WORDS, terms

_TOKEN = re.compile(r"[$€£¥₹]|(?<![\w)])-(?=\d)|\d+(?:[.,:/-]\d+)*|[^\W\d_]+(?:['’-][^\W_]+)*|[^\W_]+|%")
_ARTICLES = frozenset(("a", "an", "the", "and"))
_NAME = re.compile(r"[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*")
_LIST = re.compile(r"\s*(?:,|;|\band\b|&)\s*", re.IGNORECASE)
_NUMBER_WORDS = frozenset(
    terms(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
        " seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand"
    )
)


def tokens(text: str) -> list[str]:
    """Words, numbers and currency signs, in lower case, without articles and "and"."""
    lower = text.casefold().replace("’", "'")
    found = [token.removesuffix("'s") for token in _TOKEN.findall(re.sub(r"(?<=\d),(?=\d{3}\b)", "", lower))]
    return [token for token in found if token not in _ARTICLES]


def items(text: str) -> frozenset[tuple[str, ...]]:
    """A list's items, whatever their order; a text that is no list is one item."""
    return frozenset(item for part in _LIST.split(text) if (item := tuple(tokens(part))))


def names(text: str) -> list[tuple[str, ...]]:
    """Runs of capitalised words, in lower case; the first word of the text only if it is no common one."""
    found = []
    for match in _NAME.finditer(text):
        words = [word for word in tokens(match[0]) if word not in STOP_WORDS]
        if words:
            found.append(tuple(words))
    return found


def alike(name: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two names may be one: initials, a short form, a slip of the pen."""
    one, two = "".join(name), "".join(other)
    initials = {"".join(word[0] for word in words) for words in (name, other) if len(words) > 1}
    letters = len(set(one) & set(two)) / max(len(set(one) | set(two)), 1)
    return bool(initials & {one, two}) or one[:2] == two[:2] or one in two or two in one or letters >= 0.6


def on_topic(question: str, reference: str, answer: str, most: int) -> bool:
    """Whether an answer speaks of little but what was asked: at most ``most`` content words of its own."""
    own = {term for term in terms(answer) if not term.isdigit()}
    return len(own - set(terms(question)) - set(terms(reference)) - _NUMBER_WORDS) <= most
