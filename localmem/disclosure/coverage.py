"""What a question requires, and how far the evidence meets it: computed, never asked of a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from localmem.answering.question import Question
from localmem.answering.recall import Found
from localmem.disclosure.evidence import EvidenceSet
from localmem.reconstruction.evidence import found, relevance
from localmem.reconstruction.records import Records
from localmem.reconstruction.requirements import Need, needs_of
from localmem.reconstruction.support import Support, timed
from localmem.store import SessionStore
from localmem.types import Requirement


class Coverage:
    """A question against the messages of one view of the store."""

    def __init__(self, question: Question, records: Records, sessions: SessionStore) -> None:
        self.question = question
        self._records = records
        self._sessions = sessions
        needs = needs_of(question.text, records.columns.names, records.asked_on)
        self._support = Support(records, needs)

    @property
    def needs(self) -> tuple[Need, ...]:
        """What the question requires."""
        return self._support.needs

    def relevance(self, message_id: int, text: str | None = None) -> float:
        """A message's score in a search for a text (None: the question); minus infinity where it has none."""
        return relevance(self._records, text or self.question.text, message_id)

    def missing(self, message_ids: Iterable[int]) -> list[Need]:
        """Requirements that none of some messages meets."""
        return self._support.missing(self._rows(message_ids))

    def requirements(self, evidence: EvidenceSet) -> tuple[Requirement, ...]:
        """Each requirement with the messages of the evidence that meet it best."""
        return self._support.table(self._records, self._rows(evidence.messages()))

    def timed(self, table: Sequence[Requirement], cited: Sequence[int]) -> tuple[Requirement, ...]:
        """See :func:`localmem.reconstruction.support.timed`."""
        return timed(self.needs, table, cited, self._records)

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
        return found(self.question, [(m, levels[i]) for i, m in messages.items()], self._records)

    def _rows(self, message_ids: Iterable[int]) -> list[int]:
        return [row for row in map(self._records.row, message_ids) if row is not None]
