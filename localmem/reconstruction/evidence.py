"""Gathered messages in the form that answering reads."""

from __future__ import annotations

from collections.abc import Sequence

from localmem.answering.question import Kind, Question, read_question
from localmem.answering.recall import RECORDS, RECORDS_TO_COUNT, Found
from localmem.answering.sentences import Sentence, sentences_of
from localmem.reconstruction.records import Records
from localmem.types import Evidence, Message


def found(question: Question, gathered: Sequence[tuple[Message, str]], records: Records) -> Found:
    """The messages, best first, with the sentences of the best for each part of the question.

    ``gathered``: each message once, with the layer it was read at.
    """
    ids = [message.id for message, _ in gathered]
    close = {part: records.closeness(part, ids) for part in question.parts}
    items = [
        Evidence(message, layer, max(near.get(message.id, 0.0) for near in close.values()))
        for message, layer in gathered
    ]
    items.sort(key=lambda item: -max(relevance(records, part, item.message.id) for part in close))

    def sentences(part: str) -> list[Sentence]:
        most = RECORDS_TO_COUNT if question.kind is Kind.COUNT else RECORDS
        best = sorted(items, key=lambda item: -relevance(records, part, item.message.id))[:most]
        near = [Evidence(item.message, item.layer, close[part].get(item.message.id, 0.0)) for item in best]
        return sentences_of(near, records.rarity(read_question(part).terms))

    return Found(tuple(items), tuple(sentences(part) for part in question.parts))


def relevance(records: Records, text: str, message_id: int) -> float:
    """A message's score in a search for a text; minus infinity where it has none."""
    row = records.row(message_id)
    return float("-inf") if row is None else float(records.relevance(text)[row])
