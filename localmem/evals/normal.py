"""Token F1 over Porter stems, as LoCoMo's own evaluation computes it (Maharana et al. 2024; BFR, Appendix N).

It has two habits that figures must share to be comparable: a list with a comma too many keeps its empty item,
which nothing can match, and the prediction of a multi-hop question is cut at commas too. One difference
remains: LoCoMo stems with NLTK, whose Porter treats a few words in its own way ("dying" -> "die"); here it is
Porter's published algorithm.
"""

from __future__ import annotations

import re
import string
import threading
from collections import Counter
from statistics import fmean

import Stemmer

from localmem.evals.datasets.locomo import CATEGORIES

MULTI_HOP, OPEN_DOMAIN = CATEGORIES[1], CATEGORIES[3]

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_SMALL_WORDS = re.compile(r"\b(?:a|an|the|and)\b")
_local = threading.local()


def normalised(text: str) -> str:
    """Lower case, without ASCII punctuation, without "a", "an", "the", "and", single spaces.

    A lone surrogate, which no stemmer takes, becomes a question mark.
    """
    text = text.encode("utf-8", "replace").decode("utf-8")
    return " ".join(_SMALL_WORDS.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def stems(text: str) -> list[str]:
    """Porter stems of the normalised words."""
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:  # one is not safe to share between threads
        stemmer = _local.stemmer = Stemmer.Stemmer("porter")
    result: list[str] = stemmer.stemWords(normalised(text).split())
    return result


def token_f1(answer: str, reference: str) -> float:
    """Harmonic mean of precision and recall of the stems, repeats counted; 0 when they share none."""
    given, wanted = stems(answer), stems(reference)
    shared = sum((Counter(given) & Counter(wanted)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(given), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


def partial_f1(answer: str, reference: str) -> float:
    """Both cut at commas: the mean over the reference's items of the best F1 of an item of the answer."""
    given = answer.split(",")
    return fmean(max(token_f1(item, wanted) for item in given) for wanted in reference.split(","))


def stem_f1(category: str, answer: str, reference: str) -> float:
    """F1 of an answer by the rule of its category.

    LoCoMo's multi-hop questions take :func:`partial_f1`, of an open-domain reference the part before its
    first semicolon counts (what follows are reasons), all others take :func:`token_f1`.
    """
    if category == MULTI_HOP:
        return partial_f1(answer, reference)
    if category == OPEN_DOMAIN:
        reference = reference.partition(";")[0]
    return token_f1(answer, reference)
