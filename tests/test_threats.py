"""THREATS.md names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
THREATS = (ROOT / "THREATS.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", THREATS)))


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_a_test_that_a_promise_names_is_there(file: str, test: str) -> None:
    text = (ROOT / file).read_text("utf-8")
    assert re.search(rf"def {test}\(" if test else r"def test_", text)


def test_every_promise_names_a_test() -> None:
    rows = [line for line in THREATS.splitlines() if line.startswith("|") and "---" not in line]
    promises = [row for row in rows if not row.startswith("| against")]
    assert len(promises) > 20
    assert all("`tests/" in row for row in promises)
