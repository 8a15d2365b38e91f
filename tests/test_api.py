"""Memory as other Python programs use it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from localmem import Memory
from localmem.errors import BadInput, ModelMissing, StoreError
from localmem.events import Answered
from localmem.models.hashing import HashEmbedder
from localmem.models.library import Library
from localmem.types import NewSession

Said = Callable[..., NewSession]


@pytest.fixture
def opened(tmp_path: Path) -> Any:
    with Memory.open(tmp_path / "m.db", home=tmp_path / "home", embedder=HashEmbedder()) as memory:
        yield memory


def texts(memory: Memory) -> dict[str, list[str]]:
    return {s.external_id: [m.text for m in memory.messages(s.id)] for s in memory.sessions()}


def test_a_text_is_a_note_of_the_day_and_is_stored_once(opened: Memory) -> None:
    assert len(opened.add("My cat is called Miso.")) == 1
    assert opened.add("My cat is called Miso.") == []
    (session,) = opened.sessions()
    assert (session.source, session.external_id) == ("notes", f"{datetime.now():%Y-%m-%d}")


def test_dictionaries_become_sessions_and_the_same_list_adds_nothing(opened: Memory) -> None:
    notes = [
        {"session": "a", "text": "ok", "at": "2026-03-01T09:30:00+01:00"},
        {"session": "a", "role": "assistant", "text": "fine", "at": 1_772_354_000},
        {"session": "a", "text": "ok", "at": "2026-03-01T09:30:00+01:00"},
        {"session": "b", "text": "elsewhere", "at": datetime(2026, 3, 2, tzinfo=UTC), "speaker": "Nora"},
    ]
    assert len(opened.add(notes)) == 4
    assert opened.add(notes) == []
    assert texts(opened) == {"a": ["ok", "fine", "ok"], "b": ["elsewhere"]}


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        ("", "not empty"),
        ({"text": "  "}, "not empty"),
        ({"txt": "x"}, "no field 'txt'"),
        ({"text": 3}, "'text' of a note must be text"),
        ({"text": "x", "role": "boss"}, "user or assistant"),
        ({"text": "x", "at": "noon"}, "2026-03-01T09:30"),
        ({"text": "x", "at": True}, "at"),
        ({"text": "x", "at": "0001-01-01T00:00:00+14:00"}, "at"),
        ([{"text": "fine"}, {"text": "x", "at": []}], "at"),
        ([["text", "x"]], "dictionary"),
    ],
)
def test_a_wrong_note_names_the_field_and_stores_nothing(opened: Memory, note: Any, expected: str) -> None:
    with pytest.raises(BadInput, match=expected):
        opened.add(note)
    assert opened.counts() == (0, 0)


def test_odd_text_comes_back_unchanged(opened: Memory) -> None:
    odd = ["a\x00b", "lone \ud800 surrogate", "\u202eright", "x" * 1_000_000]
    opened.add([{"session": "s", "text": text} for text in odd])
    assert texts(opened) == {"s": odd}


def test_a_question_is_answered_by_rule_as_value_and_as_events(opened: Memory) -> None:
    opened.add({"text": "I adopted Miso yesterday.", "at": "2026-03-08T09:00:00+01:00"})
    found = opened.ask("When did I adopt Miso?", use_model=False)
    assert "7 March 2026" in found.text
    assert found.policy == "fixed"
    *_, last = opened.ask_events("When did I adopt Miso?", policy="agent", effort="low", use_model=False)
    assert isinstance(last, Answered)
    assert last.answer.policy == "agent"
    assert opened.ask("When did I adopt Miso?", use_model=False, asked_on=date(2026, 3, 9)).citations


def test_a_home_without_models_names_the_command_that_gets_them(tmp_path: Path, opened: Memory) -> None:
    with pytest.raises(ModelMissing, match="localmem models pull"):
        opened.ask("When did I adopt Miso?")
    with pytest.raises(ModelMissing, match="localmem models pull"):
        Memory.open(tmp_path / "other.db", home=tmp_path / "empty")
    assert not (tmp_path / "other.db").exists()


def test_a_wrong_word_is_told_the_right_ones(opened: Memory) -> None:
    opened.add("x marks the spot")
    wrong: Any = {"effort": "huge"}
    with pytest.raises(BadInput, match="low, medium, high"):
        opened.ask("Where?", use_model=False, **wrong)
    wrong = {"policy": "magic"}
    with pytest.raises(BadInput, match="auto, fixed, agent"):
        opened.ask("Where?", use_model=False, **wrong)
    with pytest.raises(BadInput, match="summary, facts, notes, raw"):
        opened.show(1, "gold")
    with pytest.raises(BadInput, match="no session 9"):
        opened.show(9)


def test_a_memory_without_a_home_says_how_to_open_one(memory: Memory) -> None:
    with pytest.raises(BadInput, match=r"Memory\.open"):
        memory.ask("Where?", use_model=False)


def test_layers_are_shown_as_markdown_and_counted(opened: Memory, said: Said) -> None:
    opened.add(said("My cat is called Miso.", "A fine name."))
    opened.wait_embedded()
    for layer in ("summary", "facts", "notes", "raw"):
        assert "Miso" in opened.show(1, layer)
    stats = opened.stats()
    assert (stats.sessions, stats.messages, stats.pending) == (1, 2, 0)


def test_what_is_forgotten_is_not_found_and_the_receipt_says_so(opened: Memory, said: Said) -> None:
    opened.add(said("My PIN is 2581.", "I keep it safe."))
    selection = opened.select(matching="2581")
    assert [message.text for message in selection.messages] == ["My PIN is 2581."]
    receipt = opened.forget(selection, prove=True)
    assert receipt.clean
    assert all("2581" not in hit.message.text for hit in opened.search("PIN 2581"))


def test_the_environment_chooses_file_and_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Library(tmp_path / "h").use("embedder", "hash")
    monkeypatch.setenv("LOCALMEM_DB", str(tmp_path / "env.db"))
    monkeypatch.setenv("LOCALMEM_HOME", str(tmp_path / "h"))
    with Memory.open() as memory:
        memory.add("here")
    assert (tmp_path / "env.db").exists()


def test_a_closed_memory_says_so(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path / "m.db", home=tmp_path, embedder=HashEmbedder())
    memory.close()
    memory.close()
    with pytest.raises(StoreError, match="closed"):
        memory.add("late")


def test_writers_of_one_program_take_turns_in_the_order_they_came(opened: Memory) -> None:
    holding = opened._database.atomic()
    holding.__enter__()
    threads = [threading.Thread(target=opened.add, args=(f"note {n}",)) for n in range(4)]
    for place, thread in enumerate(threads, 2):
        thread.start()
        until_waiting(opened, place)
    holding.__exit__(None, None, None)
    for thread in threads:
        thread.join(10)
    assert [m.text for m in opened.messages(1)] == [f"note {n}" for n in range(4)]


def until_waiting(memory: Memory, count: int) -> None:
    """Until so many writers hold the turn or wait for it."""
    for _ in range(1000):
        if len(memory._database._writers._tickets) >= count:
            return
        threading.Event().wait(0.005)
    raise AssertionError("a writer did not queue")


def test_threads_that_come_and_go_leave_no_file_open(opened: Memory) -> None:
    opened.add("x marks the spot")
    for _ in range(20):
        thread = threading.Thread(target=opened.search, args=("spot",))
        thread.start()
        thread.join(10)
    assert len(opened._database._connections) <= 3  # this thread's, the worker's, and one that ended


def test_opening_a_memory_with_a_given_embedder_loads_no_model_library(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from localmem import Memory\n"
        "from localmem.models.hashing import HashEmbedder\n"
        "with Memory.open('m.db', home='h', embedder=HashEmbedder()) as memory:\n"
        "    memory.add('x marks the spot'); memory.search('spot'); memory.ask('Where?', use_model=False)\n"
        "print([n for n in ('textual', 'llama_cpp', 'onnxruntime', 'fastembed') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"
