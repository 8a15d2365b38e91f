"""The small model under a grammar, in its host."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from localmem.models.errors import BadInput, ModelError
from localmem.models.library import Library
from localmem.models.llama import HostedModel
from localmem.models.protocols import ChatMessage, Finished, StopReason, TextDelta

pytestmark = pytest.mark.real_model

FACTS = r"""root ::= "{\"facts\": [" fact (", " fact){0,2} "]}"
fact ::= "{\"text\": " text ", \"kind\": " kind "}"
text ::= "\"" char{1,40} "\""
char ::= [^"\\\x00-\x1f] | "\\" ["\\]
kind ::= "\"person\"" | "\"place\""
"""
ASKED = ChatMessage("user", "Give facts as JSON: Anna moved from Oslo to Bergen in May and has two cats.")


@pytest.fixture(scope="module")
def model(models_home: Path) -> Iterator[HostedModel]:
    path = Library(models_home).path("smollm2-135m")
    model = HostedModel(path, name="small", sha256="00", context=2048)
    yield model
    model.close()


def ask(model: HostedModel, grammar: str | None, tokens: int = 200) -> tuple[str, Finished]:
    *pieces, last = model.stream([ASKED], max_tokens=tokens, grammar=grammar)
    assert isinstance(last, Finished)
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)), last


def test_text_follows_the_grammar_to_its_end(model: HostedModel) -> None:
    text, last = ask(model, FACTS)
    assert last.reason is StopReason.END
    facts = json.loads(text)["facts"]
    assert 1 <= len(facts) <= 3
    assert all(fact["kind"] in ("person", "place") and 1 <= len(fact["text"]) <= 40 for fact in facts)


def test_a_grammar_that_the_model_would_never_follow_is_followed(model: HostedModel) -> None:
    text, last = ask(model, r'root ::= "§" [0-9]{7} "¤ " ("ja" | "nein") "🦊"')
    assert re.fullmatch(r"§\d{7}¤ (ja|nein)🦊", text)
    assert last.reason is StopReason.END


def test_the_text_is_the_likeliest_that_fits(model: HostedModel) -> None:
    free, _ = ask(model, None, 12)
    anything, _ = ask(model, r"root ::= [^\x00]*", 12)
    assert anything == free


def test_a_grammar_leaves_no_trace_in_the_next_call(model: HostedModel) -> None:
    free, _ = ask(model, None, 12)
    ask(model, FACTS, 10)
    assert ask(model, None, 12)[0] == free


@pytest.mark.parametrize(
    ("grammar", "why"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("root ::= answer", "does not compile"),
        ('answer ::= "a"', "does not compile"),
        ('root ::= root "a" | "b"', "does not compile"),
        ('root ::= ("a', "does not compile"),
        ('root ::= "a"{3,1}', "wrong way round"),
        ("a story, please", "does not compile"),
        ("root ::= \0\ud800", "does not compile"),
    ],
)
def test_a_grammar_that_does_not_compile_is_refused(model: HostedModel, grammar: str, why: str) -> None:
    expected, _ = ask(model, None, 6)
    pid = model.pid
    with pytest.raises(BadInput, match=why):
        ask(model, grammar)
    assert ask(model, None, 6)[0] == expected
    assert model.pid == pid


def test_bounds_in_a_literal_are_no_bounds(model: HostedModel) -> None:
    assert ask(model, r'root ::= "a{3,1}" [{3,1}] # {3,1}')[0][:6] == "a{3,1}"


def test_a_grammar_that_leaves_nothing_to_say_is_an_error_and_not_a_crash(model: HostedModel) -> None:
    pid = model.pid
    with pytest.raises(ModelError, match="No token of this model fits"):
        ask(model, r'root ::= "a" [^\x00-\U0010FFFF]')
    assert ask(model, None, 6)[1].tokens_written == 6
    assert model.pid == pid
