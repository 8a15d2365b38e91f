"""Blocks of text set in lines of a width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from textual.content import Content

from localmem.tui.markdown import NOTHING, Block, Code, Rule, Table

NARROWEST = 8
"""Cells that a text has at least, however deep it is in lists; what does not fit is cut at the right."""
_COLUMN = 4
"""Cells of a table's column at least; a table that has no room for that is set as plain rows."""
_MARGIN = Content("  ")
_BETWEEN = Content.styled(" │ ", ".line")


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it is drawn."""

    content: Content
    before: Content = NOTHING
    """What stands before it: bullets, bars of quotations."""
    begins: int = 0
    """Where what is copied begins: the bar of a quotation, or a line's indentation, is not the text's own."""
    code: bool = False
    """Whether it has a background of its own, to the right edge."""
    joint: str = "\n"
    """What is between it and the next line in the text: nothing or a space where a line was wrapped."""


def typeset(blocks: Iterable[Block], width: int) -> list[Line]:
    """The lines of ``blocks``, ``width`` cells wide."""
    return [line for block in blocks for line in _lines(block, width)]


def _lines(block: Block, width: int) -> Iterator[Line]:
    inner = max(width - max(block.first.cell_length, block.rest.cell_length), NARROWEST)
    code = isinstance(block, Code)
    before, begins = block.first, len(block.rest) if block.first is block.rest else 0
    for content, joint in _content(block, inner):
        yield Line(content, before, begins, code, joint)
        before, begins = block.rest, len(block.rest) + (len(_MARGIN) if code else 0)


def _content(block: Block, width: int) -> Iterator[tuple[Content, str]]:
    match block:
        case Table():
            yield from ((row, "\n") for row in _table(block, width))
        case Rule():
            yield Content.styled("─" * width, ".line"), "\n"
        case Code():
            yield NOTHING, "\n"
            for line in block.content.split("\n", allow_blank=True):
                folded = line.fold(width - 2 * len(_MARGIN))
                yield from ((_MARGIN + part, "") for part in folded[:-1])
                yield _MARGIN + folded[-1], "\n"
            yield NOTHING, "\n"
        case _:
            yield from _wrapped(block.content, width)


def _wrapped(text: Content, width: int) -> Iterator[tuple[Content, str]]:
    if text.cell_length <= width and "\n" not in text.plain:
        yield text, "\n"
        return
    lines = text.wrap(width)
    at = 0
    for line, following in pairwise(lines):
        end = at + len(line.plain)
        at = text.plain.index(following.plain, end)
        yield line, text.plain[end:at]
    yield lines[-1], "\n"


def _table(table: Table, width: int) -> Iterator[Content]:
    columns = len(table.rows[0])
    room = width - _BETWEEN.cell_length * (columns - 1)
    if room < columns * _COLUMN:
        for row in table.rows:
            yield from _BETWEEN.join(row).wrap(width)
        return
    widths = _shared([max(row[i].cell_length for row in table.rows) for i in range(columns)], room)
    rows = [[cell.wrap(size) for cell, size in zip(row, widths, strict=True)] for row in table.rows]
    rule = Content.styled("─┼─".join("─" * size for size in widths), ".line")
    tall = any(len(cell) > 1 for row in rows for cell in row)
    for number, row in enumerate(rows):
        if number == 1 or (number and tall):
            yield rule
        for height in range(max(map(len, row))):
            parts = [cell[height] if height < len(cell) else NOTHING for cell in row]
            yield _BETWEEN.join(
                part.pad_left(size - part.cell_length) if right else part.pad_right(size - part.cell_length)
                for part, size, right in zip(parts, widths, table.right, strict=True)
            )


def _shared(wanted: Sequence[int], room: int) -> list[int]:
    """Widths of columns: those that want less than an equal share get it, the others share what is left."""
    widths = [max(want, 1) for want in wanted]
    order = sorted(range(len(widths)), key=widths.__getitem__)
    for place, column in enumerate(order):
        widths[column] = min(widths[column], room // (len(order) - place))
        room -= widths[column]
    return widths
