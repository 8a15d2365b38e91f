"""Reconstructed evidence in the form that answering reads."""

from __future__ import annotations

from localmem.answering.question import Question, read_question
from localmem.answering.recall import Found
from localmem.answering.sentences import Sentence, sentences_of
from localmem.reconstruction.reconstruct import Reconstruction
from localmem.retrieval.search import HybridSearch
from localmem.types import Evidence


def found(question: Question, made: Reconstruction, search: HybridSearch) -> Found:
    """The messages with their sentences, once for each part of the question: each part asks all of them."""
    ids = [message.id for message in made.messages]

    def evidence(text: str) -> list[Evidence]:
        close = search.closeness(text, ids)
        return [Evidence(message, "raw", close.get(message.id, 0.0)) for message in made.messages]

    def sentences(part: str) -> list[Sentence]:
        weights = search.matches(search.view(), read_question(part).terms).idf
        return sentences_of(evidence(part), weights)

    return Found(tuple(evidence(question.text)), tuple(sentences(part) for part in question.parts))
