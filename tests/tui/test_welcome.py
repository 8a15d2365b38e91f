"""The first start: the small models are offered, fetched with a yes, and the chat follows."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList, Static

from localmem.cli import main
from localmem.errors import BadInput, DownloadFailed, ModelFileBad, ModelMissing
from localmem.models.catalog import find
from localmem.tui.welcome import Welcome, arrived_text, better_text, offer_text

SMALL = [find("smollm2-135m"), find("all-minilm-l6-v2")]


class Source:
    """In place of a library: ``pull`` says how far it is until it is released, stopped or fails."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.release = threading.Event()
        self.pulled: list[str] = []

    def pull(self, name: str, progress: Callable[[int, int], None]) -> bool:
        while not self.release.wait(0.01):
            progress(20_000_000, 90_000_000)
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        self.pulled.append(name)
        return True


async def until(pilot: Pilot[bool], condition: Callable[[], Any]) -> None:
    for _ in range(500):
        if condition():
            return
        await pilot.pause(0.01)
    raise AssertionError("not within 5 s")


def told(app: Welcome) -> str:
    return str(app.query_one("#told", Static).content)


def start(source: Source, size: tuple[int, int] = (60, 20)) -> tuple[Welcome, Any]:
    library: Any = source
    app = Welcome(library, SMALL)
    return app, app.run_test(size=size)


async def test_with_a_yes_both_are_fetched_with_progress_and_the_chat_can_begin() -> None:
    source = Source()
    app, running = start(source)
    async with running as pilot:
        offer = str(app.query_one("#offer", Static).content)
        assert "smollm2-135m" in offer
        assert "all-minilm-l6-v2" in offer
        await pilot.press("down", "enter")
        await until(pilot, lambda: "20 of 90 MB" in told(app))
        assert "Esc stops" in told(app)
        source.release.set()
        await until(pilot, lambda: app.return_value is not None)
    assert app.return_value is True
    assert source.pulled == ["smollm2-135m", "all-minilm-l6-v2"]


async def test_enter_alone_fetches_nothing() -> None:
    source = Source()
    app, running = start(source)
    async with running as pilot:
        await pilot.press("enter")
        await until(pilot, lambda: app.return_value is not None)
    assert app.return_value is False
    assert source.pulled == []


async def test_fetching_is_stopped_by_escape_and_can_be_begun_again() -> None:
    source = Source()
    app, running = start(source)
    async with running as pilot:
        await pilot.press("down", "enter")
        await until(pilot, lambda: "of 90 MB" in told(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Stopped." in told(app))
        assert app.query_one(OptionList).has_focus
        source.release.set()
        await pilot.press("enter")
        await until(pilot, lambda: app.return_value is not None)
    assert app.return_value is True


@pytest.mark.parametrize("failure", [DownloadFailed("No [/network]."), ModelFileBad("A wrong hash.")])
async def test_a_failure_is_told_and_fetching_can_be_tried_again(failure: Exception) -> None:
    source = Source(failure)
    source.release.set()
    app, running = start(source)
    async with running as pilot:
        await pilot.press("down", "enter")
        await until(pilot, lambda: told(app) == str(failure))
        await pilot.press("enter")
        await until(pilot, lambda: app.return_value is not None)
    assert app.return_value is True


async def test_who_leaves_while_it_is_fetched_stops_it() -> None:
    source = Source()
    app, running = start(source)
    async with running as pilot:
        await pilot.press("down", "enter")
        await until(pilot, lambda: "of 90 MB" in told(app))
        await pilot.press("ctrl+q")
        await until(pilot, lambda: app.return_value is not None)
    assert app.return_value is False
    assert source.pulled == []


def test_the_offer_tells_size_time_licence_and_what_would_be_better_here() -> None:
    offer = offer_text(SMALL)
    assert "Apache-2.0" in offer
    assert "MB to fetch" in offer
    assert "min at 20 Mbit/s" in offer
    assert "of memory are free" in better_text()


def test_how_long_it_still_takes_follows_from_what_has_arrived() -> None:
    assert "waiting" in arrived_text("m", 0, 90_000_000, 3.0)
    assert arrived_text("m", 30_000_000, 90_000_000, 30.0) == "m: 30 of 90 MB, about 60 s left. Esc stops."
    assert "about 10 min left" in arrived_text("m", 30_000_000, 90_000_000, 300.0)
    assert "checking" in arrived_text("m", 90_000_000, 90_000_000, 300.0)


# The command


def chat(tmp_path: Path) -> int:
    return main(["--home", str(tmp_path / "home"), "--db", str(tmp_path / "m.db"), "chat"])


def test_at_a_terminal_what_is_missing_is_offered_and_declined_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from localmem import tui

    offered: list[str] = []
    monkeypatch.setattr("localmem.cli.chat.at_terminal", lambda: True)
    monkeypatch.setattr(tui, "offer", lambda library, missing: offered.extend(one.name for one in missing))
    assert chat(tmp_path) == ModelMissing.exit_code
    assert offered == ["smollm2-135m", "all-minilm-l6-v2"]
    assert "localmem models pull" in capsys.readouterr().err


def test_without_a_terminal_nothing_is_drawn_and_the_other_way_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not sys.stdin.isatty()
    assert chat(tmp_path) == ModelMissing.exit_code  # offered to nobody
    assert "localmem models pull" in capsys.readouterr().err
    monkeypatch.setattr("localmem.models.library.Library.path", lambda self, name: tmp_path)
    assert chat(tmp_path) == BadInput.exit_code
    told = capsys.readouterr()
    assert "localmem ask" in told.err
    assert told.out == ""


def test_a_terminal_that_cannot_move_its_cursor_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from localmem.cli.chat import at_terminal

    monkeypatch.setattr("sys.stdin", _Terminal())
    monkeypatch.setattr("sys.stderr", _Terminal())
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert at_terminal()
    monkeypatch.setenv("TERM", "dumb")
    assert not at_terminal()


class _Terminal:
    def isatty(self) -> bool:
        return True
