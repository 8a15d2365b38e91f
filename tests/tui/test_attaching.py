"""How a file is named: as typed, as a terminal writes it, as far as Tab can tell."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localmem.errors import BadInput
from localmem.models.scripted import ScriptedModel
from localmem.tui.attachments import completed, path_meant, read_attachment

OpenChat = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a space in its name, which is the home folder too."""
    folder = tmp_path / "my files"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    return folder


@pytest.mark.parametrize(
    "typed",
    [
        "{}/it's [one].txt",
        " {}/it's [one].txt ",
        '"{}/it\'s [one].txt"',
        "{escaped}/it\\'s\\ \\[one\\].txt",
        "file://{quoted}/it%27s%20%5Bone%5D.txt",
        "~/it's [one].txt",
        "'{}'/it\\'s\\ [one].txt",
    ],
)
def test_a_file_is_found_as_it_is_typed_or_dropped(folder: Path, typed: str) -> None:
    file = folder / "it's [one].txt"
    file.write_text("hello")
    path = str(folder)
    given = typed.format(path, escaped=path.replace(" ", "\\ "), quoted=path.replace(" ", "%20"))
    assert read_attachment(given).text == "hello"


def test_a_file_whose_name_has_quotes_is_that_file(folder: Path) -> None:
    file = folder / "'quoted'"
    file.write_text("hello")
    assert path_meant(str(file)) == file


def test_a_folder_and_a_pipe_are_refused_in_words_and_never_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(BadInput, match="is a folder"):
        read_attachment(str(folder))
    with pytest.raises(BadInput, match="is no file"):
        read_attachment(str(folder / "pipe"))


def test_a_path_is_completed_as_far_as_it_is_clear(folder: Path) -> None:
    for name in ("notes-a.md", "notes-b.md", ".hidden", "n\x1b[2Jx"):
        (folder / name).write_text("x")
    (folder / "deep").mkdir()
    assert completed("~/no") == ("~/notes-", ["notes-a.md", "notes-b.md"])
    assert completed("~/d") == ("~/deep/", ["deep/"])
    assert completed(f"{folder}/.h")[0] == f"{folder}/.hidden"
    assert completed("~/")[1] == ["deep/", "notes-a.md", "notes-b.md"]
    assert completed("~/zzz") == ("~/zzz", [])
    assert completed("/no/such/folder/x") == ("/no/such/folder/x", [])


async def test_tab_completes_the_path_of_a_command(chat: OpenChat, folder: Path) -> None:
    for name in ("notes-[a].md", "notes-b.md"):
        (folder / name).write_text("eggs")
    async with chat(ScriptedModel()) as c:
        c.composer().write("/attach ~/n")
        await c.pilot.press("tab")
        await c.until(lambda: c.composer().text == "/attach ~/notes-")
        await c.pilot.press("tab")
        await c.until(lambda: "notes-[a].md, notes-b.md" in c.notified())
        await c.pilot.press("b", "tab")
        await c.until(lambda: c.composer().text == "/attach ~/notes-b.md")
        await c.pilot.press("enter")
        await c.on_screen("Attached: notes-b.md")
