"""LM Studio: one ``*.conversation.json`` a chat. Its format is its own and changes; what is new is counted.

``{name, createdAt in ms, messages: [{versions, currentlySelected}]}``; a version is a ``singleStep`` ``{role,
content: [{type, text}]}`` or a ``multiStep`` ``{role, steps: [{type: contentBlock, content, style}]}``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from localmem.errors import ImportFailed
from localmem.importers.base import Conversation, each
from localmem.importers.fields import (
    Record,
    digest,
    moment,
    objects_of,
    required_list,
    required_object,
    text_of,
)
from localmem.importers.inputs import Source
from localmem.importers.json_stream import Shape, records
from localmem.importers.tree import in_order, lay
from localmem.types import NewMessage, NewSession, Role


class LMStudio:
    """The importer: a file is a session of the source ``lmstudio``; other versions of a message are branches.

    The format has no ids. A chat is known by when it was made and how it begins, a message by its place and
    what it says, so that an edited one is a new version and not lost.
    """

    name = "lmstudio"
    looks_for = "a JSON object with `messages` of `versions` (an LM Studio conversation)"
    groups = False

    def matches(self, source: Source, head: Shape) -> bool:
        """Whether messages have versions."""
        return "messages.versions" in head.keys

    def read(self, source: Source, skipped: Counter[str]) -> Iterator[Conversation | ImportFailed]:
        """Yield the chat; see :class:`localmem.importers.base.Importer`."""
        return each(records(source, single=True), skipped, _conversation)


def _conversation(record: Record, place: str, skipped: Counter[str]) -> Conversation:
    parents: dict[str, str | None] = {}
    messages: dict[str, NewMessage] = {}
    before: str | None = None
    for index, value in enumerate(required_list(record, "messages", place)):
        where = f"{place}, message {index + 1}"
        message = required_object(value, where)
        versions = required_list(message, "versions", where)
        selected = message.get("currentlySelected")
        if not isinstance(selected, int) or not 0 <= selected < len(versions):
            selected = len(versions) - 1
        chosen = before
        for number, version in enumerate(versions):
            identity, read = _version(required_object(version, where), index, skipped)
            parents.setdefault(identity, before)
            if read is not None:
                messages.setdefault(identity, read)
            if number == selected:
                chosen = identity
        before = chosen
    kept, leaf = in_order(lay(parents, before), messages, skipped)
    if not kept:
        skipped["conversation without messages"] += 1
        return ()
    made = record.get("createdAt")
    begin = next(iter(parents)).split("-")[-1]
    session = NewSession(
        LMStudio.name,
        f"{made}-{begin}" if isinstance(made, int) and not isinstance(made, bool) else begin,
        kept,
        title=text_of(record.get("name")),
        started_at=moment(made, skipped),
        leaf=leaf,
    )
    return (session,)


def _version(version: Record, index: int, skipped: Counter[str]) -> tuple[str, NewMessage | None]:
    """A version's id, and what it says; None when it is passed over."""
    role = version.get("role")
    blocks = [version]
    if version.get("type") == "multiStep" or "steps" in version:
        blocks = [step for step in objects_of(version.get("steps")) if step.get("type") == "contentBlock"]
    texts, files = [], []
    for block in blocks:
        style = block.get("style")
        if isinstance(style, dict) and style.get("type") == "thinking":
            skipped["reasoning"] += 1
            continue
        for part in objects_of(block.get("content")):
            kind = text_of(part.get("type"))
            if kind == "text":
                texts.append(text_of(part.get("text")))
            elif kind == "file":
                files.append(text_of(part.get("fileIdentifier")) or text_of(part.get("name")))
            else:
                skipped[f"{kind[:40] or 'unknown'} block"] += 1
    text = "\n".join(piece for piece in texts if piece)
    attachments = "\n".join(name for name in files if name)
    identity = f"{index}-{digest(str(role), text, attachments)}"
    if role not in ("user", "assistant"):
        skipped["system message" if role == "system" else "message of an unknown role"] += 1
        return identity, None
    if not text and not attachments:
        skipped["message without text"] += 1
        return identity, None
    message = NewMessage(Role(str(role)), text, external_id=identity, attachments=attachments)
    return identity, message
