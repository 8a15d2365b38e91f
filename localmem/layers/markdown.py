"""A session's layers as Markdown: what is shown, and what is exported."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from localmem.dates import day_text
from localmem.entries import Bullet, Entry, Failure, Layer, Summary
from localmem.types import Message, Session

NOTHING = "*Nothing to tell.*"
WAITING = "*Not made yet.*"
TITLES = {Layer.SUMMARY: "Summary", Layer.FACTS: "Facts", Layer.NOTES: "Notes"}


def heading(session: Session, layer: str) -> str:
    """The first line of a layer."""
    return f"# {_line(session.title or session.external_id)} ({_line(session.source)}): {layer}\n"


def raw(messages: Sequence[Message]) -> str:
    """L3: the messages as they were said, by turn."""
    parts = []
    for turn, group in groupby(messages, key=lambda message: message.turn):
        parts.append(f"## Turn {turn + 1}\n")
        for message in group:
            when = f", {message.sent_at:%Y-%m-%d %H:%M}" if message.sent_at else ""
            parts.append(f"**{_line(message.speaker) or message.role}**{when} [{message.external_id}]\n")
            parts.append(f"{message.text}\n")
            if message.attachments:
                parts.append("\n".join(f"> {line}" for line in message.attachments.splitlines()) + "\n")
    return "\n".join(parts)


def derived(
    layer: Layer, entries: Sequence[Entry], failures: Sequence[Failure], messages: Sequence[Message]
) -> str:
    """L0, L1 or L2 with the ids of the messages behind each statement.

    What is empty, failed or not made yet says so: silence would look like "nothing there".
    """
    names = {message.id: message.external_id for message in messages}
    made = {entry.scope.turn: entry for entry in entries}
    failed = {failure.scope.turn: failure for failure in failures if failure.scope.layer is layer}
    if layer is Layer.FACTS:
        return _entry(made.get(None), failed.get(None), names)
    parts = []
    for turn, group in groupby(messages, key=lambda message: message.turn):
        day = next((f" ({day_text(m.sent_at.date())})" for m in group if m.sent_at), "")
        parts += [f"## Turn {turn + 1}{day}\n", _entry(made.get(turn), failed.get(turn), names)]
    return "\n".join(parts)


def front_matter(session: Session, layer: str, entries: Iterable[Entry], messages: Sequence[Message]) -> str:
    """Where an exported file comes from, as YAML (its strings are written as JSON, which YAML reads)."""
    days = sorted(message.sent_at.isoformat() for message in messages if message.sent_at)
    makers = sorted({entry.maker.model if entry.maker else "rules" for entry in entries})
    fields = {
        "session": session.id,
        "external_id": session.external_id,
        "source": session.source,
        "title": session.title,
        "started_at": session.started_at and session.started_at.isoformat(),
        "first_message": days[0] if days else None,
        "last_message": days[-1] if days else None,
        "layer": layer,
        "made_by": makers or ["the speakers"],
        "messages": {message.external_id: message.id for message in messages},
    }
    return "---\n" + "".join(f"{name}: {json.dumps(value)}\n" for name, value in fields.items()) + "---\n\n"


def _entry(entry: Entry | None, failure: Failure | None, names: Mapping[int, str]) -> str:
    lines = []
    if entry is not None:
        lines += _content(entry, names)
    if failure is not None:
        who = "the model" if failure.maker else "the rules"
        lines.append(f"*Failed by {who}: {_line(failure.reason)}*")
    return "\n".join(lines or [WAITING]) + "\n"


def _content(entry: Entry, names: Mapping[int, str]) -> list[str]:
    if isinstance(entry.content, Summary):
        summary = entry.content
        if not summary.text:
            return [NOTHING]
        lines = [f"- {_line(summary.text)} {_cited(entry.messages, names)}"]
        lines += [f"- Keywords: {_line(', '.join(summary.keywords))}"] if summary.keywords else []
        lines += [f"- Tags: {_line(', '.join(summary.tags))}"] if summary.tags else []
        return lines
    return [_bullet(bullet, names) for bullet in entry.content] or [NOTHING]


def _bullet(bullet: Bullet, names: Mapping[int, str]) -> str:
    return f"- {_line(bullet.text)} {_cited(bullet.messages, names)}"


def _cited(message_ids: Sequence[int], names: Mapping[int, str]) -> str:
    return f"[{', '.join(names[message_id] for message_id in message_ids if message_id in names)}]"


def _line(text: str) -> str:
    """Text on one line, so that it cannot begin a heading or a list."""
    return " ".join(text.split())
