"""Which messages support which requirement: the incidence of the formal context."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from localmem.answering.question import ASKS
from localmem.answering.sentences import split_sentences
from localmem.index.lexical import Scores
from localmem.reconstruction.notes import Note
from localmem.reconstruction.records import Records
from localmem.reconstruction.requirements import Need, NeedKind, needs_of
from localmem.types import Message, Requirement

COVERED = 0.5
"""Share of a requirement's terms, weighted by idf, from which on a message supports it."""
ALIKE = 0.5
"""Cosine from which on it does whatever its words."""
METS = 3
"""Messages named as what met a requirement."""


class Support:
    """How strongly each message supports each requirement of a question."""

    def __init__(self, records: Records, needs: Sequence[Need]) -> None:
        self.needs = tuple(needs)
        shape = (len(records), len(self.needs))
        self.strength: NDArray[np.float32] = np.zeros(shape, np.float32)
        """0 to 1, shape (messages, requirements): the better of coverage and cosine."""
        self.met: NDArray[np.bool_] = np.zeros(shape, np.bool_)
        """Whether it is enough, same shape."""
        timed = [n for n, need in enumerate(self.needs) if need.kind is NeedKind.TIME]
        for number, need in enumerate(self.needs):
            if number not in timed:
                words = records.coverage(need.text)
                alike = records.meaning(records.asked(need.text).similar_to)
                self.strength[:, number] = np.clip(np.maximum(words, alike), 0, 1)
                self.met[:, number] = (words >= COVERED) | (alike >= ALIKE)
        others = self.met.any(axis=1)
        for number in timed:
            # A time answers only as the time of something that was asked about.
            self.met[:, number] = others & _timely(records, self.needs[number])
            self.strength[:, number] = self.met[:, number] * self.strength.max(axis=1)

    def of_note(self, note: Note) -> int:
        """The requirements that a note's messages meet, as a set of bits."""
        met = self.met[list(note.rows)].any(axis=0)
        return sum(1 << number for number in np.flatnonzero(met).tolist())

    def strength_of(self, note: Note) -> Scores:
        """How strongly a note supports each requirement that it meets, else 0, shape (requirements,)."""
        rows = list(note.rows)
        return np.asarray((self.strength[rows] * self.met[rows]).max(axis=0), np.float32)

    def missing(self, rows: Sequence[int]) -> list[Need]:
        """The requirements that none of some messages meets."""
        met: list[bool] = np.any(self.met[list(rows)], axis=0).tolist()
        return [need for number, need in enumerate(self.needs) if not met[number]]

    def table(self, records: Records, rows: Sequence[int]) -> tuple[Requirement, ...]:
        """Each requirement with the messages of ``rows`` that meet it best; none: not found.

        A message that only asks, such as the same question asked before, tells nothing and is not named.
        """
        places = np.array(rows, np.int64)
        table = []
        for number, need in enumerate(self.needs):
            having = places[self.met[places, number]] if len(places) else places
            best = having[np.argsort(-self.strength[having, number], kind="stable")]
            telling = (m.id for m in records.fetch(best.tolist()) if not _only_asks(m))
            table.append(Requirement(need.text, tuple(islice(telling, METS))))
        return tuple(table)


def required(
    question: str, records: Records, among: Sequence[int], cited: Sequence[int]
) -> tuple[Requirement, ...]:
    """What a question requires, with the messages ``among`` that meet it; a time also by those ``cited``."""
    needs = needs_of(question, records.columns.names, records.asked_on)
    rows = [row for row in map(records.row, among) if row is not None]
    return timed(needs, Support(records, needs).table(records, rows), cited, records)


def timed(
    needs: Sequence[Need], table: Sequence[Requirement], cited: Sequence[int], records: Records
) -> tuple[Requirement, ...]:
    """The table, where a time that no message met alone is met by the ids ``cited`` that are of it."""
    rows = [row for row in map(records.row, cited) if row is not None]

    def met(need: Need, known: Requirement) -> Requirement:
        if known.met_by or need.kind is not NeedKind.TIME:
            return known
        timely = _timely(records, need)
        ids = tuple(int(records.columns.ids[row]) for row in rows if timely[row])
        return Requirement(known.text, ids[:METS])

    return tuple(met(*pair) for pair in zip(needs, table, strict=True))


def _only_asks(message: Message) -> bool:
    return not message.attachments and all(s.endswith(ASKS) for s in split_sentences(message.text))


def _timely(records: Records, need: Need) -> NDArray[np.bool_]:
    """Which messages name a time or were sent when the requirement says."""
    columns = records.columns
    if need.days is None:
        return np.asarray(columns.names_time > 0)
    first, last = need.days
    return np.asarray((columns.day >= first.toordinal()) & (columns.day <= last.toordinal() + AFTER))


AFTER = 14
"""Days after a time asked for within which people tell of it."""
