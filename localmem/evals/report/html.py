"""A report as one HTML file: its style inside, its plots as SVG, no script and nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from itertools import groupby
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from localmem import __version__
from localmem.evals.report.parts import Block, Column, Report, Section, Table, clean


class Heading(NamedTuple):
    """Neighbouring columns under one name; an empty name: none over them."""

    name: str
    columns: tuple[Column, ...]


def html(report: Report) -> str:
    """The whole page. All text is escaped."""
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_cleaned,
        loader=PackageLoader("localmem.evals.report", ""),
    )
    style = (resources.files(__package__) / "report.css").read_text(encoding="utf-8")
    return environment.get_template("page.html").render(
        report=report,
        style=Markup(style),
        version=__version__,
        grouped=grouped,
        headings=headings,
        classes=classes,
    )


def _cleaned(value: object) -> object:
    return value if isinstance(value, Markup) else clean(str(value))


def grouped(section: Section) -> Iterator[tuple[str, list[Block]]]:
    """Neighbours of one kind together: figures stand side by side."""
    for kind, blocks in groupby(section.blocks, key=lambda block: type(block).__name__):
        yield kind, list(blocks)


def headings(table: Table) -> list[Heading]:
    """The columns under their groups' names."""
    return [
        Heading(name, tuple(columns))
        for name, columns in groupby(table.columns, key=lambda column: column.group)
    ]


def classes(table: Table, column: Column) -> str:
    """``text`` for words, ``first`` for the first column of a group."""
    place = table.columns.index(column)
    first = place > 0 and column.group != table.columns[place - 1].group
    return " ".join([*(["text"] if column.text else []), *(["first"] if first else [])])
