"""What the chat does around itself: the bin of one that was not closed, the options of the command."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localmem.cli import main
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.types import NewSession


def test_what_was_deleted_leaves_no_byte_once_the_bin_is_emptied(
    memory: Memory, said: Callable[..., NewSession], tmp_path: Path
) -> None:
    memory.add(said("The word is xyzzyplugh.", session="a"))
    memory.add(said("Something else stays.", session="b"))
    memory.wait_embedded()
    memory.delete_session(next(s.id for s in memory.sessions() if s.external_id == "a"))

    def bytes_of_all() -> bytes:
        return b"".join(path.read_bytes() for path in tmp_path.iterdir())

    assert b"xyzzyplugh" in bytes_of_all()  # it can still be brought back
    assert memory.empty_bin() == 1
    memory.purge()
    assert b"xyzzyplugh" not in bytes_of_all()
    assert b"Something else stays." in bytes_of_all()


def test_the_bin_of_a_chat_that_was_not_closed_is_emptied_by_the_next(
    memory: Memory, said: Callable[..., NewSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    from localmem import tui
    from localmem.roles.trust import TRUSTED
    from localmem.tui.app import ChatApp

    ran: list[ChatApp] = []
    monkeypatch.setattr(ChatApp, "run", lambda self: ran.append(self))
    memory.add(said("gone"))
    memory.delete_session(memory.sessions()[0].id)
    library: Any = None
    tui.run(memory, library, TRUSTED, None, session_id=None, last=False, private=True)
    assert len(ran) == 1
    assert memory.empty_bin() == 0


def test_the_options_of_the_chat_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chat", "--last", "--private"]) == 2
    assert "one of --session, --last and --private" in capsys.readouterr().err


def test_a_private_chat_is_asked_for_and_the_bin_emptied_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: dict[str, Any] = {}

    def run(memory: Memory, *_: object, **options: object) -> None:
        asked.update(options)
        memory.add("to be deleted")
        memory.delete_session(memory.sessions()[0].id)

    from localmem.cli.context import Context

    monkeypatch.setattr("localmem.cli.chat.at_terminal", lambda: True)
    monkeypatch.setattr("localmem.models.library.Library.installed", lambda self, name: True)
    monkeypatch.setattr(sys.modules.setdefault("localmem.tui", __import__("localmem.tui").tui), "run", run)
    monkeypatch.setattr("localmem.models.library.Library.path", lambda self, name: tmp_path)
    monkeypatch.setattr("localmem.probing.team.Team.if_trusted", lambda self, role, **_: None)
    monkeypatch.setattr("localmem.probing.team.Team.standing", lambda self, role: _Standing())
    monkeypatch.setattr(Context, "memory", lambda self: memories[0])
    memories = [Memory(tmp_path / "m.db", HashEmbedder())]
    try:
        assert main(["--db", str(tmp_path / "m.db"), "--home", str(tmp_path), "chat", "--private"]) == 0
        assert (asked["private"], asked["last"], asked["session_id"]) == (True, False, None)
        assert "Removing what you deleted" in capsys.readouterr().err
        assert memories[0].empty_bin() == 0
    finally:
        memories[0].close()


class _Standing:
    trust = None


def test_in_a_browser_the_chat_runs_with_the_same_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[list[str]] = []
    monkeypatch.setattr("localmem.models.library.Library.path", lambda self, name: tmp_path)
    monkeypatch.setattr("localmem.tui.web.serve", lambda arguments, say: served.append(list(arguments)))
    db = tmp_path / "m.db"
    assert main(["--db", str(db), "--home", str(tmp_path), "chat", "--web", "--private"]) == 0
    assert served == [["--db", str(db), "--home", str(tmp_path), "chat", "--private"]]
    assert json.dumps(served)  # plain strings
