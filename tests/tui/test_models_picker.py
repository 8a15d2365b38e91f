"""Choosing models in the chat, and the first start without one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from localmem.cli import main
from localmem.errors import BadInput, ModelMissing
from localmem.memory import Memory
from localmem.models.catalog import ModelRole
from localmem.models.library import ModelStatus
from localmem.models.scripted import ScriptedModel
from localmem.probing.results import Standing
from localmem.tui.app import ChatApp
from localmem.tui.models_picker import Models, ModelsPicker

OpenChat = Callable[..., Any]
HOSTILE = "/m/[/b]big.gguf"


class Shelf:
    """A library and a team of two models without weights; the judge's work is trusted to neither."""

    def __init__(self, installed: Sequence[str] = ("small", HOSTILE)) -> None:
        self.roles = dict.fromkeys(ModelRole, "small") | {ModelRole.EMBEDDER: "minilm"}
        self.in_memory: set[str] = set()
        self.installed = installed

    def status(self) -> list[ModelStatus]:
        def one(name: str, kind: Any, size: int) -> ModelStatus:
            there = name in self.installed or kind == "embedding"
            return ModelStatus(name, kind, there, size, (), "", "", size)

        chat = [one("small", "chat", 400_000_000), one(HOSTILE, "chat", 4_000_000_000)]
        return [*chat, one("minilm", "embedding", 90_000_000)]

    def role(self, role: ModelRole) -> str:
        return self.roles[role]

    def open_chat(self, name: str) -> ScriptedModel:
        self.in_memory.add(name)
        return ScriptedModel(name=name)

    def loaded(self, name: str) -> bool:
        return name in self.in_memory

    def unload(self, name: str) -> None:
        self.in_memory.discard(name)

    def serving(self, role: ModelRole) -> str:
        return f"{self.roles[role]}, model (its probe's 0.95 reaches 0.60)"

    def standing(self, role: ModelRole) -> Standing:
        return Standing(role, 0.6, None, forced=self.roles[role] == HOSTILE)

    def use(self, role: ModelRole, name: str) -> str:
        if role is ModelRole.JUDGE:
            raise BadInput(f"{name} is not trusted as judge: its probe's 0.20 is below 0.90.")
        self.roles[role] = name
        return f"{role}: {name} (its probe's 0.95 reaches 0.60)"


def models(shelf: Shelf) -> Models:
    both: Any = shelf
    return Models(both, both)


async def opened(c: Any, shelf: Shelf) -> None:
    c.app.models = models(shelf)
    await c.pilot.press("ctrl+l")
    await c.on_screen("Enter gives a role to another model.", "embedder", "finds messages by meaning")


async def test_each_role_is_shown_with_its_model_its_probe_and_its_memory(chat: OpenChat) -> None:
    async with chat(ScriptedModel()) as c:
        await opened(c, Shelf())
        screen = c.screen()
        for role in ModelRole:
            assert role in screen
        assert "small  0.4 GB, not loaded" in screen
        assert "model (its probe's 0.95 reaches 0.60)" in screen
        assert "of memory are free" in " ".join(screen.replace("│", " ").split())


async def test_another_answerer_takes_over_when_the_picker_is_left(chat: OpenChat, memory: Memory) -> None:
    shelf = Shelf()

    def load() -> ScriptedModel:
        return ScriptedModel(["From the new one."], name=shelf.roles[ModelRole.ANSWERER])

    async with chat(load) as c:
        await opened(c, shelf)
        await c.pilot.press("down", "down", "down", "enter")
        await c.on_screen("Which model is to be the answerer?", HOSTILE)
        await c.pilot.press("down", "enter")
        await c.on_screen(f"answerer: {HOSTILE} (its probe's 0.95")
        await c.pilot.press("escape")
        await c.until(lambda: c.status() == f"{HOSTILE} is ready.")
        assert c.app.chat.talk.trust.forced
        await c.say("Who is there?")
        await c.on_screen("From the new one.")


async def test_what_the_probe_says_no_to_is_refused_with_the_sentence(chat: OpenChat) -> None:
    shelf = Shelf()
    async with chat(ScriptedModel()) as c:
        await opened(c, shelf)
        await c.pilot.press("down", "down", "down", "down", "enter")
        await c.on_screen("Which model is to be the judge?")
        await c.pilot.press("down", "enter")
        await c.on_screen("is not trusted as judge: its probe's 0.20 is below 0.90.")
        assert shelf.roles[ModelRole.JUDGE] == "small"


async def test_a_model_is_loaded_and_its_memory_freed(chat: OpenChat) -> None:
    shelf = Shelf()
    async with chat(ScriptedModel()) as c:
        await opened(c, shelf)
        await c.pilot.press("l")
        await c.on_screen("small is loaded.", "0.4 GB, loaded")
        await c.pilot.press("u")
        await c.on_screen("small is not loaded any more", "0.4 GB, not loaded")
        assert not shelf.in_memory


async def test_a_role_whose_model_is_gone_names_the_command_that_gets_it(chat: OpenChat) -> None:
    async with chat(ScriptedModel()) as c:
        await opened(c, Shelf(installed=()))
        await c.on_screen("not installed: localmem models pull small")
        await c.pilot.press("enter")
        await c.on_screen("No chat model is installed.")


async def test_while_a_reply_is_written_models_stay(chat: OpenChat, paced: Any) -> None:
    model = paced("begun", " ended")
    async with chat(model) as c:
        c.app.models = models(Shelf())
        await c.type("go")
        await c.on_screen("begun")
        await c.pilot.press("ctrl+l")
        await c.until(lambda: "A reply is running" in c.notified())
        assert not isinstance(c.app.screen, ModelsPicker)
        model.release.set()
        await c.ready()


async def test_the_real_library_is_read(chat: OpenChat, tmp_path: Path) -> None:
    from localmem.home import Home

    home = Home(tmp_path / "home")
    async with chat(ScriptedModel()) as c:
        app: ChatApp = c.app
        app.models = Models(home.library, home.team)
        await c.pilot.press("ctrl+l")
        await c.on_screen("not installed: localmem models pull", "Here would suit")
    home.close()


# The first start


@pytest.fixture
def pulled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the models that are fetched; none is."""
    names: list[str] = []

    def pull(self: object, name: str, progress: object) -> bool:
        names.append(name)
        return True

    monkeypatch.setattr("localmem.models.library.Library.pull", pull)
    return names


def start(tmp_path: Path) -> int:
    return main(["--home", str(tmp_path / "home"), "--db", str(tmp_path / "m.db"), "chat"])


def at_a_terminal(monkeypatch: pytest.MonkeyPatch, answer: str) -> list[str]:
    """Somebody is at a terminal and answers; returns what is asked."""
    asked: list[str] = []

    def confirm(text: str, **_: object) -> bool:
        asked.append(text)
        return answer == "y"

    monkeypatch.setattr("localmem.cli.context.at_terminal", lambda: True)
    monkeypatch.setattr("localmem.cli.context.click.confirm", confirm)
    return asked


def test_the_first_start_offers_the_small_models_with_size_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pulled: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = at_a_terminal(monkeypatch, "y")
    assert start(tmp_path) == ModelMissing.exit_code  # fetched by nobody, they are still missing
    assert pulled == ["smollm2-135m", "all-minilm-l6-v2"]
    assert len(asked) == 1
    told = capsys.readouterr().err
    assert " MB" in told
    assert "min" in told
    assert "of memory are free" in told


def test_without_a_yes_nothing_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pulled: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    at_a_terminal(monkeypatch, "n")
    assert start(tmp_path) == ModelMissing.exit_code
    assert pulled == []
    assert "localmem models pull" in capsys.readouterr().err


def test_without_a_terminal_nothing_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pulled: list[str]
) -> None:
    def confirm(*_: object, **__: object) -> bool:
        raise AssertionError("nobody is there")

    monkeypatch.setattr("localmem.cli.context.click.confirm", confirm)
    assert not sys.stdin.isatty()
    assert start(tmp_path) == ModelMissing.exit_code
    assert pulled == []
