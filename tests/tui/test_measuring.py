"""The figures of the chat are taken from a chat that runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localmem.cli import main


def test_the_figures_are_of_a_chat_that_starts_turns_pages_and_takes_letters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--home", str(tmp_path), "bench", "tui", "--messages", "60", "--json"]) == 0
    out, err = capsys.readouterr()
    (row,) = json.loads(out)["rows"]
    assert (row["messages"], row["session_messages"]) == (60, 60)
    assert row["pages"] > 1
    assert 0 < row["key_ms"]["p50"] <= row["key_ms"]["p95"] <= row["key_ms"]["max"]
    assert 0 < row["page_ms"]["p50"] <= row["page_ms"]["max"]
    assert {"down_ms", "wheel_ms", "stall_ms"} <= set(row)
    assert row["process"]["first_frame_s"] > row["start_s"] > 0
    assert "turning its pages" in err
