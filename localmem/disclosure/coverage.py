"""What a question requires, and how far the evidence meets it: computed, never asked of a model."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from localmem.answering.question import Kind, Question, read_question
from localmem.answering.recall import RECORDS, RECORDS_TO_COUNT, Found
from localmem.answering.sentences import Sentence, sentences_of
from localmem.disclosure.evidence import EvidenceSet
from localmem.reconstruction.records import Records
from localmem.reconstruction.requirements import Need, needs_of
from localmem.reconstruction.support import Support
from localmem.retrieval.search import HybridSearch
from localmem.store import SessionStore
from localmem.types import Evidence, Requirement


class Coverage:
    """A question against the messages of one view of the store."""

    def __init__(
        self, question: Question, records: Records, search: HybridSearch, sessions: SessionStore
    ) -> None:
        self.question = question
        self._records = records
        self._search = search
        self._sessions = sessions
        needs = needs_of(question.text, records.columns.names, records.asked_on)
        self._support = Support(records, needs)

    @property
    def needs(self) -> tuple[Need, ...]:
        """What the question requires."""
        return self._support.needs

    def row(self, message_id: int) -> int | None:
        """A message's row in the view; None for one that came later."""
        ids = self._records.columns.ids
        row = int(np.searchsorted(ids, message_id))
        return row if row < len(ids) and ids[row] == message_id else None

    def relevance(self, message_id: int, text: str | None = None) -> float:
        """A message's score in a search for a text (None: the question); minus infinity where it has none."""
        row = self.row(message_id)
        if row is None:
            return float("-inf")
        return float(self._records.relevance(text or self.question.text)[row])

    def missing(self, message_ids: Iterable[int]) -> list[Need]:
        """Requirements that none of some messages meets."""
        return self._support.missing(self._rows(message_ids))

    def covers(self, message_id: int, need: Need) -> bool:
        """Whether one message meets a requirement."""
        return need not in self.missing([message_id])

    def requirements(self, evidence: EvidenceSet) -> tuple[Requirement, ...]:
        """Each requirement with the messages of the evidence that meet it best."""
        return self._support.table(self._records, self._rows(evidence.messages()))

    def turns(self, message_ids: Iterable[int]) -> set[tuple[int, int]]:
        """Session and turn of some messages."""
        messages = self._sessions.messages_by_id(list(message_ids)).values()
        return {(message.session_id, message.turn) for message in messages}

    def rarity(self, words: list[str]) -> dict[str, float]:
        """The idf of terms."""
        return self._records.rarity(words)

    def gathered(self, evidence: EvidenceSet) -> Found:
        """The messages behind the evidence, best first, with the sentences of the best for each part."""
        levels = evidence.messages()
        messages = self._sessions.messages_by_id(list(levels))
        parts = self.question.parts
        close = [self._search.closeness(part, list(messages)) for part in parts]
        items = [
            Evidence(message, levels[i], max(near.get(i, 0.0) for near in close))
            for i, message in messages.items()
        ]
        items.sort(key=lambda item: -max(self.relevance(item.message.id, part) for part in parts))
        sentences = tuple(self._sentences(part, items, near) for part, near in zip(parts, close, strict=True))
        return Found(tuple(items), sentences)

    def _sentences(self, part: str, items: list[Evidence], close: dict[int, float]) -> list[Sentence]:
        most = RECORDS_TO_COUNT if self.question.kind is Kind.COUNT else RECORDS
        best = sorted(items, key=lambda item: -self.relevance(item.message.id, part))[:most]
        near = [Evidence(item.message, item.layer, close.get(item.message.id, 0.0)) for item in best]
        return sentences_of(near, self._records.rarity(list(read_question(part).terms)))

    def _rows(self, message_ids: Iterable[int]) -> list[int]:
        return [row for row in map(self.row, message_ids) if row is not None]
