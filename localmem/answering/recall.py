"""What a chat recalls for one message: what was searched, found and spent."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from localmem.answering.accounting import opened_ledger, spent
from localmem.answering.notes import Note
from localmem.answering.pinned import pinned_notes
from localmem.answering.question import Kind, Question, is_question, read_question
from localmem.answering.required import LONGEST, Require
from localmem.answering.sentences import Sentence, sentences_of
from localmem.retrieval.asked import read
from localmem.retrieval.search import Filter, HybridSearch
from localmem.store import SessionStore
from localmem.store.pins import Pins
from localmem.types import Evidence, Requirement

RECORDS = 10
"""Messages taken as evidence for each part of a question."""
RECORDS_TO_COUNT = 34
"""The same for a question that counts: it needs every instance, not the best."""
COVERED = 0.5
"""Share of a question's terms, weighted by idf, that one message must have to be relevant."""
ALIKE = 0.5
"""Cosine from which on a message is relevant whatever its words. With both, 95 % of the questions that
a conversation answers are let through, and 2 % of those asked of somebody else's (EXPERIMENTS.md)."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found for a question."""

    evidence: tuple[Evidence, ...]
    parts: tuple[list[Sentence], ...]
    """The sentences of the evidence for each part of the question."""

    @property
    def sentences(self) -> list[Sentence]:
        """Those of all parts."""
        return [sentence for part in self.parts for sentence in part]

    def relevant(self) -> bool:
        """Whether for each part some message speaks of what was asked."""
        return all(
            any(s.around >= COVERED or s.similarity >= ALIKE for s in sentences) for sentences in self.parts
        )


class Recall:
    """Searches memory for one question and keeps its ledger."""

    def __init__(
        self, search: HybridSearch, sessions: SessionStore, only: Filter, require: Require, pins: Pins
    ) -> None:
        self._search = search
        self._sessions = sessions
        self._pins = pins
        self._only = only
        self._require = require
        self.ledger = opened_ledger(sessions)
        self.ledger.layers = ("raw",)

    def leave_out(self, ids: frozenset[int]) -> None:
        """From now on find none of these messages."""
        self._only = replace(self._only, without=ids)

    def find(self, question: Question) -> Found:
        """What memory holds on each part of a question."""
        found = [self._find(part) for part in question.parts]
        evidence = {item.message.id: item for items, _ in found for item in items}
        return Found(tuple(evidence.values()), tuple(sentences for _, sentences in found))

    def _find(self, text: str) -> tuple[list[Evidence], list[Sentence]]:
        """Evidence for a text, best first, and its sentences."""
        started = time.perf_counter()
        question = read_question(text)
        records = RECORDS_TO_COUNT if question.kind is Kind.COUNT else RECORDS
        hits = self._search.search(text, records, self._only)
        close = self._search.closeness(text, [hit.message.id for hit in hits])
        evidence = [Evidence(hit.message, "raw", close.get(hit.message.id, 0.0)) for hit in hits]
        weights = self._search.matches(self._search.view(), question.terms).idf
        sentences = sentences_of(evidence, weights)
        self.ledger.retrieval_calls += 1
        spent(self.ledger, "search", started)
        return evidence, sentences

    def required(
        self, text: str, evidence: Sequence[Evidence], cited: Sequence[int] = ()
    ) -> tuple[Requirement, ...]:
        """What a question requires, and which of the evidence meets it; nothing for what is no question."""
        if not is_question(text) or len(text) > LONGEST:
            return ()
        started = time.perf_counter()
        needs = self._require(text, [item.message.id for item in evidence], cited)
        spent(self.ledger, "search", started)
        return needs

    def pinned(self, text: str) -> list[Note]:
        """What the person pinned, as notes that go with a text."""
        return pinned_notes(self._pins.all(), self._sessions, text, self._only.without)

    def asks_memory(self, text: str) -> bool:
        """Whether a text asks about the user or somebody who spoke, and not for something new."""
        asked = read(text, self._search.view().columns.names, None)
        return is_question(text) and (asked.first_person or bool(asked.speakers))
