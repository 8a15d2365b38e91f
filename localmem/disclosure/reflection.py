"""Reflection by rule: what is missing, what is new, and other words to search for it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from localmem.disclosure.coverage import Coverage
from localmem.disclosure.evidence import Piece
from localmem.disclosure.state import State
from localmem.index.tokens import STOP_WORDS, terms
from localmem.reconstruction.requirements import NeedKind
from localmem.steps import Level, Reflection

WORDS = 8
"""Of a query at most (APDMem, Figure 8: 3 to 8)."""
QUERIES = 3
FACTS = 8
"""Most relevant pieces whose words lead on."""

_WORD = re.compile(r"\w+(?:['’]\w+)*")


class NoveltyReflection:
    """Sufficient when every requirement is met, or when nothing was found since the last time."""

    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage

    def __call__(self, state: State) -> Reflection:
        """Judge the evidence of ``state``; queries lead from the best facts to what is missing.

        A question that counts is never known to be complete: it is searched once more in other words.
        """
        missing = self._coverage.missing(state.evidence.messages())
        again = state.counts and state.reflected_at is None
        if not state.grown or not (missing or again):
            return Reflection(True)
        sought = [need.text for need in missing if need.kind is not NeedKind.TIME] or [state.question.text]
        queries = tuple(dict.fromkeys(self._queries(state, sought)))[:QUERIES]
        return Reflection(not queries, gaps=tuple(need.text for need in missing), queries=queries)

    def _queries(self, state: State, wanted: list[str]) -> Iterator[str]:
        """Entity expansion: the words of what is missing with rare words of the best facts."""
        new = self._entities(state)
        for text in wanted:
            own = _content(text)
            yield " ".join(own[:WORDS])
            if new:
                yield " ".join([*own[: WORDS - 3], *new[:3]])
        if new[3:]:
            yield " ".join([*new[3:6], *_content(wanted[0])[:2]])

    def _entities(self, state: State) -> list[str]:
        """Rare words of the facts that speak of the question, which no query had yet; rarest first."""
        known = {term for text in (state.question.text, *state.tried) for term in terms(text)}
        words: dict[str, str] = {}
        for piece in self._best(state):
            for word in _WORD.findall(piece.text):
                for term in terms(word)[:1]:
                    if term not in known and not term.isdigit():
                        words.setdefault(term, word)
        rarity = self._coverage.rarity(list(words))
        return [words[term] for term in sorted(words, key=lambda t: -rarity.get(t, 0.0))]

    def _best(self, state: State) -> list[Piece]:
        pieces = [piece for piece in state.evidence.pieces() if piece.level is not Level.SUMMARY]
        worth = {piece: max(map(self._coverage.relevance, piece.messages), default=0.0) for piece in pieces}
        return sorted(pieces, key=lambda piece: -worth[piece])[:FACTS]


def _content(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if word.lower() not in STOP_WORDS]
