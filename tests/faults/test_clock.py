"""The clock jumps back and forth; what was said keeps its order and its place."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Self

import pytest

from localmem import memory as facade
from localmem.answering import keepers
from localmem.errors import BadInput
from localmem.importers.run import import_files
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.models.scripted import ScriptedModel
from localmem.types import Message, NewMessage, NewSession, Role

Tell = Callable[[Path], list[str]]

YEARS = (1970, 1999, 2026, 2038, 2106, 9998)


@pytest.fixture
def jumping(monkeypatch: pytest.MonkeyPatch) -> random.Random:
    """Each look at the clock shows another time, some years away, in some zone."""
    chance = random.Random(6)

    class Jumping(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            moment = cls(chance.choice(YEARS), 3, 28, 1, 30, tzinfo=UTC)
            return moment + timedelta(seconds=chance.randint(-86_400, 86_400))

    for module in (keepers, facade):
        monkeypatch.setattr(module, "datetime", Jumping)
    return chance


@pytest.mark.usefixtures("jumping")
def test_a_chat_keeps_its_order_and_is_found(tmp_path: Path, told: Tell) -> None:
    said = [f"I planted tree{number} today" for number in range(12)]
    with Memory(tmp_path / "memory.db", HashEmbedder()) as memory:
        dialogue = memory.dialogue()
        for text in said:
            for _ in memory.chat(
                text, model=ScriptedModel(lambda prompt: "Good."), session_id=dialogue.session_id
            ):
                pass
            dialogue = memory.dialogue(
                memory.sessions()[0].id if dialogue.session_id is None else dialogue.session_id
            )
        assert dialogue.session_id is not None
        path = memory.path(dialogue.session_id)
        assert [message.text for message in path if message.text != "Good."] == said
        assert all(message.sent_at is not None for message in path)
        (session,) = memory.sessions()
        assert session.ended_at == max(message.sent_at for message in path if message.sent_at)
    assert len(told(tmp_path / "memory.db")) == 24


@pytest.mark.usefixtures("jumping")
def test_an_import_does_not_ask_the_clock(tmp_path: Path, history: Path) -> None:
    def times(memory: Memory) -> list[tuple[str, datetime | None]]:
        messages: list[Message] = [m for session in memory.sessions() for m in memory.messages(session.id)]
        return sorted((m.text, m.sent_at) for m in messages)

    with Memory(tmp_path / "memory.db", HashEmbedder()) as memory:
        import_files([history], "auto", memory.add)
        before = times(memory)
        report = import_files([history], "auto", memory.add)
        assert (report.messages, report.new_messages) == (60, 0)
        assert times(memory) == before
        assert {moment.year for _, moment in before if moment} == {2026}
        (hit,) = memory.search("number17", 1, after=datetime(2026, 3, 1, tzinfo=UTC))
        assert "number17" in hit.message.text


@pytest.mark.usefixtures("jumping")
def test_notes_of_any_time_are_stored_and_answered_from(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", HashEmbedder()) as memory:
        for number in range(12):
            memory.add(f"The code word of week{number} is tulip{number}.")
        assert memory.counts()[1] == 12
        memory.wait_embedded()
        for number in range(12):
            assert f"tulip{number}." in memory.search(f"code word week{number}", 1)[0].message.text
        assert list(memory.answer("What is the code word of week7?", model=None))


@pytest.mark.parametrize(
    "moment",
    [
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=12))),
    ],
)
def test_a_time_that_no_clock_shows_is_refused_by_name(memory: Memory, moment: datetime) -> None:
    with pytest.raises(BadInput, match="no time that can be kept"):
        memory.add(NewSession("s", "1", (NewMessage(Role.USER, "hello", sent_at=moment),)))
    assert memory.counts() == (0, 0)
    with pytest.raises(BadInput):
        memory.add({"text": "hello", "at": moment.isoformat()})
    assert memory.counts() == (0, 0)
