from __future__ import annotations

import threading

import pytest

from localmem.models.errors import ModelCrashed, PromptTooLong
from localmem.models.protocols import ChatMessage, ChatModel, Finished, StopReason, TextDelta, ThoughtDelta
from localmem.models.scripted import ScriptedModel

PROMPT = [ChatMessage("system", "Be brief."), ChatMessage("user", "Hello there")]


def text_of(model: ScriptedModel, max_tokens: int = 100) -> tuple[str, Finished]:
    *pieces, last = model.stream(PROMPT, max_tokens=max_tokens)
    assert isinstance(last, Finished)
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)), last


def test_replies_come_in_order_and_in_pieces() -> None:
    model = ScriptedModel(["one  two\nthree", ""])
    model.enqueue("last")
    assert isinstance(model, ChatModel)
    text, last = text_of(model)
    assert text == "one  two\nthree"
    assert (last.reason, last.tokens_read, last.tokens_written) == (StopReason.END, 6, 3)
    assert text_of(model)[0] == ""
    assert text_of(model)[0] == "last"


def test_it_remembers_what_it_was_asked() -> None:
    model = ScriptedModel(["a"])
    text_of(model)
    assert model.history == [tuple(PROMPT)]


def test_a_function_may_reply_to_the_prompt() -> None:
    model = ScriptedModel(lambda messages: messages[-1].text.upper())
    assert text_of(model)[0] == "HELLO THERE"
    with pytest.raises(TypeError, match="function"):
        model.enqueue("x")


def test_a_list_that_ran_out_fails_the_test_that_asked() -> None:
    with pytest.raises(AssertionError, match="no reply left"):
        text_of(ScriptedModel())


def test_an_exception_as_reply_is_raised() -> None:
    with pytest.raises(ModelCrashed, match="killed"):
        text_of(ScriptedModel([ModelCrashed("killed")]))


def test_it_stops_at_max_tokens() -> None:
    text, last = text_of(ScriptedModel(["a b c d"]), max_tokens=2)
    assert (text, last.reason) == ("a b", StopReason.LENGTH)


def test_a_cancel_ends_it_between_two_pieces() -> None:
    cancel = threading.Event()
    stream = ScriptedModel(["a b c"]).stream(PROMPT, max_tokens=9, cancel=cancel)
    assert next(stream) == TextDelta("a")
    cancel.set()
    (last,) = stream
    assert isinstance(last, Finished)
    assert (last.reason, last.tokens_written) == (StopReason.CANCELLED, 1)


def test_a_prompt_over_the_window_is_refused_and_not_counted_as_asked() -> None:
    model = ScriptedModel(["a"], context=7)
    with pytest.raises(PromptTooLong):
        text_of(model, max_tokens=2)
    assert model.history == []


def test_what_it_is_scripted_to_think_is_thought() -> None:
    model = ScriptedModel(["<think>so so so </think> a b c"])
    *pieces, last = model.stream(PROMPT, max_tokens=2, think=9)
    assert "".join(piece.text for piece in pieces if isinstance(piece, ThoughtDelta)) == "so so so "
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)) == "a b"
    assert isinstance(last, Finished)
    assert last.reason is StopReason.LENGTH
