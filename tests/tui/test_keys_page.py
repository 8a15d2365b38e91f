"""The page of keys in the documents says what the chat does."""

from __future__ import annotations

from pathlib import Path

from localmem.tui.commands import COMMANDS
from localmem.tui.help import key_map, key_page

PAGE = Path(__file__).parents[2] / "docs" / "KEYS.md"


def test_the_page_of_keys_is_that_of_the_chat() -> None:
    wanted = key_page()
    assert PAGE.read_text(encoding="utf-8") == wanted, (
        "docs/KEYS.md is not up to date. Write it anew: python -m localmem.tui.help > docs/KEYS.md"
    )


def test_the_page_has_every_command_and_fits_on_one_page() -> None:
    page = key_page()
    for command in COMMANDS:
        assert command.about in page
        assert not command.slash or f"`/{command.name}" in page
    assert len(page.splitlines()) < 110
    for heading, lines in key_map({}):
        assert heading == "Commands" or heading in page
        assert all(keys in page for keys, _ in lines)
