"""The figures of the papers' tables, to print beside one's own: theirs are of other models and judges.

``published.json`` has each number as printed. Scores are percentages. A row names the arm of ours that
rebuilds the system, if there is one. Categories have the names of :mod:`localmem.evals.datasets`, and
``single-session`` where BFR's Table 3 takes those of user and assistant together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """A system in a table."""

    system: str
    """As the paper calls it."""
    arm: str | None
    """The arm of ours that rebuilds it; None: there is none, its store or its method is another."""
    overall: Mapping[str, float]
    """By score."""
    by_type: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By category, then score."""
    point: str | None = None
    """Operating point of the budget sweep."""
    model: str | None = None
    """What it ran on, where the table has several."""
    without: tuple[str, ...] = ()
    """What an ablation took away."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a paper, as far as its numbers are of systems."""

    paper: str
    """Key of :func:`papers`."""
    table: str
    """Its number there."""
    title: str
    dataset: str
    n: int
    """Questions."""
    suite: str
    """What runs the same arms: ``--suite``."""
    main: bool
    """Whether it is one of the main tables."""
    rows: tuple[Row, ...]

    @property
    def source(self) -> str:
        """Where the numbers are from, for a caption."""
        return f"{self.paper}, Table {self.table} ({self.dataset}, n = {self.n:,})"


def papers() -> Mapping[str, str]:
    """Authors, year and title by the short name that tables use."""
    found: dict[str, str] = _read()["papers"]
    return found


def published(suite: str | None = None) -> tuple[Table, ...]:
    """The tables that belong to a suite, or all; none for a suite that the papers have no figures of."""
    return tuple(table for table in _tables() if suite in (None, table.suite))


@cache
def _tables() -> tuple[Table, ...]:
    return tuple(
        Table(**{**table, "rows": tuple(_row(**row) for row in table["rows"])}) for table in _read()["tables"]
    )


def _row(without: Sequence[str] = (), **fields: Any) -> Row:
    return Row(**fields, without=tuple(without))


@cache
def _read() -> dict[str, Any]:
    package = resources.files(__name__.rpartition(".")[0])
    found: dict[str, Any] = json.loads((package / "published.json").read_text(encoding="utf-8"))
    return found
