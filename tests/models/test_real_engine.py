"""The engine in this process, where its tokens can be chosen for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localmem.models import native
from localmem.models.engine import LlamaEngine
from localmem.models.errors import ModelFileBad, PromptTooLong
from localmem.models.library import Library
from localmem.models.protocols import ChatMessage, Finished, StopReason, TextDelta, ThoughtDelta
from localmem.models.sampling import Grammar

pytestmark = pytest.mark.real_model

ASKED = [ChatMessage("user", "How many?")]
LONG = [ChatMessage("user", "The river was long and the night was cold. " * 40)]
NEW = [ChatMessage("user", "A mill turned slowly under the old bridge. " * 40)]  # no state of it is kept


class ToldEngine(LlamaEngine):
    """Says what it was told to say, and then what the model would."""

    told: Iterator[int] = iter(())

    def tell(self, text: str) -> None:
        self.told = iter(self._model.tokenize(text))

    def held(self) -> str:
        return b"".join(map(self._model.piece, self._model.held)).decode()

    def _choose(self, rules: Grammar | None) -> int:
        token = next(self.told, None)
        return super()._choose(rules) if token is None else token


class Beats:
    """Counts the engine's signs of life; calls ``also`` at each."""

    def __init__(self) -> None:
        self.count = 0
        self.also: Callable[[], None] = lambda: None

    def __call__(self) -> None:
        self.count += 1
        self.also()


@pytest.fixture(scope="module")
def beats() -> Beats:
    return Beats()


@pytest.fixture(scope="module")
def engine(models_home: Path, beats: Beats) -> Iterator[ToldEngine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "inference_threads", lambda: 1)  # no threads that spin, in this process
        yield ToldEngine(Library(models_home).path("smollm2-135m"), 2048, beat=beats)


def events(
    engine: LlamaEngine, messages: list[ChatMessage], tokens: int, think: int = 0
) -> tuple[str, str, Finished]:
    """What it thinks, what it says, what that cost."""
    *pieces, last = engine.generate(messages, tokens, 0, None, None, think, lambda: False)
    assert isinstance(last, Finished)
    thought = "".join(piece.text for piece in pieces if isinstance(piece, ThoughtDelta))
    return thought, "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)), last


def ask(engine: LlamaEngine, messages: list[ChatMessage], tokens: int) -> tuple[str, Finished]:
    _, text, last = events(engine, messages, tokens)
    return text, last


def test_thinking_is_delivered_apart_from_the_text_and_counted(engine: ToldEngine) -> None:
    engine.tell("<think>\nHm.\n</think>\n\nThree.<|im_end|>")
    thought, text, last = events(engine, ASKED, 60)
    assert (thought.strip(), text) == ("Hm.", "Three.")
    assert last.reason is StopReason.END
    assert last.tokens_written > 10


def test_thinking_that_is_wanted_takes_nothing_from_the_answer(engine: ToldEngine) -> None:
    engine.tell("<think>" + " so" * 30 + "</think>" + " yes" * 30)
    thought, text, last = events(engine, ASKED, 6, think=100)
    assert thought == " so" * 30
    assert text.split() == ["yes"] * 6
    assert last.reason is StopReason.LENGTH


def test_thinking_that_is_wanted_ends_where_it_must(engine: ToldEngine) -> None:
    engine.tell("<think>" + " so" * 90)
    thought, _, last = events(engine, ASKED, 8, think=40)
    assert 25 < thought.count(" so") < 40
    assert last.tokens_written <= 48
    assert "\n</think>\n\n" in engine.held()


def test_a_prompt_with_no_room_for_the_thinking_is_refused(engine: ToldEngine) -> None:
    with pytest.raises(PromptTooLong):
        events(engine, ASKED, 100, think=2000)


def test_a_model_that_thinks_on_and_on_is_made_to_answer(engine: ToldEngine) -> None:
    engine.tell("<think>" + " so" * 14)
    text, last = ask(engine, ASKED, 40)
    assert last.tokens_written <= 40
    thought, _, answer = engine.held().partition("\n</think>\n\n")
    assert 10 < thought.count(" so") < 14 + 8
    assert answer
    assert text.startswith(answer.strip())


def test_a_limit_is_kept_when_all_tokens_are_thinking(engine: ToldEngine) -> None:
    engine.tell("<think>" + " so" * 30)
    text, last = ask(engine, ASKED, 6)
    assert (text, last.reason, last.tokens_written) == ("", StopReason.LENGTH, 6)


def test_what_was_held_back_comes_at_the_end(engine: ToldEngine) -> None:
    engine.tell("<thin<|im_end|>")
    assert ask(engine, ASKED, 20)[0] == "<thin"


def test_a_character_that_the_limit_cuts_is_not_delivered(engine: ToldEngine) -> None:
    engine.tell("a🦊")
    text, last = ask(engine, ASKED, 2)
    assert (text, last.reason) == ("a", StopReason.LENGTH)


def test_loading_and_reading_and_writing_give_signs_of_life(engine: ToldEngine, beats: Beats) -> None:
    assert beats.count > 0
    loaded = beats.count
    ask(engine, LONG, 1)
    read = beats.count
    ask(engine, LONG, 3)
    assert loaded < read < beats.count


def test_a_stop_ends_the_reading_in_its_middle(engine: ToldEngine, beats: Beats) -> None:
    ask(engine, ASKED, 1)
    stopped = False

    def stop() -> None:
        nonlocal stopped
        if beats.count > before + 100:
            stopped = True
            engine.stop()

    before = beats.count
    beats.also = stop
    (last,) = engine.generate(NEW, 8, 0, None, None, 0, lambda: stopped)
    beats.also = lambda: None
    assert isinstance(last, Finished)
    assert (last.reason, last.tokens_written) == (StopReason.CANCELLED, 0)
    assert last.tokens_read < engine.count(NEW)
    assert beats.count < before + 300
    text, last = ask(engine, NEW, 4)
    assert last.tokens_read + last.tokens_reused == engine.count(NEW)
    assert text


def test_what_llama_cpp_reports_of_a_bad_file_is_passed_on(tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"GGUF" + bytes(200))
    with pytest.raises(ModelFileBad, match="error loading model"):
        LlamaEngine(path, 512)
