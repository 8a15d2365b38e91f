"""A pydantic type as a GBNF grammar, bounded everywhere.

The grammar admits exactly one spelling of a value, that of ``json.dumps(value, ensure_ascii=False)`` with
its fields in order, so that a model can spend no tokens on spaces. Whatever it admits is valid for the type,
but for what the type's own validators refuse.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Any

from annotated_types import GroupedMetadata
from pydantic import BaseModel, BeforeValidator, Field

MOST = 1000
"""Largest bound of a string (characters), a list (items) or an enumeration (values).

llama.cpp takes "at most" more than 2,000 for no bound at all, without a word; older ones refuse 2,000.
"""
_LINE = "line"
_UNFIT = re.compile("[\0-\x1f\x7f-\x9f]")
# No control characters, no line separators (U+2028, U+2029), no halves of surrogate pairs. Ranges of what may
# be, not of what may not: where a token is the first byte of a character, llama.cpp refuses it if a negated
# range has any character that begins so. Nothing is written as \u: small models loop there.
_CHARACTERS = {
    "text": r'[ !#-\[\]-~\u00A0-\u2027\u202A-\uD7FF\uE000-\U0010FFFF] | "\\" ["\\n]',
    "line": r'[ !#-\[\]-~\u00A0-\u2027\u202A-\uD7FF\uE000-\U0010FFFF] | "\\" ["\\]',
    "first": (  # no white space
        r"[!#-\[\]-~\u00A1-\u167F\u1681-\u1FFF\u200B-\u2027\u202A-\u202E\u2030-\u205E\u2060-\u2FFF"
        r'\u3001-\uD7FF\uE000-\U0010FFFF] | "\\" ["\\]'
    ),
}
_NOTES = {"title", "description", "examples", "default"}
_KEYS = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems", "maxItems"},
    "string": {"minLength", "maxLength", "format"},
    "integer": {"minimum", "maximum"},
    "boolean": set[str](),
    "null": set[str](),
}

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line(GroupedMetadata):
    """A string of one line that says something: ``Annotated[str, Line(200)]``.

    Runs of white space, line ends among them, become one space and none stays at the ends; then 1 to ``most``
    characters have to be left, none of them a control character.
    """

    most: int

    def __iter__(self) -> Iterator[object]:
        yield Field(min_length=1, max_length=self.most, json_schema_extra={"format": _LINE})
        yield BeforeValidator(_one_line)


def _one_line(value: object) -> object:
    if not isinstance(value, str):
        return value  # for pydantic to refuse
    line = " ".join(value.split())
    if _UNFIT.search(line):
        raise ValueError("has control characters")
    return line


@lru_cache(maxsize=128)  # enumerations made for one call come and go
def grammar_of(schema: type[BaseModel]) -> str:
    """The GBNF of a type's JSON, with the rule ``root``.

    A type may have strings (``max_length`` or :class:`Line`), integers (``ge`` and ``le``), booleans,
    ``Literal`` and ``Enum`` of strings, lists (``max_length``), ``| None`` and models of the same, each field
    required. Anything else raises ``TypeError``: it would leave the output without an end, or its meaning to
    chance.
    """
    return _Compiler(schema).text()


class _Compiler:
    def __init__(self, schema: type[BaseModel]) -> None:
        self._document: Schema = schema.model_json_schema()
        self._name = schema.__name__
        self._rules = dict[str, str]()  # body -> name
        self._open = list[str]()  # references that are being written

    def text(self) -> str:
        root = self._expression(self._document, self._name)
        rules = [f"{name} ::= {body}" for body, name in self._rules.items()]
        used = [f"{name} ::= {body}" for name, body in _CHARACTERS.items()]
        return "\n".join([f"root ::= {root}", *rules, *used]) + "\n"

    def _rule(self, body: str) -> str:
        """Name of the rule of ``body``.

        What is repeated has to be a rule: llama.cpp multiplies bounds that are spelled out inside each other
        and refuses large products.
        """
        if body in self._rules.values():
            return body
        return self._rules.setdefault(body, f"r{len(self._rules)}")

    def _expression(self, schema: Schema, at: str) -> str:
        match schema:
            case {"$ref": reference}:
                return self._reference(reference, at)
            case {"anyOf": choices}:
                return f"({' | '.join(self._expression(choice, at) for choice in choices)})"
            case {"const": value}:
                return self._enumeration([value], at)
            case {"enum": values}:
                return self._enumeration(values, at)
        kind = schema.get("type")
        if kind not in _KEYS:
            raise TypeError(f"{at}: {kind or 'any value'} has no grammar")
        if unknown := schema.keys() - _KEYS[kind] - _NOTES - {"type", "$defs"}:
            raise TypeError(f"{at}: {', '.join(sorted(unknown))} has no grammar")
        match kind:
            case "object":
                return self._object(schema, at)
            case "array":
                return self._array(schema, at)
            case "string":
                return self._string(schema, at)
            case "integer":
                return self._integer(schema, at)
            case "boolean":
                return '("true" | "false")'
        return _literal("null")

    def _reference(self, reference: str, at: str) -> str:
        if reference in self._open:
            raise TypeError(f"{at}: a type inside itself has no end")
        self._open.append(reference)
        body = self._expression(self._document["$defs"][reference.rpartition("/")[2]], at)
        self._open.pop()
        return self._rule(body)

    def _object(self, schema: Schema, at: str) -> str:
        if schema.get("additionalProperties"):
            raise TypeError(f"{at}: an object with any keys has no end")
        properties = schema.get("properties", {})
        if left_out := properties.keys() - set(schema.get("required", ())):
            raise TypeError(f"{at}: {', '.join(sorted(left_out))} must be required, without a default")
        parts = list[str]()
        before = "{"
        for name, value in properties.items():
            parts.append(_literal(f"{before}{_json(name)}: "))
            parts.append(self._expression(value, f"{at}.{name}"))
            before = ", "
        return " ".join([*parts, _literal("}" if parts else "{}")])

    def _array(self, schema: Schema, at: str) -> str:
        least, most = _bounds(schema, "Items", at)
        item = self._rule(self._expression(schema["items"], f"{at}[]"))
        another = self._rule(f"{_literal(', ')} {item}")
        items = f"{item} {another}{{{max(least - 1, 0)},{most - 1}}}"
        return f"{_literal('[')} {items if least else f'({items})?'} {_literal(']')}"

    def _string(self, schema: Schema, at: str) -> str:
        least, most = _bounds(schema, "Length", at)
        characters = f"text{{{least},{most}}}"
        if (form := schema.get("format")) == _LINE:
            characters = f"first line{{0,{most - 1}}}"
        elif form:
            raise TypeError(f"{at}: the format {form} has no grammar")
        quote = _literal('"')
        return self._rule(f"{quote} {characters} {quote}")

    def _integer(self, schema: Schema, at: str) -> str:
        if not {"minimum", "maximum"} <= schema.keys():
            raise TypeError(f"{at}: an integer needs ge and le")
        values = range(schema["minimum"], schema["maximum"] + 1)
        return self._one_of([str(value) for value in values[: MOST + 1]], at)

    def _enumeration(self, values: Sequence[object], at: str) -> str:
        if not all(isinstance(value, str) for value in values):
            raise TypeError(f"{at}: an enumeration has to be of strings")
        return self._one_of([_json(value) for value in values], at)

    def _one_of(self, words: list[str], at: str) -> str:
        if not 1 <= len(words) <= MOST:
            raise TypeError(f"{at}: needs 1 to {MOST} values")
        return self._rule(_tree(words))


def _bounds(schema: Schema, of: str, at: str) -> tuple[int, int]:
    least, most = schema.get(f"min{of}", 0), schema.get(f"max{of}")
    if most is None:
        raise TypeError(f"{at}: needs a max_length")
    if not least <= most or not 1 <= most <= MOST:
        raise TypeError(f"{at}: {least} to {most} is no bound; the largest is {MOST}")
    return least, most


def _tree(words: list[str]) -> str:
    """Exactly ``words``, branching where they differ: one by one, 200 of them cost 100 ms a token, so 17."""
    ends = zip(min(words), max(words), strict=False)
    prefix = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], ends))
    branches = dict[str, list[str]]()
    for word in words:
        rest = word[len(prefix) :]
        branches.setdefault(rest[:1], []).append(rest)
    may_end = branches.pop("", None)
    parts = [_literal(prefix)] if prefix else []
    if branches:
        parts.append(f"({' | '.join(map(_tree, branches.values()))}){'?' if may_end else ''}")
    return " ".join(parts)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _literal(text: str) -> str:
    """``text`` in GBNF; JSON has no bare control characters in it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
