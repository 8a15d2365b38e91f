"""What a report is made of, before it becomes HTML or Markdown: plain values, text as the logs have it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markupsafe import Markup

from localmem.text import printable

NOT_SCORED = "not scored"
NONE = "–"
"""A cell without a value: nothing it could be the mean of."""

# Characters that turn the direction of what follows them; in a page they would reach past their own text.
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    group: str = ""
    """Heading over neighbours that have the same one."""
    text: bool = False
    """True: words, to the left; else numbers, to the right."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value in a table."""

    text: str
    note: str = ""
    """Set smaller, below: an interval, a count."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first cell of a row is its heading."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    """How to read it."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot. What it shows is in a table too."""

    title: str
    svg: Markup
    note: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """A question as an arm answered it."""

    verdict: str
    """``right``, ``wrong`` or why there is none."""
    category: str
    question: str
    reference: str
    answer: str
    reason: str
    """The verdict's."""


@dataclass(frozen=True, slots=True)
class Examples:
    """A few of an arm's questions."""

    arm: str
    shown: tuple[Example, ...]


Block = Table | Figure | Examples | str
"""A part of a section; a string is a paragraph."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it."""

    name: str
    """Its anchor: a word."""
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The whole."""

    title: str
    summary: tuple[str, ...]
    """What it comes to: a sentence each."""
    sections: tuple[Section, ...]


def clean(text: str) -> str:
    """Text out of a log, fit for a page: no control characters, no lone surrogates, no turned direction.

    Both renderers put all text through it.
    """
    return _DIRECTION.sub("", printable(text))


def percent(share: float | None, digits: int = 1) -> str:
    """``81.4`` for 0.814."""
    return NONE if share is None else f"{100 * share:.{digits}f}"


def number(value: float | None, digits: int = 1) -> str:
    """``1,234`` or ``12.3``: no decimals from a thousand on."""
    if value is None:
        return NONE
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}f}"


def p_value(p: float) -> str:
    """``0.012``, or ``< 0.001``."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
