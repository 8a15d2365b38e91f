"""Views: ways to reach records of the one store (BFR 4.3). Each returns the rows it finds, best first.

``text``, ``entity`` and ``session`` are the paper's; a cue is all they get. ``ranking`` and ``links`` are
ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from localmem.index.lexical import Scores
from localmem.index.tokens import query_terms, terms
from localmem.reconstruction.completion import Action, Retrieve
from localmem.reconstruction.records import Records
from localmem.retrieval.ranking import ASKS, DENSE, LENGTH, LEXICAL, SPEAKER, TIME

PAGE = 12
"""Records that a call returns; the paper's set sizes imply at least so many (BFR, Table 16)."""

RARE = 2.5
"""Idf from which on a term links one record with another."""
SATURATED = 20.0
"""Summed idf of shared terms from which on a link is as strong as it gets."""
_SAID = np.float32(1e-3)  # less than any BM25: who is named comes before who speaks
LINK, ALONE = 0.5, 1 / 3
"""Weights of a link, and of what a record says whatever stands around it."""

Found = NDArray[np.int64]
View = Callable[[Records, str, str | int, Sequence[int]], Found]
"""(records, question, cue, evidence) -> rows."""


def text(records: Records, question: str, cue: str | int, evidence: Sequence[int]) -> Found:
    """The text index: BM25 for the cue."""
    return records.ordered(records.words(str(cue)))


def entity(records: Records, question: str, cue: str | int, evidence: Sequence[int]) -> Found:
    """The entity index: records that name the person, then those that the person said."""
    name = str(cue).lower()
    said = np.isin(
        records.columns.speaker, [n for n, known in enumerate(records.columns.names) if name in known.split()]
    )
    return records.ordered(records.words(str(cue)) + _SAID * said.astype(np.float32))


def session(records: Records, question: str, cue: str | int, evidence: Sequence[int]) -> Found:
    """The session index: records of the anchor's session, nearest first, the later one of two first."""
    columns, anchor = records.columns, int(cue)
    rows = np.flatnonzero(records.allowed & (columns.session == columns.session[anchor]))
    distance = np.arange(len(rows)) - np.searchsorted(rows, anchor)
    return rows[np.lexsort((-distance, np.abs(distance)))]


def ranking(records: Records, question: str, cue: str | int, evidence: Sequence[int]) -> Found:
    """The ranking that ``localmem search`` shows, for the cue."""
    return records.ordered(records.relevance(str(cue)), -np.inf)


def links(records: Records, question: str, cue: str | int, evidence: Sequence[int]) -> Found:
    """Keyword links across sessions: records with rare terms of the evidence, that match by themselves."""
    asked = frozenset(query_terms(question))
    said = [f"{m.text} {m.attachments}" for m in records.fetch(evidence)]
    found = dict.fromkeys(term for said_text in said for term in terms(said_text) if term not in asked)
    rare = {term: idf for term, idf in records.rarity(list(found)).items() if idf > RARE}
    linked = np.minimum(records.shared(rare) / np.float32(SATURATED), 1)
    return records.ordered(np.float32(LINK) * linked + np.float32(ALONE) * _alone(records, str(cue)))


def _alone(records: Records, cue: str) -> Scores:
    """The parts of the ranking that a record has by itself: not of its window, session or day."""
    parts, columns = records.ranking(cue), records.columns
    own = LEXICAL * parts.lexical + DENSE * parts.similarity.message + SPEAKER * parts.speaker
    own = own + LENGTH * columns.fullness + ASKS * columns.asks
    if records.asked(cue).wants_time:
        own = own + TIME * columns.names_time
    return np.asarray(own, np.float32)


VIEWS: dict[str, View] = {
    "text": text,
    "entity": entity,
    "session": session,
    "ranking": ranking,
    "links": links,
}
"""By the name that an action and a trace give them."""


def retriever(
    records: Records, question: str, views: Mapping[str, View] = VIEWS, page: int = PAGE
) -> Retrieve:
    """How an action is carried out: the first ``page`` rows that its view finds beside those held."""

    def retrieve(action: Action, held: Sequence[int]) -> Sequence[int]:
        found = views[action.view](records, question, action.cue, held)
        rows: list[int] = found[~np.isin(found, held)][:page].tolist()
        return rows

    return retrieve
