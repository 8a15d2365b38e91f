"""What nobody foresaw ends with a sentence, and shows no word of memory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from localmem.cli import main
from localmem.errors import BadInput
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.models.scripted import ScriptedModel
from localmem.roles.trust import TRUSTED
from localmem.tui.app import ChatApp
from localmem.tui.failures import TRACE, chat_failed, failure_text

SECRET = "my private word xyzzy"


async def test_a_failure_of_the_chat_is_kept_for_the_caller_and_nothing_of_it_is_printed(
    memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    class Failing(ChatApp):
        def action_fail(self) -> None:
            kept = SECRET
            raise KeyError(kept)

    app = Failing(memory, ScriptedModel, None)
    with pytest.raises(KeyError):
        async with app.run_test() as pilot:
            app.call_later(app.action_fail)
            await pilot.pause()
            await pilot.pause()
    assert isinstance(app.failure, KeyError)
    assert app.return_code == 1
    told = capsys.readouterr()
    assert SECRET not in told.out + told.err
    assert "Traceback" not in told.out + told.err


def test_the_trace_names_places_and_holds_no_text(tmp_path: Path) -> None:
    try:
        try:
            raise ValueError(SECRET)
        except ValueError as error:
            raise KeyError(SECRET) from error
    except KeyError as error:
        told = chat_failed(error, tmp_path)
    trace = (tmp_path / TRACE).read_text()
    assert "builtins.KeyError" in trace
    assert "builtins.ValueError" in trace
    assert "test_failures.py" in trace
    assert SECRET not in trace
    assert SECRET not in str(told)
    assert "localmem chat --last" in str(told)
    assert str(tmp_path / TRACE) in str(told)


def test_where_no_trace_can_be_written_none_is_promised(tmp_path: Path) -> None:
    told = str(chat_failed(KeyError(SECRET), tmp_path / "nowhere"))
    assert TRACE not in told
    assert "localmem chat --last" in told
    assert TRACE not in str(chat_failed(KeyError(), None))


@pytest.mark.parametrize("damaged", [False, True])
def test_the_command_ends_with_a_sentence_and_the_damage_that_explains_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], damaged: bool
) -> None:
    from localmem import tui
    from localmem.cli.context import Context

    def run(*_: object, **__: object) -> None:
        raise TypeError(SECRET)

    file = tmp_path / "m.db"
    with Memory(file, HashEmbedder()) as memory:
        memory.add("A sentence.")
        memory.wait_embedded()
        if damaged:
            with memory._database.atomic() as cursor:
                cursor.execute("DELETE FROM message_terms")
        monkeypatch.setattr("localmem.cli.chat.at_terminal", lambda: True)
        monkeypatch.setattr(tui, "run", run)
        monkeypatch.setattr("localmem.models.library.Library.path", lambda self, name: tmp_path)
        monkeypatch.setattr("localmem.models.library.Library.installed", lambda self, name: True)
        monkeypatch.setattr("localmem.probing.team.Team.if_trusted", lambda self, role, **_: None)
        monkeypatch.setattr("localmem.probing.team.Team.standing", lambda self, role: _Standing())
        monkeypatch.setattr(Context, "memory", lambda self: memory)
        code = main(["--db", str(file), "--home", str(tmp_path), "chat"])
    told = capsys.readouterr().err
    assert code == (4 if damaged else 1)
    assert ("localmem check --salvage" in told) == damaged
    assert ("localmem chat --last" in told) != damaged
    assert "Traceback" not in told
    assert SECRET not in told


class _Standing:
    trust = TRUSTED


def test_errors_have_words_with_a_way_out() -> None:
    assert failure_text(BadInput("\x1b[31mNo such.")) == "No such."
    full = OSError(28, "No space left on device", "/m.db")
    assert failure_text(full) == "/m.db: No space left on device."
    assert "localmem check" in failure_text(ValueError("odd"))
    assert sys.exc_info() == (None, None, None)


async def test_a_model_that_dies_in_the_middle_is_told_and_the_next_message_is_answered(
    chat: Any, paced: Any
) -> None:
    from localmem.errors import ModelCrashed

    model = paced(
        "It began ", ModelCrashed("The process of paced was killed. The next call starts it again.")
    )
    async with chat(model) as c:
        await c.type("Go on.")
        await c.on_screen("It began")
        model.release.set()
        await c.on_screen("The next call starts it again.")
        assert any("It began" in text for text in c.stored())
        model.after = "and went on."
        await c.say("Again.")
        await c.on_screen("and went on.")
