from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from enum import Enum, StrEnum
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError, create_model

from localmem.models.grammar import MOST, Line, grammar_of
from localmem.models.library import DEFAULT_CHAT, Library

# --- A reader of our subset of GBNF, which knows nothing of how grammars are made ---

_TOKEN = re.compile(r'\s*("(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|[a-z][a-z0-9]*|\{\d+,\d+\}|[()|?])')
ODD = ' aZ09é£’日한🦊\n"\\/{}[]:,\u00a0\u2003\u3000\u200b'


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


class Gbnf:
    """Every rule as a Python regular expression, and a writer of random texts."""

    def __init__(self, grammar: str) -> None:
        lines = [line.split(" ::= ", 1) for line in grammar.splitlines()]
        self._rules = {name: _TOKEN.findall(body) for name, body in lines}

    def accepts(self, text: str) -> bool:
        return re.fullmatch(self._regex("root"), text) is not None

    def write(self, random: Random) -> str:
        return self._written(self._rules["root"], random)

    def _regex(self, rule: str) -> str:
        parts = []
        for token in self._rules[rule]:
            if token[0] == '"':
                parts.append(f"(?:{re.escape(_unescaped(token[1:-1]))})")
            elif token[0] == "(":
                parts.append("(?:")
            elif token[0].isalpha():
                parts.append(f"(?:{self._regex(token)})")
            else:  # classes, bounds and the rest are written as Python writes them
                parts.append(token)
        return "".join(parts)

    def _written(self, tokens: list[str], random: Random) -> str:
        branches: list[list[tuple[list[str], int, int]]] = [[]]  # of parts with the bounds of their number
        place = 0
        while place < len(tokens):
            token = tokens[place]
            parts = branches[-1]
            place += 1
            if token == "|":
                branches.append([])
            elif token == "?":
                parts[-1] = (parts[-1][0], 0, 1)
            elif token[0] == "{":
                least, most = map(int, token[1:-1].split(","))
                parts[-1] = (parts[-1][0], least, most)
            elif token == "(":
                inside, place = _group(tokens, place)
                parts.append((inside, 1, 1))
            else:
                parts.append(([token], 1, 1))
        return "".join(
            self._part(part, random)
            for part, least, most in random.choice(branches)
            for _ in range(_times(least, most, random))
        )

    def _part(self, tokens: list[str], random: Random) -> str:
        if len(tokens) > 1:
            return self._written(tokens, random)
        (token,) = tokens
        if token[0] == '"':
            return _unescaped(token[1:-1])
        if token[0] == "[":
            return random.choice([character for character in ODD if re.fullmatch(token, character)])
        return self._written(self._rules[token], random)


def _group(tokens: list[str], place: int) -> tuple[list[str], int]:
    depth, start = 1, place
    while depth:
        depth += {"(": 1, ")": -1}.get(tokens[place], 0)
        place += 1
    return tokens[start : place - 1], place


def _times(least: int, most: int, random: Random) -> int:
    """The ends of a range more often than what is between."""
    return random.choice([least, most, random.randint(least, most)])


# --- Random types with random values ---


def some_text(random: Random, least: int, most: int, letters: str = ODD) -> str:
    return "".join(random.choice(letters) for _ in range(_times(least, most, random)))


Drawn = tuple[Any, Callable[[], Any]]


def some_type(random: Random, depth: int = 0) -> Drawn:
    """A type that has a grammar, and a maker of its values (as JSON has them)."""
    simple = [_string, _line, _integer, _boolean, _literal, _enum]
    nested = [_list, _optional, _model]
    return random.choice(simple if depth > 2 else simple + nested)(random, depth)


def some_model(random: Random) -> tuple[type[BaseModel], Callable[[], Any]]:
    model, value = _model(random, 0)
    return model, value


def _string(random: Random, depth: int) -> Drawn:
    least = random.randint(0, 3)
    most = random.randint(max(least, 1), 12)
    bounded = Annotated[str, Field(min_length=least, max_length=most)]
    return bounded, lambda: some_text(random, least, most)


def _line(random: Random, depth: int) -> Drawn:
    most = random.randint(1, 12)

    def value() -> str:
        return " ".join(some_text(random, 1, most).split()) or "x"

    return Annotated[str, Line(most)], value


def _integer(random: Random, depth: int) -> Drawn:
    least = random.randint(-20, 120)
    most = least + random.randint(0, 150)
    return Annotated[int, Field(ge=least, le=most)], lambda: random.randint(least, most)


def _boolean(random: Random, depth: int) -> Drawn:
    return bool, lambda: random.random() < 0.5


def _words(random: Random) -> list[str]:
    return list({some_text(random, 0, 4, "aab" + ODD + "\t\0") for _ in range(random.randint(1, 8))})


def _literal(random: Random, depth: int) -> Drawn:
    words = _words(random)
    return Literal[tuple(words)], lambda: random.choice(words)


def _enum(random: Random, depth: int) -> Drawn:
    words = _words(random)
    return StrEnum("Word", {f"w{n}": word for n, word in enumerate(words)}), lambda: random.choice(words)


def _list(random: Random, depth: int) -> Drawn:
    of, value = some_type(random, depth + 1)
    least = random.randint(0, 2)
    most = random.randint(max(least, 1), 4)
    bounded = Annotated[list[of], Field(min_length=least, max_length=most)]  # type: ignore[valid-type]
    return bounded, lambda: [value() for _ in range(_times(least, most, random))]


def _optional(random: Random, depth: int) -> Drawn:
    of, value = some_type(random, depth + 1)
    return of | None, lambda: random.choice([None, value()])


def _model(random: Random, depth: int) -> Drawn:
    fields = {f"f{n}": some_type(random, depth + 1) for n in range(random.randint(1, 4))}
    annotations: dict[str, Any] = {name: (of, ...) for name, (of, _) in fields.items()}
    model = create_model("Made", **annotations)
    return model, lambda: {name: value() for name, (_, value) in fields.items()}


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


# --- Properties ---


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_every_valid_value_is_admitted(random: Random) -> None:
    model, make = some_model(random)
    grammar = Gbnf(grammar_of(model))
    for _ in range(5):
        value = make()
        model.model_validate_json(as_json(value), strict=True)
        assert grammar.accepts(as_json(value)), value


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_every_admitted_text_is_a_valid_value(random: Random) -> None:
    model, _ = some_model(random)
    grammar = Gbnf(grammar_of(model))
    for _ in range(5):
        text = grammar.write(random)
        assert grammar.accepts(text)  # the reader agrees with itself
        model.model_validate_json(text, strict=True)


class Fact(BaseModel):
    text: Annotated[str, Line(20)]
    source: Literal["D1:3", 'a "b" \\ c']


class Facts(BaseModel):
    facts: Annotated[list[Fact], Field(min_length=1, max_length=3)]


@pytest.mark.parametrize(
    "text",
    [
        '{"facts": []}',
        '{"facts": [{"text": "", "source": "D1:3"}]}',
        '{"facts": [{"text": " ", "source": "D1:3"}]}',
        '{"facts": [{"text": "\\u0041", "source": "D1:3"}]}',
        '{"facts": [{"text": "a\\nb", "source": "D1:3"}]}',
        '{"facts": [{"text": "a\\tb", "source": "D1:3"}]}',
        '{"facts": [{"text": "a\u2028b", "source": "D1:3"}]}',
        '{"facts": [{"text": "a", "source": "D1:4"}]}',
        '{"facts": [{"source": "D1:3", "text": "a"}]}',
        '{"facts": [{"text": "a"}]}',
        '{"facts":[{"text":"a","source":"D1:3"}]}',
        '{"facts": [{"text": "a",  "source": "D1:3"}]}',
        '{"facts": [{"text": "a", "source": "D1:3"}]} ',
        '{"facts": [' + ", ".join(['{"text": "a", "source": "D1:3"}'] * 4) + "]}",
        '{"facts": [{"text": "' + "a" * 21 + '", "source": "D1:3"}]}',
    ],
)
def test_there_is_one_spelling_and_no_way_out_of_the_bounds(text: str) -> None:
    assert not Gbnf(grammar_of(Facts)).accepts(text)


def test_an_enumeration_may_hold_any_text() -> None:
    grammar = Gbnf(grammar_of(Facts))
    assert grammar.accepts('{"facts": [{"text": "\\"a\\" \\\\ é", "source": "a \\"b\\" \\\\ c"}]}')


def test_a_line_is_trimmed_and_has_something_on_it() -> None:
    assert Fact(text=" one\n  line\t", source="D1:3").text == "one line"
    for bad in ("", " \n\u00a0", "a\0b", "a\x1bb", "a\x9bb", "a" * 21):
        with pytest.raises(ValidationError):
            Fact(text=bad, source="D1:3")


class Number(Enum):
    ONE = 1


class Endless(BaseModel):
    inside: Annotated[list[Endless], Field(max_length=2)]


@pytest.mark.parametrize(
    ("of", "why"),
    [
        (str, "needs a max_length"),
        (Annotated[str, Field(max_length=MOST + 1)], f"largest is {MOST}"),
        (Annotated[str, Field(max_length=5, pattern="a+")], "pattern"),
        (date, "needs a max_length"),
        (list[bool], "needs a max_length"),
        (Annotated[list[bool], Field(min_length=3, max_length=2)], "3 to 2 is no bound"),
        (Annotated[list[str], Field(max_length=2)], r"Made\.x\[\]: needs a max_length"),
        (Annotated[list, Field(max_length=2)], r"Made\.x\[\]: any value"),
        (Annotated[set[bool], Field(max_length=2)], "uniqueItems"),
        (tuple[bool, bool], "prefixItems"),
        (int, "needs ge and le"),
        (Annotated[int, Field(ge=0)], "needs ge and le"),
        (Annotated[int, Field(gt=0, le=5)], "exclusiveMinimum"),
        (Annotated[int, Field(ge=0, le=MOST)], f"1 to {MOST} values"),
        (Annotated[int, Field(ge=0, le=10**12)], f"1 to {MOST} values"),
        (Annotated[int, Field(ge=2, le=1)], f"1 to {MOST} values"),
        (Annotated[float, Field(ge=0, le=1)], "number has no grammar"),
        (Literal[1, 2], "of strings"),
        (Number, "of strings"),
        (dict[str, bool], "any keys"),
        (Any, "any value has no grammar"),
        (Endless, "inside itself"),
    ],
)
def test_a_type_without_bounds_is_refused_with_the_place_of_the_fault(of: Any, why: str) -> None:
    with pytest.raises(TypeError, match=why) as failure:
        grammar_of(create_model("Made", x=(of, ...)))
    assert str(failure.value).startswith("Made.x")


def test_a_field_with_a_default_is_refused() -> None:
    with pytest.raises(TypeError, match="x must be required"):
        grammar_of(create_model("Made", x=(bool, False)))


def test_a_grammar_is_made_once() -> None:
    assert grammar_of(Facts) is grammar_of(Facts)


# --- The real thing ---

_CHILD = """
import ctypes, json, sys
import llama_cpp as l

quiet = l.llama_log_callback(lambda *_: None)
l.llama_log_set(quiet, None)
parameters = l.llama_model_default_params()
parameters.vocab_only = True
model = l.llama_model_load_from_file(sys.argv[1].encode(), parameters)
vocab = l.llama_model_get_vocab(model)
end = l.llama_vocab_eos(vocab)

def admits(grammar, text):
    sampler = l.llama_sampler_init_grammar(vocab, grammar.encode(), b"root")
    if not sampler:
        return "refused"
    raw = text.encode()
    tokens = (l.llama_token * (len(raw) + 1))()
    count = l.llama_tokenize(vocab, raw, len(raw), tokens, len(tokens), False, False)
    try:
        for token in [*tokens[:count], end]:
            one = (l.llama_token_data * 1)(l.llama_token_data(token, 1.0, 0.0))
            l.llama_sampler_apply(sampler, l.llama_token_data_array(one, 1, -1, False))
            if one[0].logit < 0:
                return False
            if token != end:
                l.llama_sampler_accept(sampler, token)
        return True
    finally:
        l.llama_sampler_free(sampler)

print(json.dumps([admits(grammar, text) for grammar, text in json.load(sys.stdin)]))
"""


def _largest() -> type[BaseModel]:
    """Each bound at its largest, and inside each other."""
    bare = Annotated[str, Field(min_length=MOST, max_length=MOST)]
    identifier: Any = Literal[tuple(f"conv-{n % 7}:{n}" for n in range(MOST))]
    chosen: Any = Annotated[list[identifier], Field(max_length=MOST)]
    item: Any = create_model(
        "Item", line=(Annotated[str, Line(MOST)], ...), bare=(bare, ...), chosen=(chosen, ...)
    )
    items: Any = Annotated[list[item], Field(max_length=MOST)]
    return create_model("Largest", items=(items, ...))


@pytest.mark.real_model
def test_llama_cpp_compiles_every_grammar_and_keeps_its_bounds(models_home: Path) -> None:
    cases: list[tuple[str, str, bool]] = []
    for seed in range(60):
        model, make = some_model(Random(seed))
        text = as_json(make())
        cases += [(grammar_of(model), text, True), (grammar_of(model), text + " ", False)]
    largest = _largest()
    for characters in (MOST, MOST + 1):
        item = {"line": "é" * characters, "bare": "é" * MOST, "chosen": ["conv-0:0", "conv-5:999"]}
        cases.append((grammar_of(largest), as_json({"items": [item, item]}), characters == MOST))
    one = create_model(
        "One", x=(Annotated[str, Line(1)], ...), y=(Annotated[list[bool], Field(max_length=1)], ...)
    )
    cases += [
        (grammar_of(one), '{"x": "a", "y": [true]}', True),
        (grammar_of(one), '{"x": "ab", "y": []}', False),
    ]
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, str(Library(models_home).path(DEFAULT_CHAT))],
        input=json.dumps([(grammar, text) for grammar, text, _ in cases]),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    for (grammar, text, expected), admitted in zip(cases, json.loads(child.stdout), strict=True):
        assert admitted is expected, (grammar, text)


ANY_SCHEMA = st.recursive(
    st.sampled_from([
        str, int, float, bool, bytes, None, object, date, Path, Any,
        Literal["a", "\x00"], Literal[1], Literal["a", 2],
        Annotated[str, Field(max_length=3)], Annotated[str, Field(max_length=0)],
        Annotated[str, Field(max_length=10**9)], Annotated[str, Field(pattern="a+")], Annotated[str, Line(5)],
        Annotated[int, Field(ge=0, le=5)], Annotated[int, Field(gt=0, lt=5)],
        Annotated[int, Field(ge=5, le=0)], Annotated[int, Field(ge=0, le=10**30)],
    ]),
    lambda inner: st.one_of(
        inner.map(lambda of: list[of]),  # type: ignore[valid-type]
        inner.map(lambda of: Annotated[list[of], Field(max_length=2)]),  # type: ignore[valid-type]
        inner.map(lambda of: dict[str, of]),  # type: ignore[valid-type]
        inner.map(lambda of: tuple[of, of]),  # type: ignore[valid-type]
        inner.map(lambda of: of | None if of is not None else None),
        inner.map(lambda of: create_model("Inner", field=(of, ...))),
    ),
    max_leaves=4,
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(ANY_SCHEMA, st.randoms(use_true_random=False))
def test_any_type_has_a_grammar_that_fits_it_or_is_refused_as_one_that_has_none(
    of: Any, random: Random
) -> None:
    model = create_model("Any", field=(of, ...))
    try:
        grammar = Gbnf(grammar_of(model))
    except TypeError:
        return
    text = grammar.write(random)
    assert grammar.accepts(text)
    model.model_validate_json(text)
