"""What the chat shows of a text: safe for a terminal, bounded, and Markdown only where that is quick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt

from localmem.layers.idle import Backlog
from localmem.text import printable
from localmem.types import Ledger, Message, Role

SHOWN_CHARACTERS = 20_000
"""Of one message; the rest stays in the store."""
SHOWN_MESSAGES = 200
"""Of a session that is opened."""
SHOWN_IN_ALL = 200_000
"""Characters of a session that is opened."""
MARKDOWN_BLOCKS = 100
"""Blocks of Markdown from which on a text is shown as it is: each is a widget, about 5 ms."""

MARKDOWN_IN_ALL = 300
"""Blocks of a session that is opened; what is older is shown as it is, or every key would take 0.2 s."""

_LINE_BREAKS = str.maketrans({"\u2028": "\n", "\u2029": "\n"})
"""Textual counts these as line ends and the Markdown parser does not: streamed text would come twice."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored message, ready to be shown."""

    label: str
    text: str
    role: Role
    blocks: int
    """Blocks of Markdown; 0: to be shown as it is."""


def markdown_parser(*, tables: bool = True) -> MarkdownIt:
    """GitHub's Markdown without what would make text vanish: HTML and link definitions (``[TODO]: x``)."""
    parser = MarkdownIt("gfm-like", {"html": False}).disable("reference")
    return parser if tables else parser.disable("table")


def block_count(text: str, *, tables: bool = True) -> int:
    """Blocks that ``text`` has as Markdown, the inner ones included."""
    tokens = markdown_parser(tables=tables).parse(text)
    return sum(token.block and token.nesting >= 0 and token.type != "inline" for token in tokens)


def shown(text: str, session_id: int | None = None) -> str:
    """``text`` as it may be drawn: at most :data:`SHOWN_CHARACTERS`, saying where the rest is."""
    cut = printable(text[:SHOWN_CHARACTERS]).translate(_LINE_BREAKS)
    rest = len(text) - SHOWN_CHARACTERS
    if rest <= 0:
        return cut
    where = f": localmem show {session_id}" if session_id is not None else ""
    return f"{cut}\n\n({rest:,} more characters are stored{where})"


def backlog_text(backlog: Backlog) -> str:
    """The work of idle time in a line; empty when none is under way."""
    if backlog.problem:
        return f"Summaries have stopped: {one_line(backlog.problem)}"
    if not backlog.working or not backlog.left:
        return ""
    minutes = backlog.minutes
    left = "" if minutes is None else f", about {max(round(minutes), 1)} min"
    return f"Summing up while you pause: {backlog.left:,} left{left}."


def one_line(text: str, characters: int = 200) -> str:
    """The beginning of ``text`` on one line."""
    return " ".join(printable(text[: 4 * characters]).split())[:characters]


def speaker(message: Message) -> str:
    """Who wrote a message."""
    return one_line(message.speaker) or ("You" if message.role is Role.USER else "Assistant")


def entries_of(messages: Sequence[Message]) -> list[Entry]:
    """The last messages of a session, as many as may be shown, in their order."""
    entries: list[Entry] = []
    budget, blocks_left = SHOWN_IN_ALL, MARKDOWN_IN_ALL
    for message in reversed(messages[-SHOWN_MESSAGES:]):
        text = shown(message.text, message.session_id)
        budget -= len(text)
        if budget < 0 and entries:
            break
        if message.attachments:
            text += f"\n\n[attached] {shown(message.attachments, message.session_id)}"
        when = f", {message.sent_at:%Y-%m-%d %H:%M}" if message.sent_at else ""
        blocks = block_count(text) if message.role is Role.ASSISTANT and blocks_left else 0
        if blocks > min(MARKDOWN_BLOCKS, blocks_left):
            blocks, blocks_left = 0, 0 if blocks <= MARKDOWN_BLOCKS else blocks_left
        blocks_left -= blocks
        entries.append(Entry(speaker(message) + when, text, message.role, blocks))
    return entries[::-1]


def source_of(message: Message, title: str) -> str:
    """Where a cited message stands: session, day, speaker."""
    when = f"{message.sent_at:%Y-%m-%d}" if message.sent_at else "undated"
    return f"{one_line(title)}, {when}, {speaker(message)}"


def cost_line(ledger: Ledger, note: str) -> str:
    """What a reply rested on and what it cost, on one line; ``note`` says how it ended, if not by itself."""
    if ledger.records:
        share = ledger.history_share
        recalled = (
            f"recalled {_count(ledger.records, 'message')} from {_count(ledger.sessions_opened, 'session')} "
            f"({share:.1%} of memory)"
        )
    else:
        recalled = "nothing recalled"
    seconds = sum(ledger.seconds.values())
    parts = [recalled, f"{seconds:.1f} s", f"{_count(ledger.tokens_written, 'token')} written", note]
    return " · ".join(part for part in parts if part)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
