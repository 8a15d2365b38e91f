"""What memory holds, looked at in the chat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from localmem.entries import Layer
from localmem.errors import BadInput
from localmem.layers.idle import Backlog, IdleBuilder
from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel
from localmem.tui.layer_view import LayerView
from localmem.tui.memory_browser import MemoryBrowser
from localmem.tui.memory_search import Sought, read_sought
from localmem.tui.text import left_text
from localmem.types import NewSession

OpenChat = Callable[..., Any]
Said = Callable[..., NewSession]


@pytest.fixture
def filled(memory: Memory, said: Said) -> Memory:
    memory.add(
        said("My cat is called Miso [x/].", "Cute.", session="cat", at=datetime(2023, 5, 1, tzinfo=UTC))
    )
    memory.add(said("The cat ran away.", "Oh no.", session="gone", at=datetime(2024, 5, 1, tzinfo=UTC)))
    memory.wait_embedded()
    return memory


async def test_it_tells_how_complete_memory_is_and_lists_the_sessions(chat: OpenChat, filled: Memory) -> None:
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("f3")
        await c.on_screen(
            "2 sessions, 4 messages", "Layers: summaries of 2 turns", "2023-05-01", "2024-05-01"
        )
        await c.pilot.press("escape")
        await c.until(lambda: c.app.screen is c.app.chat)


async def test_a_session_is_read_layer_by_layer_and_enter_opens_the_message(
    chat: OpenChat, filled: Memory
) -> None:
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("f3")
        await c.on_screen("2 sessions, 4 messages", "2023-05-01")
        await c.pilot.press("down", "enter")
        await c.until(lambda: isinstance(c.app.screen, LayerView))
        await c.on_screen("L0 summaries", "1. ", "by rule")
        await c.pilot.press("right")
        await c.until(lambda: c.app.screen._place == 1 and "Reading" not in c.screen())
        await c.on_screen("Miso [x/]")
        await c.pilot.press("2")
        await c.until(lambda: c.app.screen._place == 2 and "Reading" not in c.screen())
        await c.on_screen("Miso [x/]")
        await c.pilot.press("right", "right")
        await c.on_screen("You, 2023-05-01", "Cute.")
        await c.pilot.press("down", "enter")
        await c.until(lambda: c.views() == ["My cat is called Miso [x/].", "Cute."])
        await c.until(lambda: c.app.chat.selected() is not None)
        assert c.app.chat.selected().message.text == "Cute."


async def test_escape_leads_back_from_the_layers_to_the_list(chat: OpenChat, filled: Memory) -> None:
    async with chat(ScriptedModel()) as c:
        await c.pilot.press("f3")
        await c.on_screen("2024-05-01")
        await c.pilot.press("enter")
        await c.until(lambda: isinstance(c.app.screen, LayerView))
        await c.pilot.press("escape")
        await c.until(lambda: isinstance(c.app.screen, MemoryBrowser))


async def test_a_search_is_filtered_by_day_and_speaker(chat: OpenChat, filled: Memory) -> None:
    async with chat(ScriptedModel()) as c:
        await c.type("/memory cat after:2024-01-01")
        await c.on_screen("The cat ran away.")
        assert "Miso" not in c.screen()
        await c.pilot.press("escape", *"cat")
        await c.on_screen("messages, the best first", "Miso [x/]", "The cat ran away.")
        await c.pilot.press(*" by:assist")
        await c.until(lambda: "The cat ran away." not in c.screen())
        await c.pilot.press("escape", *"cat", "space", *"before:2024-01-01")
        await c.until(lambda: "Miso" in c.screen() and "ran away" not in c.screen())
        await c.pilot.press("enter")
        await c.until(lambda: "My cat is called Miso [x/]." in c.views())


async def test_a_filter_that_cannot_be_read_says_how_to_write_it(chat: OpenChat, filled: Memory) -> None:
    async with chat(ScriptedModel()) as c:
        await c.type("/memory cat after:may")
        await c.on_screen("after:may is not a day")


def test_filters_are_taken_out_of_the_words() -> None:
    assert read_sought("by:Ann  the  cat before:2024-02-01") == Sought(
        "the cat", before=datetime(2024, 2, 1), by="Ann"
    )
    assert read_sought("look:after:all").words == "look:after:all"
    with pytest.raises(BadInput, match="after:2024-13-01 is not a day"):
        read_sought("x after:2024-13-01")


@pytest.fixture
def idle(filled: Memory) -> Iterator[IdleBuilder]:
    worker = IdleBuilder(filled.builder(ScriptedModel()), 3600)
    yield worker
    worker.close()


async def test_what_is_left_to_be_summed_up_is_told(chat: OpenChat, idle: IdleBuilder) -> None:
    async with chat(ScriptedModel(), idle=idle) as c:
        await c.pilot.press("f3")
        await c.on_screen("Left to be summed up while you pause: ")


@pytest.mark.parametrize(
    ("backlog", "text"),
    [
        (Backlog(30, 10.0, working=False, problem=""), "30, about 3 min of work."),
        (Backlog(30, 0.0, working=False, problem=""), "30, how long is not known yet."),
        (Backlog(0, 0.0, working=False, problem=""), "Nothing is left to be summed up."),
        (Backlog(3, 0.0, working=False, problem="it died"), "Summaries have stopped: it died"),
    ],
)
def test_the_work_that_is_left_is_one_line(backlog: Backlog, text: str) -> None:
    assert left_text(backlog).endswith(text)


async def test_a_search_may_look_in_one_layer(chat: OpenChat, filled: Memory) -> None:
    async with chat(ScriptedModel()) as c:
        await c.type("/memory cat in:facts")
        await c.on_screen("No facts found. They are made of a session when they are first read.")
        for session in filled.sessions():
            filled.layer(session.id, Layer.FACTS)
        await c.pilot.press("end", "space")
        await c.on_screen("2 lines of facts, the best first", "Miso [x/]", "ran away")
        await c.pilot.press("escape", *"cat", "space", *"in:summary", "space", *"before:2024-01-01")
        await c.on_screen("1 line of summary", "Miso [x/]")
        await c.until(lambda: "ran away" not in c.screen())
        await c.pilot.press("enter")
        await c.until(lambda: "My cat is called Miso [x/]." in c.views())


async def test_a_layer_that_there_is_not_says_which_there_are(chat: OpenChat, filled: Memory) -> None:
    async with chat(ScriptedModel()) as c:
        await c.type("/memory cat in:[x/]")
        await c.on_screen("There is no layer '[x/]'.", "in:facts", "in:raw")
