from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from localmem.evals.baselines.chain import BLOCKED, chains
from localmem.evals.baselines.cues import CALLS, follow_cues
from localmem.memory import Memory
from localmem.reconstruction.records import Records
from localmem.types import NewSession

Said = Callable[..., NewSession]


@pytest.fixture
def records(memory: Memory, said: Said) -> Records:
    memory.add(said("I bought a red kayak", "Congratulations!", "The kayak leaks", session="boats"))
    memory.add(said("I bought a red kayak", "Again?", session="repeated"))
    memory.add(said("Rachel paddles on the lake", "Nice.", "The lake froze", session="lake"))
    memory.wait_embedded()
    return Records(memory.retrieval)


def texts(records: Records, rows: list[int]) -> list[str]:
    return [message.text for message in records.fetch(rows)]


def test_a_chain_starts_at_the_best_match_and_blocks_what_says_the_same(records: Records) -> None:
    rows = chains("Who bought a red kayak?", records, 5)
    assert texts(records, rows)[0] == "I bought a red kayak"
    assert texts(records, rows).count("I bought a red kayak") == 1
    vectors = records.vectors(np.array(rows, np.int64))
    alike = vectors @ vectors.T
    assert all(alike[a, b] < BLOCKED for a in range(len(rows)) for b in range(a))


def test_cues_lead_from_the_question_over_names_to_the_session_of_what_was_found(records: Records) -> None:
    rows, calls = follow_cues("What did my friend Rachel do on the lake?", records, 4)
    assert texts(records, rows)[0] == "Rachel paddles on the lake"
    assert "Nice." in texts(records, rows)
    assert 1 < calls <= CALLS
    assert len(rows) == len(set(rows)) <= 4


def test_tools_stop_when_calls_are_spent_although_nothing_is_found(records: Records) -> None:
    assert follow_cues("Zorblax?", records, 10) == ([], CALLS)
