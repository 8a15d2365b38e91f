"""Claude: ``conversations.json`` of a data export.

An array of conversations ``{uuid, name, created_at, chat_messages}``; a message is ``{uuid, sender, text,
content: [{type, text}], attachments: [{file_name, extracted_content}], files, created_at}``, in newer
exports with ``parent_message_uuid``.
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
    name_of,
    objects_of,
    required_list,
    required_object,
    text_of,
)
from localmem.importers.inputs import Source
from localmem.importers.json_stream import Shape, records
from localmem.importers.tree import in_order, lay
from localmem.types import NewMessage, NewSession, Role

_ROLES = {"human": Role.USER, "user": Role.USER, "assistant": Role.ASSISTANT}
_NO_PARENT = "00000000-0000-4000-8000-000000000000"
"""What the first message of a conversation names as its parent."""


class Claude:
    """The importer: each conversation is a session of the source ``claude``; message ids are its own.

    Text blocks are the text; thinking and the use of tools are counted and passed over. Pasted text goes to
    ``attachments``, where the export keeps it too.
    """

    name = "claude"
    looks_for = "a JSON array of objects with `chat_messages` (Claude's conversations.json)"
    groups = False

    def matches(self, source: Source, head: Shape) -> bool:
        """Whether a conversation has ``chat_messages``, or ``uuid`` and ``messages``."""
        keys = head.keys
        return "chat_messages" in keys or {"uuid", "messages"} <= keys

    def read(self, source: Source, skipped: Counter[str]) -> Iterator[Conversation | ImportFailed]:
        """Yield the conversations; see :class:`localmem.importers.base.Importer`."""
        return each(records(source, single=True), skipped, _conversation)


def _conversation(record: Record, place: str, skipped: Counter[str]) -> Conversation:
    key = "chat_messages" if "chat_messages" in record else "messages"
    raw = required_list(record, key, place) if record.get(key) is not None else []
    parents: dict[str, str | None] = {}
    messages: dict[str, NewMessage] = {}
    before: str | None = None
    branching = False
    for number, value in enumerate(raw, 1):
        where = f"{place}, message {number}"
        message = required_object(value, where)
        given = message.get("uuid") or digest(str(number), text_of(message.get("text")))
        identity = name_of(given, "uuid", where)
        if identity in parents:
            skipped["message that is in the conversation twice"] += 1
            continue
        parent = message.get("parent_message_uuid")
        branching = branching or isinstance(parent, str)
        follows = parent if isinstance(parent, str) else before
        parents[identity] = None if follows == _NO_PARENT else follows
        if (read := _message(message, identity, where, skipped)) is not None:
            messages[identity] = read
        before = identity
    # Without parents the order of the array is the conversation.
    current = record.get("current_leaf_message_uuid") if branching else before
    kept, leaf = in_order(lay(parents, current), messages, skipped)
    if not kept:
        skipped["conversation without messages"] += 1
        return ()
    session = NewSession(
        Claude.name,
        name_of(record.get("uuid") or next(iter(parents)), "uuid", place),
        kept,
        title=text_of(record.get("name")),
        started_at=moment(record.get("created_at"), skipped),
        leaf=leaf,
    )
    return (session,)


def _message(message: Record, identity: str, place: str, skipped: Counter[str]) -> NewMessage | None:
    """What was said in a message; None when it is passed over."""
    role = message.get("sender") or message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        skipped["system message" if role == "system" else "message of an unknown role"] += 1
        return None
    text = _text(message, skipped)
    attachments = _attachments(message)
    if not text and not attachments:
        skipped["message without text"] += 1
        return None
    return NewMessage(
        role=_ROLES[role],
        text=text,
        sent_at=moment(message.get("created_at"), skipped),
        external_id=identity,
        attachments=attachments,
    )


def _text(message: Record, skipped: Counter[str]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    pieces = []
    for block in objects_of(content):
        kind = text_of(block.get("type"))
        if kind == "text":
            pieces.append(text_of(block.get("text")))
        else:
            skipped[f"{kind[:40].replace('_', ' ') or 'unknown'} block"] += 1
    # `text` has the same with notes in place of what is no text; it is all there is in older exports.
    return "\n\n".join(piece for piece in pieces if piece) or text_of(message.get("text"))


def _attachments(message: Record) -> str:
    found = []
    for file in objects_of(message.get("attachments")):
        found += [text_of(file.get("file_name")), text_of(file.get("extracted_content"))]
    found += [text_of(file.get("file_name")) for file in objects_of(message.get("files"))]
    return "\n".join(piece for piece in found if piece)
