"""Text to terms: one tokeniser for messages and questions.

Words are lowercased, stop words dropped (bm25s's larger English list), the rest stemmed (Snowball).
Scripts that put no spaces between words become character bigrams, so that they are searchable at
all. Lone surrogates and NUL separate words; nothing here changes what is stored.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache

import Stemmer
from bm25s.stopwords import STOPWORDS_EN_PLUS

STOP_WORDS = frozenset(STOPWORDS_EN_PLUS)

MAX_TERM = 64
"""Characters. A longer "word" is a blob or a link's tail; its head still finds it."""

# Scripts without spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han (with extensions), Hangul
# stays a word script: Korean is written with spaces.
_UNSPACED = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_TOKEN = re.compile(f"[{_UNSPACED}]+|[^\\W{_UNSPACED}]+")
UNSPACED = re.compile(f"[{_UNSPACED}]")
"""A character of a script that puts no spaces between words."""

_local = threading.local()


def terms(text: str) -> list[str]:
    """The terms of ``text``, repeats included; empty when it has only stop words."""
    result: list[str] = []
    words: list[str] = []
    for token in _TOKEN.findall(_folded(text)):
        if UNSPACED.match(token):
            result.extend(_bigrams(token))
        elif (len(token) > 1 or token.isdigit()) and token not in STOP_WORDS:
            words.append(token[:MAX_TERM])
    result.extend(_stemmer().stemWords(words))
    return result


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    text = text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate becomes "?"
    return unicodedata.normalize("NFKC", text).casefold()


def _bigrams(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    return [run[i : i + 2] for i in range(len(run) - 1)]


def _stemmer() -> Stemmer.Stemmer:
    """A Snowball stemmer is not safe to share between threads."""
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        stemmer = _local.stemmer = Stemmer.Stemmer("english")
    return stemmer


@lru_cache(maxsize=256)
def query_terms(text: str) -> tuple[str, ...]:
    """The distinct terms of a question."""
    return tuple(dict.fromkeys(terms(text)))
