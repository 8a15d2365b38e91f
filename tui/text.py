"""What the chat shows of a text: safe for a terminal, and bounded."""

from __future__ import annotations

from collections.abc import Sequence

from markdown_it import MarkdownIt

from localmem.answering.answer import STOPPED
from localmem.disclosure.controller import NOTHING_NEW, READY
from localmem.entries import Layer
from localmem.events import REPEATED, UNCHANGED
from localmem.layers.grounding import NOTHING_TO_COVER
from localmem.layers.idle import Backlog
from localmem.layers.stats import LayerStats
from localmem.models.protocols import StopReason
from localmem.text import printable
from localmem.types import Ledger, Message, Role, Session

SHOWN_CHARACTERS = 20_000
"""Of one message; the rest stays in the store."""

PINNED = "Pinned: the model has it with every message from now on. F3 lists what is pinned."
UNPINNED = "Not pinned any more."

MUTED = "$foreground 70%"
"""The style of what matters less, inside a text; a text of its own has ``$text-muted``."""

_LINE_BREAKS = str.maketrans({"\u2028": "\n", "\u2029": "\n"})
"""Textual counts these as line ends, the Markdown parser and terminals do not."""


def markdown_parser() -> MarkdownIt:
    """GitHub's Markdown without what would make text vanish: HTML and link definitions (``[TODO]: x``)."""
    return MarkdownIt("gfm-like", {"html": False}).disable("reference")


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


def left_text(backlog: Backlog) -> str:
    """The work of idle time, whether it goes on or not."""
    if backlog.problem or not backlog.left:
        return backlog_text(backlog) or "Nothing is left to be summed up."
    minutes = backlog.minutes
    time = "how long is not known yet" if minutes is None else f"about {max(round(minutes), 1)} min of work"
    return f"Left to be summed up while you pause: {backlog.left:,}, {time}."


def coverage_text(layers: Sequence[LayerStats]) -> str:
    """How many entries each layer has, and how much of what was said the summaries have."""
    names = {
        Layer.SUMMARY: ("summaries", "turns"),
        Layer.FACTS: ("facts", "sessions"),
        Layer.NOTES: ("notes", "turns"),
    }
    parts = []
    for layer, (what, of) in names.items():
        stats = [one for one in layers if one.count.layer is layer]
        entries = sum(one.count.entries for one in stats)
        by_model = sum(one.count.entries for one in stats if one.count.model)
        part = f"{what} of {entries:,} {of}"
        parts.append(f"{part} ({by_model:,} by a model)" if by_model else part)
    reached = sum((one.coverage for one in layers if one.coverage), NOTHING_TO_COVER)
    share = "" if reached.share is None else f"; summaries have {reached.share:.0%} of names, dates, numbers"
    return f"Layers: {', '.join(parts)}{share}"


def one_line(text: str, characters: int = 200) -> str:
    """The beginning of ``text`` on one line."""
    return " ".join(printable(text[: 4 * characters]).split())[:characters]


def title_of(session: Session) -> str:
    """A session's title on one line, or what it is called where it came from."""
    return one_line(session.title) or one_line(session.external_id)


def speaker(message: Message) -> str:
    """Who wrote a message."""
    return one_line(message.speaker) or ("You" if message.role is Role.USER else "Assistant")


def label_of(message: Message) -> str:
    """Who wrote a message, and when."""
    if message.sent_at is None:
        return speaker(message)
    return f"{speaker(message)}, {message.sent_at:%Y-%m-%d %H:%M}"


def attached_line(attachments: str) -> str:
    """What was attached to a message, on one line; empty: nothing was."""
    if not attachments:
        return ""
    lines = attachments.count("\n") + 1
    begins = one_line(attachments, 60)
    if lines == 1 and len(attachments) <= 60:
        return f"attached: {begins}"
    return f"attached: {begins}… ({counted(len(attachments), 'character')}, Enter opens)"


def code_blocks(text: str) -> list[str]:
    """The code blocks of a Markdown text, in order."""
    tokens = markdown_parser().parse(text)
    return [token.content for token in tokens if token.type in ("fence", "code_block")]


def end_note(stop_reason: str, tokens: int) -> str:
    """How a reply ended; empty for a reason that another version gave."""
    return {
        StopReason.END.value: "complete",
        StopReason.CANCELLED.value: "stopped by you",
        StopReason.LENGTH.value: f"cut off at {tokens} tokens",
        UNCHANGED: "the same answer as before",
        READY: "stopped: it had enough to answer",
        NOTHING_NEW: "stopped: looking again found nothing new",
        STOPPED: "stopped by you",
        REPEATED: "stopped: it began to repeat itself",
    }.get(stop_reason, "")


def source_of(message: Message, title: str) -> str:
    """Where a cited message stands: session, day, speaker."""
    when = f"{message.sent_at:%Y-%m-%d}" if message.sent_at else "undated"
    return f"{one_line(title)}, {when}, {speaker(message)}"


def cost_line(ledger: Ledger, note: str) -> str:
    """What a reply rested on and what it cost, on one line; ``note`` says how it ended."""
    if ledger.records:
        share = ledger.history_share
        recalled = (
            f"recalled {counted(ledger.records, 'message')} from "
            f"{counted(ledger.sessions_opened, 'session')} ({share:.1%} of memory)"
        )
    else:
        recalled = "nothing recalled"
    seconds = sum(ledger.seconds.values())
    parts = [recalled, f"{seconds:.1f} s", f"{counted(ledger.tokens_written, 'token')} written", note]
    return " · ".join(part for part in parts if part)


def counted(number: int, noun: str) -> str:
    """``1 message``, ``2,000 messages``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
