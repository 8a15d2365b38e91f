from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest


def spoken(speaker: str, number: int, place: int, text: str) -> dict[str, str]:
    return {"speaker": speaker, "dia_id": f"D{number}:{place}", "text": text}


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    """A file of LoCoMo's shape: one conversation, questions of every kind of evidence."""
    first = ["I adopted a cat called Miso.", "How nice!", "My sister lives in Porto."]
    second = ["The cat had her operation.", "Poor Miso.", "I finished the marathon in Porto."]
    conversation: dict[str, Any] = {"speaker_a": "Ana", "speaker_b": "Ben"}
    for number, (day, texts) in enumerate([("8 May, 2023", first), ("20 June, 2023", second)], 1):
        conversation[f"session_{number}_date_time"] = f"1:56 pm on {day}"
        conversation[f"session_{number}"] = [
            spoken(("Ana", "Ben")[place % 2], number, place + 1, text) for place, text in enumerate(texts)
        ]
    questions = [
        {"question": "What is the cat called?", "answer": "Miso", "evidence": ["D1:1"], "category": 4},
        {"question": "What happened in Porto?", "answer": "x", "evidence": ["D1:3; D2:3"], "category": 1},
        {"question": "Unannotated?", "answer": "x", "evidence": [], "category": 3},
        {"question": "Evidence lost?", "answer": 7, "evidence": ["D9:9"], "category": 2},
        {"question": "Never said?", "adversarial_answer": "y", "evidence": ["D1:1"], "category": 5},
    ]
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([{"sample_id": "conv-x", "conversation": conversation, "qa": questions}]))
    return path


@pytest.fixture
def longmemeval(tmp_path: Path) -> Path:
    """A file of LongMemEval's shape: a repeated session id, an empty session, an abstention question."""

    def record(question_id: str) -> dict[str, Any]:
        said = [
            {"role": "user", "content": "I graduated in botany.", "has_answer": True},
            {"role": "assistant", "content": "Wonderful."},
        ]
        other = [{"role": "user", "content": "Tell me about rivers."}]
        return {
            "question_id": question_id,
            "question_type": "single-session-user",
            "question": "What did I graduate in?",
            "question_date": "2023/05/30 (Tue) 23:40",
            "answer": 3,
            "answer_session_ids": ["s1"],
            "haystack_dates": ["2023/05/20 (Sat) 02:21"] * 4,
            "haystack_session_ids": ["s1", "s2", "s3", "s1"],
            "haystack_sessions": [other, [], other, said],
        }

    path = tmp_path / "longmemeval.json"
    path.write_text(json.dumps([record("q1"), record("q2_abs")]))
    return path


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A copy of the example of one's own data."""
    example = resources.files("localmem.evals.datasets").joinpath("example.json").read_text(encoding="utf-8")
    path = tmp_path / "own.json"
    path.write_text(example, encoding="utf-8")
    return path
