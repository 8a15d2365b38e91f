"""Keywords by rule: names, dates and amounts, then phrases.

Phrases are found as RAKE does (Rose et al. 2010): runs of words between stop words and punctuation, scored by
the degree of their words over their frequency. Its packages bring corpora or a fixed language list; YAKE, the
better-kept library, is under the GPL and takes 1.6 ms for a short message, twenty times this.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from localmem.index.tokens import STOP_WORDS, UNSPACED, terms
from localmem.layers.sentences import FILLERS
from localmem.layers.weight import Weighed

MOST = 8
"""Keywords (APDMem, Figure 4: 5 to 8)."""
LONGEST = 3
"""Words of a phrase."""
LONGEST_WORD = 40
"""Characters. What is longer is a link or a blob."""
_VERBS = frozenset(
    "ask been bring came come felt find found get gets getting give going gone got help keep know learn "
    "let look looking made make makes making need put said saw say see seem seems started take thing "
    "things think thinking thought told took tried try trying use used want wanted wants way went lot "
    "lots bit able much many also would could might must may shall like liked love loved feel feeling "
    "since one ones even back well still every around always never today yesterday tomorrow tonight".split()
)
EMPTY_WORDS = STOP_WORDS | FILLERS | _VERBS
"""Words that are no keyword."""
_NAMES = re.compile(r"(?<=[^.!?:\n\s]\s)(?!I\b)[A-Z][\w’'-]*(?:\s(?:of\s|the\s)?(?!I\b)[A-Z][\w’'-]*){0,3}")
_AMOUNT = re.compile(
    r"(?:[$€£¥]\s?)?\d[\d,.:/]*(?<![,.:/])(?:-\d[\d,.]*(?<![,.]))?\s?(?:%|[ap]m\b|[A-Za-z]{2,14}\b)?"
)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s'’-]+")


def keywords_of(found: Sequence[Weighed], names: Collection[str]) -> tuple[str, ...]:
    """Keywords of a turn's sentences, 8 at most; fewer where it has fewer that differ.

    ``names`` of those who talk, in lower case, are none: they talk in every turn.
    """
    spoken = [one.sentence for one in found if one.sentence.kind != "code"]
    text = "\n".join(sentence.text for sentence in spoken or (one.sentence for one in found))
    ranked = [
        *_some(_names(text, names), 3),
        *_some((str(date) for sentence in spoken for date in sentence.dates), 2),
        *_some(_amounts(text), 2),
        *_phrases(text, names),
    ]
    chosen: list[str] = []
    seen: set[str] = set()
    for keyword in ranked:
        have = set(keyword.lower().split())
        if have <= seen:
            continue
        seen |= have
        chosen.append(keyword)
        if len(chosen) == MOST:
            break
    return tuple(chosen)


def _some(found: Iterable[str], most: int) -> list[str]:
    """The most frequent, ties in order of appearance."""
    counts: dict[str, int] = {}
    for text in found:
        counts[text] = counts.get(text, 0) + 1
    return sorted(counts, key=counts.__getitem__, reverse=True)[:most]


def _names(text: str, speakers: Collection[str]) -> Iterator[str]:
    for match in _NAMES.finditer(text):
        name = match[0].replace("’", "'").removesuffix("'s")
        lower = name.lower()
        if "'" not in lower and lower not in EMPTY_WORDS and lower not in speakers:
            yield name


def _amounts(text: str) -> Iterator[str]:
    for match in _AMOUNT.finditer(text):
        amount, _, unit = match[0].rpartition(" ")
        yield amount if amount and unit.lower() in EMPTY_WORDS else match[0]


def _phrases(text: str, names: Collection[str]) -> list[str]:
    """Runs of words that say something, best first; of scripts without spaces, the most frequent pairs."""
    skipped = EMPTY_WORDS.union(names)
    runs: dict[tuple[str, ...], int] = {}
    run: tuple[str, ...] = ()
    unspaced: list[str] = []
    for word in _WORD.findall(text.lower().replace("’", "'")):
        if not word.isascii() and UNSPACED.search(word):
            unspaced.extend(terms(word))
        elif 2 < len(word) <= LONGEST_WORD and word[0].isalpha() and "'" not in word and word not in skipped:
            run = (*run, word)
            if len(run) < LONGEST:
                continue
        if run:
            runs[run] = runs.get(run, 0) + 1
            run = ()
    if run:
        runs[run] = runs.get(run, 0) + 1
    degree: dict[str, int] = {}
    frequency: dict[str, int] = {}
    for words, count in runs.items():
        for word in words:
            degree[word] = degree.get(word, 0) + len(words) * count
            frequency[word] = frequency.get(word, 0) + count
    scores = {words: sum([degree[word] / frequency[word] for word in words]) for words in runs}
    ranked = sorted(runs, key=scores.__getitem__, reverse=True)
    return [*(" ".join(words) for words in ranked), *_some(unspaced, MOST)]
