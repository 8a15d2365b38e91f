"""Markdown as blocks of styled text, which one widget draws: a widget for each makes a long chat slow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
from textual.content import Content, Span
from textual.highlight import highlight
from textual.style import Style

from localmem.tui.text import markdown_parser

NOTHING = Content()
CODE = "on $foreground 5%"
"""The style of lines of code."""
LINES = "$foreground 30%"
"""The style of what is drawn between cells, and across the width."""
_BULLETS = ("• ", "▪ ", "‣ ")
_MARK = "$text-primary"
_BAR = Content.styled("▌ ", _MARK)
_INLINE_CODE = "$text-warning on $warning 10%"
_STYLES = {"em": "italic", "strong": "bold", "s": "strike"}
_HEADINGS = {"h1": "bold $primary", "h2": "bold underline $primary", "h3": "underline $primary"}
_LOWER_HEADING = "bold $foreground"


@dataclass(frozen=True, slots=True)
class Block:
    """A text whose lines are wrapped at words."""

    content: Content
    first: Content = NOTHING
    """What stands before its first line: a bullet, the bar of a quotation."""
    rest: Content = NOTHING
    """What stands before its other lines."""


@dataclass(frozen=True, slots=True)
class Code(Block):
    """A text whose lines are folded where the width ends, on a background of their own."""


@dataclass(frozen=True, slots=True)
class Rule(Block):
    """A line across the whole width."""


@dataclass(frozen=True, slots=True)
class Table(Block):
    """Cells in rows; the first row is the head. ``content`` is empty."""

    rows: tuple[tuple[Content, ...], ...] = ()
    right: tuple[bool, ...] = ()
    """Of each column, whether it is aligned to the right."""


def blocks_of(text: str) -> list[Block]:
    """The blocks of a Markdown text, with the empty lines between them."""
    return list(_blocks(_parsed(text)))


class Growing:
    """The blocks of a text that is still written: what is complete is not read again."""

    def __init__(self) -> None:
        self._done: list[Block] = []
        self._open = ""

    def add(self, piece: str) -> list[Block]:
        """All blocks, now that ``piece`` follows."""
        self._open += piece
        nodes = _parsed(self._open)
        # The last block may go on, and so may a list before it: "2" is a paragraph until "." follows.
        if len(nodes) > 2 and (begin := nodes[-2].map):
            self._done += [*_blocks(nodes[:-2]), Block(NOTHING)]
            self._open = "\n".join(self._open.split("\n")[begin[0] :])
            nodes = nodes[-2:]
        return [*self._done, *_blocks(nodes)]


def _parsed(text: str) -> list[SyntaxTreeNode]:
    return SyntaxTreeNode(markdown_parser().parse(text)).children


def _blocks(
    nodes: Sequence[SyntaxTreeNode],
    first: Content = NOTHING,
    rest: Content = NOTHING,
    *,
    depth: int = 0,
) -> Iterator[Block]:
    """``depth`` is how many lists they are in: there only paragraphs and code are set apart."""
    for number, node in enumerate(nodes):
        if number and not (depth and node.type.endswith("_list")):
            yield Block(NOTHING, rest, rest)
        yield from _block(node, rest if number else first, rest, depth)


def _block(node: SyntaxTreeNode, first: Content, rest: Content, depth: int) -> Iterator[Block]:
    match node.type:
        case "bullet_list" | "ordered_list":
            for number, item in enumerate(node.children):
                mark = _mark(node, number, depth)
                before = (rest if number else first) + mark
                yield from _blocks(item.children, before, rest + " " * mark.cell_length, depth=depth + 1)
                if not item.children:
                    yield Block(NOTHING, before, rest)
        case "blockquote":
            yield from _blocks(node.children, first + _BAR, rest + _BAR)
        case "fence" | "code_block":
            yield Code(_code(node.content, node.info), first, rest)
        case "hr":
            yield Rule(NOTHING, first, rest)
        case "table":
            yield _table(node, first, rest)
        case "heading":
            style = _HEADINGS.get(node.tag, _LOWER_HEADING)
            yield Block(_inline(node).stylize_before(style), first, rest)
        case _:
            yield Block(_inline(node), first, rest)


def _mark(of: SyntaxTreeNode, number: int, depth: int) -> Content:
    if of.type == "bullet_list":
        return Content.styled(_BULLETS[min(depth, len(_BULLETS) - 1)], _MARK)
    start = int(of.attrs.get("start", 1))
    width = len(str(start + len(of.children) - 1))
    return Content.styled(f"{start + number:>{width}}. ", _MARK)


def _code(text: str, info: str) -> Content:
    """Code in colours, if its language is told: guessing takes long, and is often wrong."""
    language = info.split()[0] if info.split() else "text"
    # Tabs are expanded first: the colours are counted in the text without them.
    return highlight(text.expandtabs(4).rstrip("\n"), language=language)


def _table(node: SyntaxTreeNode, first: Content, rest: Content) -> Table:
    rows = [row.children for part in node.children for row in part.children]
    right = tuple("right" in str(cell.attrs.get("style", "")) for cell in rows[0])
    head = tuple(_inline(cell).stylize_before("bold $primary") for cell in rows[0])
    body = [tuple(_inline(cell) for cell in row) for row in rows[1:]]
    return Table(NOTHING, first, rest, rows=(head, *body), right=right)


def _inline(node: SyntaxTreeNode) -> Content:
    """The text of a leaf block."""
    text: list[str] = []
    spans: list[Span] = []
    at = 0
    opened: list[tuple[int, Style | str]] = []
    for token in (part for child in node.children if child.token for part in child.token.children or ()):
        if token.nesting == 1:
            opened.append((at, _style(token)))
        elif token.nesting == -1:
            begin, style = opened.pop()
            spans.append(Span(begin, at, style))
        else:
            piece = _text(token)
            text.append(piece)
            if token.type == "code_inline":
                spans.append(Span(at, at + len(piece), _INLINE_CODE))
            elif token.type == "image":
                spans.append(Span(at, at + len(piece), _link(token, "src")))
            at += len(piece)
    return Content("".join(text), spans)


def _text(token: Token) -> str:
    match token.type:
        case "softbreak":
            return " "
        case "hardbreak":
            return "\n"
        case "image":
            return f"(image: {token.content})" if token.content else "(image)"
        case _:
            return token.content.replace("\t", " ")


def _style(token: Token) -> Style | str:
    kind = token.type.removesuffix("_open")
    return _link(token, "href") if kind == "link" else _STYLES.get(kind, "")


def _link(token: Token, name: str) -> Style:
    return Style(underline=True) + Style.from_meta({"@click": f"link({str(token.attrs.get(name, ''))!r})"})
