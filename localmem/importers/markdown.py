"""Markdown transcripts: turns under headings or bold names, as chat programs and people write them.

``## User`` or ``**User:** text``, with the usual names of the two sides; and localmem's own export of raw
messages, which names speaker, time and id. A label inside a code fence is text.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO

from localmem.errors import ImportFailed
from localmem.importers.base import Conversation
from localmem.importers.fields import is_utf8, moment, text_of
from localmem.importers.inputs import Source
from localmem.importers.json_stream import Shape, not_utf8, reading
from localmem.types import NewMessage, NewSession, Role

_HEAD = 1 << 20
"""Bytes in which both sides must have spoken for a file to be taken for a transcript."""
_MOST_BYTES = 64 << 20
"""Size of a file, which is read whole."""

_SIDES = {
    **dict.fromkeys(("user", "human", "you", "me", "prompt", "question"), "user"),
    **dict.fromkeys(
        (
            "assistant",
            "ai",
            "bot",
            "model",
            "response",
            "answer",
            "chatgpt",
            "gpt",
            "claude",
            "gemini",
            "llm",
        ),
        "assistant",
    ),
    "system": "system",
}
_LABEL = re.compile(
    r"#{1,6}[ \t]+(?P<heading>[^\n]{1,80}?)[ \t]*#*"
    r"|\*\*(?P<bold>[^*\n]{1,40}?)(?::\*\*|\*\*[ \t]*:)[ \t]*(?P<rest>.*)"
)
_NAME = re.compile(
    r"[^\w]*(?P<name>[A-Za-z]+)(?:[-. ]?\d[\w.]*)?[^\w(\[]*(?:[(\[](?P<when>[^)\]]*)[)\]])?[:\s]*"
)
_OWN = re.compile(r"\*\*(?P<who>.+)\*\*(?:, (?P<when>\d{4}-\d\d-\d\d \d\d:\d\d))? \[(?P<id>.+)\]")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")


@dataclass(slots=True)
class _Turn:
    side: str
    lines: list[str] = field(default_factory=list)
    when: str = ""
    speaker: str = ""
    identity: str | None = None


class Markdown:
    """The importer: a file is a session of the source ``markdown``, called after the file.

    Its messages are numbered, so it can be imported again when it has grown. A first heading that is no
    name of a side is the title.
    """

    name = "markdown"
    looks_for = "Markdown with headings or bold names of both sides (`## User`, `**Assistant:**`)"
    groups = False

    def matches(self, source: Source, head: Shape) -> bool:
        """Whether both sides speak near its beginning, or it is an export of raw messages."""
        with reading(source) as file:
            begin = file.read(_HEAD)
        if b"\0" in begin or head.top in ("array", "object"):
            return False
        lines = begin.decode("utf-8", "replace").split("\n")
        front, body = _front_matter(lines)
        if front:
            return front.get("layer") == "raw"
        sides = {turn.side for turn in _turns(body)[1]}
        return {"user", "assistant"} <= sides

    def read(self, source: Source, skipped: Counter[str]) -> Iterator[Conversation | ImportFailed]:
        """Yield the one session; see :class:`localmem.importers.base.Importer`."""
        with reading(source) as file:
            lines = _lines(file, source)
        front, body = _front_matter(lines)
        if front.get("layer") == "raw":
            session = _own(front, body, source)
        else:
            title, turns = _turns(body)
            messages = tuple(_messages(turns, skipped))
            session = NewSession(self.name, source.stem, messages, title=title, source_is_file=True)
        if session.messages:
            yield (session,)


def _lines(file: BinaryIO, source: Source) -> list[str]:
    raw = file.read(_MOST_BYTES + 1)
    if len(raw) > _MOST_BYTES:
        raise ImportFailed(f"{source}: a transcript of more than {_MOST_BYTES >> 20} MB is not read.")
    try:
        return raw.decode("utf-8").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        raise not_utf8(f"{source}, byte {error.start}") from error


def _front_matter(lines: list[str]) -> tuple[dict[str, object], list[str]]:
    """The values of a localmem export's head, and the lines after it."""
    if not lines or lines[0] != "---" or "---" not in lines[1:]:
        return {}, lines
    end = lines.index("---", 1)
    found: dict[str, object] = {}
    for line in lines[1:end]:
        name, _, value = line.partition(": ")
        try:
            found[name] = json.loads(value)
        except (ValueError, RecursionError):
            return {}, lines[end + 1 :]  # somebody else's
    return found, lines[end + 1 :]


def _turns(lines: list[str]) -> tuple[str, list[_Turn]]:
    """The title, and the turns. The first label says whether headings or bold names are labels."""
    title = ""
    turns: list[_Turn] = []
    style = ""
    fence = ""
    for line in lines:
        if (mark := _FENCE.match(line)) and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else mark[1]
        label = None if fence else _LABEL.fullmatch(line)
        if label is not None:
            kind = "heading" if label["heading"] is not None else "bold"
            named = _NAME.fullmatch(label[kind])
            side = _SIDES.get(named["name"].lower()) if named else None
            if named and side and style in ("", kind):
                style = kind
                turns.append(_Turn(side, [label["rest"]] if label["rest"] else [], named["when"] or ""))
                continue
            if kind == "heading" and not turns and not title:
                title = label["heading"]
        if turns:
            turns[-1].lines.append(line)
    return title, turns


def _messages(turns: list[_Turn], skipped: Counter[str]) -> Iterator[NewMessage]:
    number = 0
    for turn in turns:
        text = "\n".join(turn.lines).strip("\n")
        if turn.side == "system":
            skipped["system message"] += 1
        elif not text.strip():
            skipped["message without text"] += 1
        else:
            unreadable: Counter[str] = Counter()  # what stands in brackets need not be a time
            sent_at = moment(turn.when, unreadable)
            yield NewMessage(Role(turn.side), text, sent_at=sent_at, external_id=str(number))
            number += 1


def _own(front: dict[str, object], lines: list[str], source: Source) -> NewSession:
    """A session as localmem's own Markdown export wrote it; times are to the minute there."""
    known = front.get("messages")
    ids = set(known) if isinstance(known, dict) else set()
    turns: list[_Turn] = []
    for line in lines:
        label = _OWN.fullmatch(line)
        if label and label["id"] in ids:
            ids.remove(label["id"])
            side = "assistant" if label["who"] == "assistant" else "user"
            speaker = "" if label["who"] in ("user", "assistant") else label["who"]
            turns.append(_Turn(side, [], label["when"] or "", speaker, label["id"]))
        elif turns and not re.fullmatch(r"## Turn \d+", line):
            turns[-1].lines.append(line)
    messages = []
    for turn in turns:
        when = None
        with suppress(ValueError):  # no time, or none that a calendar has
            when = datetime.fromisoformat(turn.when)
        text = "\n".join(turn.lines).strip("\n")
        messages.append(NewMessage(Role(turn.side), text, turn.speaker, when, turn.identity))
    origin, session = text_of(front.get("source")), text_of(front.get("external_id"))
    if not origin or not session or not is_utf8(origin + session):
        raise ImportFailed(f"{source}: its head names no session; export it again.")
    return NewSession(origin, session, tuple(messages), title=text_of(front.get("title")))
