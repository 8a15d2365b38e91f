"""Small files in the official schemas, and a way to read one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localmem.importers import read_sessions
from localmem.types import NewSession

Read = Callable[..., list[NewSession]]
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write bytes, text, or JSON to a file whose name tells nothing."""

    def write_file(content: Any, name: str = "export.dat") -> Path:
        path = tmp_path / name
        if not isinstance(content, bytes | str):
            content = json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write_file


@pytest.fixture
def skipped() -> Counter[str]:
    return Counter()


@pytest.fixture
def read(skipped: Counter[str]) -> Read:
    return lambda path, format="auto": list(read_sessions(path, format, skipped=skipped))


@pytest.fixture
def locomo() -> list[dict[str, Any]]:
    def said(speaker: str, dia_id: str, text: str, **more: str) -> dict[str, str]:
        return {"speaker": speaker, "dia_id": dia_id, "text": text, **more}

    return [
        {
            "qa": [{"question": "When?", "answer": 2022, "evidence": ["D1:2"], "category": 2}],
            "conversation": {
                "speaker_a": "Ana",
                "speaker_b": "Ben",
                "session_10_date_time": "12:09 am on 13 September, 2023",
                "session_10": [said("Ben", "D10:1", "Ten")],
                "session_2_date_time": "12:30 pm on 25 May, 2023",
                "session_2": [said("Ana", "D2:1", "Two", blip_caption="a photo of a dog")],
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": [said("Ana", "D1:1", "Hey"), said("Ben", "D1:2", "Hi Ana")],
                "session_11_date_time": "9:00 am on 1 October, 2023",
            },
            "sample_id": "conv-1",
        },
        {
            "conversation": {
                "session_1_date_time": "4:04 pm on 20 January, 2023",
                "session_1": [said("Cas", "D1:1", "Other")],
            },
            "sample_id": "conv-2",
        },
    ]


@pytest.fixture
def longmemeval() -> list[dict[str, Any]]:
    chat = [
        {"role": "user", "content": "I moved to Delft.", "has_answer": True},
        {"role": "assistant", "content": "Nice."},
    ]
    return [
        {
            "question_id": "q1_abs",
            "question": "Where do I live?",
            "answer": 3,
            "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 13:00", "2023/05/22 (Mon) 09:00"],
            "haystack_session_ids": ["s1", "s2", "s1"],
            "haystack_sessions": [chat, [{"role": "user", "content": "Bye"}], chat],
        },
        {
            "question_id": "q2",
            "haystack_dates": ["2023/06/01 (Thu) 10:00"],
            "haystack_session_ids": ["s1"],
            "haystack_sessions": [chat],
        },
    ]
