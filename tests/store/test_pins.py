from __future__ import annotations

from collections.abc import Callable

import pytest

from localmem.errors import BadInput
from localmem.memory import Memory
from localmem.store.pins import LONGEST
from localmem.types import NewMessage, NewSession, Role

ODD = "My cat\0 is \ud800 called [/Miso]."


@pytest.fixture
def ids(memory: Memory) -> list[int]:
    texts = ("My cat is called Miso.", "Nice.", "She is grey.", "I see.")
    roles = (Role.USER, Role.ASSISTANT)
    messages = tuple(NewMessage(roles[i % 2], text) for i, text in enumerate(texts))
    return memory.add(NewSession("test", "s1", messages=messages))


def pinned(memory: Memory) -> list[tuple[str, tuple[int, ...]]]:
    return [(pin.text, pin.messages) for pin in memory.pins.all()]


def test_a_pin_keeps_its_text_unchanged_with_its_messages(
    open_memory: Callable[[], Memory], ids: list[int]
) -> None:
    memory = open_memory()
    memory.pins.add(ODD, [ids[2], ids[0]])
    memory.pins.add("She is grey.", [ids[2]])
    memory.close()
    assert pinned(open_memory()) == [("She is grey.", (ids[2],)), (ODD, (ids[0], ids[2]))]


def test_what_is_pinned_already_is_not_pinned_twice(memory: Memory, ids: list[int]) -> None:
    first = memory.pins.add("Yes.", [ids[0]])
    assert memory.pins.add(" Yes.\n", [ids[0]]) == first
    memory.pins.add("Yes.", [ids[2]])
    assert pinned(memory) == [("Yes.", (ids[2],)), ("Yes.", (ids[0],))]


def test_a_pin_is_taken_away_and_that_twice_is_no_error(memory: Memory, ids: list[int]) -> None:
    pin = memory.pins.add("Yes.", [ids[0]])
    memory.pins.remove(pin.id)
    memory.pins.remove(pin.id)
    assert pinned(memory) == []
    assert memory.stats().messages == 4


@pytest.mark.parametrize("text", ["", " \n", "x" * (LONGEST + 1)])
def test_a_text_that_is_no_fact_is_refused(memory: Memory, ids: list[int], text: str) -> None:
    with pytest.raises(BadInput):
        memory.pins.add(text, ids[:1])
    assert pinned(memory) == []


def test_a_pin_of_no_message_is_refused(memory: Memory, ids: list[int]) -> None:
    for messages in ([], [ids[0], 999]):
        with pytest.raises(BadInput, match="not there any more"):
            memory.pins.add("My cat is called Miso.", messages)
    assert pinned(memory) == []


def test_a_pin_goes_with_any_of_its_messages_and_when_one_is_changed(memory: Memory, ids: list[int]) -> None:
    memory.pins.add("A grey cat called Miso.", [ids[0], ids[2]])
    memory.pins.add("My cat is called Miso.", [ids[0]])
    memory._bin.delete_message(ids[2])
    assert pinned(memory) == [("My cat is called Miso.", (ids[0],))]
    with memory._database.atomic() as connection:
        connection.execute("UPDATE message SET text = 'My cat is called Mio.' WHERE id = ?", (ids[0],))
    assert pinned(memory) == []


def test_a_pin_comes_back_with_the_session_that_was_deleted(memory: Memory, ids: list[int]) -> None:
    memory.pins.add(ODD, [ids[0], ids[2]])
    memory.pins.add("She is grey.", [ids[2]])
    memory.delete_session(memory.sessions()[0].id)
    assert pinned(memory) == []
    session = memory.undo_delete()
    new = [message.id for message in memory.messages(session)]
    assert pinned(memory) == [("She is grey.", (new[2],)), (ODD, (new[0], new[2]))]


def test_a_pin_comes_back_with_the_message_that_was_deleted(memory: Memory, ids: list[int]) -> None:
    memory.pins.add("My cat is called Miso.", [ids[0]])
    memory.pins.add("She is grey.", [ids[2]])
    memory._bin.delete_message(ids[2])
    session = memory.undo_delete()
    (back,) = [m.id for m in memory.messages(session) if m.text == "She is grey."]
    assert pinned(memory) == [("She is grey.", (back,)), ("My cat is called Miso.", (ids[0],))]
