"""Choosing, loading and testing models in the chat."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from textual.widgets import Input

from localmem.errors import BadInput, ModelCrashed, ModelFileBad
from localmem.memory import Memory
from localmem.models.catalog import ModelRole
from localmem.models.library import ModelStatus
from localmem.models.scripted import ScriptedModel
from localmem.probing.results import Result, Standing
from localmem.tui.app import ChatApp
from localmem.tui.models_picker import Models, ModelsPicker

OpenChat = Callable[..., Any]
HOSTILE = "/m/[/b]big.gguf"


class Shelf:
    """A library and a team of two models without weights; the judge's work is trusted to neither."""

    def __init__(self, installed: Sequence[str] = ("small", HOSTILE)) -> None:
        self.roles = dict.fromkeys(ModelRole, "small") | {ModelRole.EMBEDDER: "minilm"}
        self.in_memory: set[str] = set()
        self.damaged = ""
        """A model whose file is damaged."""
        self.probed = threading.Event()
        """Set to let a probe go on to its end."""
        self.unloaded = threading.Event()
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
        self.unloaded.set()

    def probe(self, name: str, progress: Callable[[ModelRole, int, int], None]) -> dict[ModelRole, Standing]:
        """One item, until it is let go on; the model dies in it when it is taken out of memory."""
        progress(ModelRole.JUDGE, 3, 20)
        while not self.probed.wait(0.01):
            if self.unloaded.is_set():
                raise ModelCrashed("The process was killed.")
        return {ModelRole.JUDGE: Standing(ModelRole.JUDGE, 0.9, Result(10, 20, 1.0), forced=False)}

    def serving(self, role: ModelRole) -> str:
        if self.damaged == self.roles[role]:
            raise ModelFileBad(f"{self.damaged} is cut short. Get it again.")
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
        await c.on_screen("A .gguf file of yours…")


async def test_a_file_of_the_persons_own_is_given_a_role(chat: OpenChat) -> None:
    shelf = Shelf(installed=("small",))
    async with chat(ScriptedModel()) as c:
        await opened(c, shelf)
        await c.pilot.press("enter")
        await c.on_screen("Which model is to be the summariser?")
        await c.pilot.press("end", "enter")
        await c.on_screen("The path of a .gguf file:")
        c.app.screen.query_one(Input).value = HOSTILE
        await c.pilot.press("enter")
        await c.on_screen(f"summariser: {HOSTILE}")
        assert shelf.roles[ModelRole.SUMMARISER] == HOSTILE


async def test_a_damaged_model_is_told_in_its_row_and_the_others_are_shown(chat: OpenChat) -> None:
    shelf = Shelf()
    shelf.damaged = shelf.roles[ModelRole.JUDGE] = HOSTILE
    async with chat(ScriptedModel()) as c:
        await opened(c, shelf)
        await c.on_screen(f"{HOSTILE} is cut short. Get it again.", "model (its probe's 0.95 reaches 0.60)")


async def test_a_file_that_is_gone_is_told_in_its_row(chat: OpenChat) -> None:
    shelf = Shelf(installed=("small",))
    shelf.roles[ModelRole.JUDGE] = HOSTILE
    async with chat(ScriptedModel()) as c:
        await opened(c, shelf)
        await c.on_screen("the file is gone: Enter chooses another model")


async def test_a_probe_tells_how_far_it_is_and_what_it_found(chat: OpenChat) -> None:
    shelf = Shelf()
    async with chat(ScriptedModel()) as c:
        await opened(c, shelf)
        await c.pilot.press("p")
        await c.on_screen("Probing small: judge, 3 of 20. Esc stops.")
        await c.pilot.press("l", "enter")  # one thing at a time
        await c.on_screen("Something else has to end first.")
        assert not shelf.in_memory
        shelf.probed.set()
        await c.on_screen("small: judge its probe's 0.50 is below 0.90.")
        await c.pilot.press("escape")
        await c.until(lambda: c.app.screen is c.app.chat)


async def test_escape_stops_a_probe_in_the_middle_of_a_reply(chat: OpenChat) -> None:
    shelf = Shelf()
    async with chat(ScriptedModel()) as c:
        await opened(c, shelf)
        await c.pilot.press("p")
        await c.on_screen("3 of 20")
        await c.pilot.press("escape")
        await c.on_screen("Stopped.")
        assert "was killed" not in c.screen()
        assert isinstance(c.app.screen, ModelsPicker)
        await c.pilot.press("escape")
        await c.until(lambda: c.app.screen is c.app.chat)


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
