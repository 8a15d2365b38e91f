"""A report as Markdown of the GitHub kind: the same tables; plots are left to the page."""

from __future__ import annotations

import re
from collections.abc import Iterator

from localmem.evals.report.parts import Block, Cell, Examples, Figure, Report, Table, clean

# What could begin markup anywhere in a line, and what GitHub makes links of by itself.
_SPECIAL = re.compile(r"[\\`*_{}\[\]()<>#+!|~$@^]|:(?=//)|(?<=www)\.", re.IGNORECASE)


def markdown(report: Report) -> str:
    """The whole text. Nothing in it is taken for markup that is not meant."""
    lines = [f"# {escaped(report.title)}", "", *(f"* {escaped(text)}" for text in report.summary)]
    for section in report.sections:
        lines += ["", f"## {escaped(section.title)}"]
        for block in section.blocks:
            lines += _block(block)
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Text of one line that Markdown shows as it is."""
    line = " ".join(clean(text).replace("&", "&amp;").split())
    return _SPECIAL.sub(lambda found: "&lt;" if found[0] == "<" else f"\\{found[0]}", line)


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, str):
        yield from ("", escaped(block))
    elif isinstance(block, Table):
        yield from _table(block)
    elif isinstance(block, Examples):
        yield from _examples(block)
    else:
        assert isinstance(block, Figure)  # its numbers stand in a table


def _table(table: Table) -> Iterator[str]:
    yield from ("", f"### {escaped(table.title)}", "")
    if table.note:
        yield from (escaped(table.note), "")
    heads = [f"{column.group}: {column.name}" if column.group else column.name for column in table.columns]
    yield _row(escaped(head) for head in heads)
    yield _row(":--" if column.text else "--:" for column in table.columns)
    for row in table.rows:
        yield _row(_cell(cell) for cell in row)


def _examples(block: Examples) -> Iterator[str]:
    yield from ("", f"### {escaped(block.arm)}", "")
    yield _row(("verdict", "type", "question", "reference", "answer"))
    yield _row(":--" for _ in range(5))
    for example in block.shown:
        texts = (example.verdict, example.category, example.question, example.reference, example.answer)
        yield _row(map(escaped, texts))


def _cell(cell: Cell) -> str:
    return f"{escaped(cell.text)} ({escaped(cell.note)})" if cell.note else escaped(cell.text)


def _row(cells: Iterator[str] | map[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
