"""Blocks of text set in lines of a width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from rich.cells import chop_cells
from textual.content import Content

from localmem.tui.markdown import LINES, NOTHING, Block, Code, Rule, Table

NARROWEST = 8
"""Cells that a text has at least, however deep it is in lists; what does not fit is cut at the right."""
_COLUMN = 4
"""Cells of a table's column at least; a table that has no room for that is set as plain rows."""
_MARGIN = Content("  ")
_PLAIN = str.maketrans("│─┼▌•▪‣", "|-+>***")
"""For a screen reader or an old terminal."""


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


def typeset(blocks: Iterable[Block], width: int, *, plain: bool = False) -> list[Line]:
    """The lines of ``blocks``, ``width`` cells wide; with ``plain`` without marks that are not ASCII."""
    return [line for block in blocks for line in _lines(block, width, plain)]


def _lines(block: Block, width: int, plain: bool) -> Iterator[Line]:
    inner = max(width - max(block.first.cell_length, block.rest.cell_length), NARROWEST)
    code = isinstance(block, Code)
    first, rest = (_mark(block.first), _mark(block.rest)) if plain else (block.first, block.rest)
    before, begins = first, len(block.rest) if block.first.is_same(block.rest) else 0
    for content, joint in _content(block, inner, plain):
        yield Line(content, before, begins, code, joint)
        before, begins = rest, len(rest) + (len(_MARGIN) if code else 0)


def _mark(mark: Content) -> Content:
    return Content(mark.plain.translate(_PLAIN), list(mark.spans))


def _line(text: str, plain: bool) -> Content:
    return Content.styled(text.translate(_PLAIN) if plain else text, LINES)


def _content(block: Block, width: int, plain: bool) -> Iterator[tuple[Content, str]]:
    match block:
        case Table():
            yield from ((row, "\n") for row in _table(block, width, plain))
        case Rule():
            yield _line("─" * width, plain), "\n"
        case Code():
            yield NOTHING, "\n"
            for line in block.content.split("\n", allow_blank=True):
                folded = _folded(line, width - 2 * len(_MARGIN))
                yield from ((_MARGIN + part, "") for part in folded[:-1])
                yield _MARGIN + folded[-1], "\n"
            yield NOTHING, "\n"
        case _:
            yield from _wrapped(block.content, width)


def _folded(line: Content, width: int) -> list[Content]:
    # Content.fold loses what follows a joined emoji.
    return line.divide(list(accumulate(map(len, chop_cells(line.plain, width)[:-1]))))


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


def _table(table: Table, width: int, plain: bool) -> Iterator[Content]:
    columns = len(table.rows[0])
    between = _line(" │ ", plain)
    room = width - between.cell_length * (columns - 1)
    if room < columns * _COLUMN:
        for row in table.rows:
            yield from between.join(row).wrap(width)
        return
    widths = _shared([max(row[i].cell_length for row in table.rows) for i in range(columns)], room)
    wrapped = [[cell.wrap(size) for cell, size in zip(row, widths, strict=True)] for row in table.rows]
    rule = _line("─┼─".join("─" * size for size in widths), plain)
    tall = any(len(cell) > 1 for row in wrapped for cell in row)
    for number, cells in enumerate(wrapped):
        if number == 1 or (number and tall):
            yield rule
        for height in range(max(map(len, cells))):
            parts = [cell[height] if height < len(cell) else NOTHING for cell in cells]
            yield between.join(
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
