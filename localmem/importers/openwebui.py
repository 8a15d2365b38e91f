"""Open WebUI: exported chats.

An array of ``{id, title, chat: {history: {currentId, messages: {id: {parentId, role, content, timestamp}}},
messages}, created_at}``. ``history`` is a tree whose path is walked up from ``currentId``; older exports have
the flat ``chat.messages`` alone.
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
    required_object,
    text_of,
)
from localmem.importers.inputs import Source
from localmem.importers.json_stream import Shape, records
from localmem.importers.tree import in_order, lay
from localmem.types import NewMessage, NewSession, Role

_OPEN, _CLOSE = "<details", "</details>"
_STRIPPED = {"reasoning": "reasoning", "tool_calls": "tool call", "code_interpreter": "tool call"}


class OpenWebUI:
    """The importer: each chat is a session of the source ``openwebui``; message ids are its own."""

    name = "openwebui"
    looks_for = "a JSON array of objects with `chat` of `history` or `messages` (Open WebUI)"
    groups = False

    def matches(self, source: Source, head: Shape) -> bool:
        """Whether a chat has a history or messages."""
        return bool({"chat.history", "chat.messages"} & head.keys)

    def read(self, source: Source, skipped: Counter[str]) -> Iterator[Conversation | ImportFailed]:
        """Yield the chats; see :class:`localmem.importers.base.Importer`."""
        return each(records(source, single=True), skipped, _conversation)


def _conversation(record: Record, place: str, skipped: Counter[str]) -> Conversation:
    chat = required_object(record.get("chat") or {}, f"{place}, chat")
    history = required_object(chat.get("history") or {}, f"{place}, history")
    nodes = required_object(history.get("messages") or {}, f"{place}, history, messages")
    leaf = history.get("currentId")
    if not nodes:
        nodes, leaf = _flat(chat), None
    parents: dict[str, str | None] = {}
    messages: dict[str, NewMessage] = {}
    for key, value in nodes.items():
        where = f"{place}, message {key!r}"
        identity = name_of(key, "id of a message", where)
        node = required_object(value, where)
        parent = node.get("parentId")
        parents[identity] = parent if isinstance(parent, str) else None
        if (message := _message(node, identity, skipped)) is not None:
            messages[identity] = message
    times = {key: message.sent_at for key, message in messages.items() if message.sent_at}
    kept, end = in_order(lay(parents, leaf, times), messages, skipped)
    if not kept:
        skipped["conversation without messages"] += 1
        return ()
    session = NewSession(
        OpenWebUI.name,
        name_of(record.get("id") or next(iter(parents)), "id", place),
        kept,
        title=text_of(record.get("title")) or text_of(chat.get("title")),
        started_at=moment(record.get("created_at"), skipped),
        leaf=end,
    )
    return (session,)


def _flat(chat: Record) -> dict[str, Record]:
    """The older list of messages as a tree without branches."""
    nodes: dict[str, Record] = {}
    before: str | None = None
    for number, message in enumerate(objects_of(chat.get("messages"))):
        given = text_of(message.get("id"))
        key = given if given and given not in nodes else digest(str(number), str(message.get("content")))
        nodes[key] = {**message, "parentId": before}
        before = key
    return nodes


def _message(node: Record, identity: str, skipped: Counter[str]) -> NewMessage | None:
    """What was said in a message; None when it is passed over."""
    role = node.get("role")
    if role not in ("user", "assistant"):
        skipped["system message" if role == "system" else "message of an unknown role"] += 1
        return None
    content = node.get("content")
    if isinstance(content, list):
        pieces = [text_of(part.get("text")) for part in objects_of(content)]
        content = "\n".join(piece for piece in pieces if piece)
    text = _without_details(text_of(content), skipped)
    attachments = _attachments(node)
    if not text and not attachments:
        skipped["message without text"] += 1
        return None
    return NewMessage(
        role=Role(str(role)),
        text=text,
        sent_at=moment(node.get("timestamp"), skipped),
        external_id=identity,
        attachments=attachments,
    )


def _without_details(text: str, skipped: Counter[str]) -> str:
    """Take reasoning and calls of tools out, which are written into the text as folded blocks."""
    kept = []
    at = 0
    while (start := text.find(_OPEN, at)) >= 0:
        head, end = text.find(">", start), text.find(_CLOSE, start)
        if head < 0 or end < 0:
            break
        tag = text[start:head]
        reason = next((why for kind, why in _STRIPPED.items() if f'type="{kind}"' in tag), None)
        if reason is None:  # somebody's own HTML
            kept.append(text[at : head + 1])
            at = head + 1
            continue
        skipped[reason] += 1
        kept.append(text[at:start])
        at = end + len(_CLOSE)
    kept.append(text[at:])
    return "".join(kept).strip("\n") if at else text


def _attachments(node: Record) -> str:
    found = []
    for entry in objects_of(node.get("files")):
        file = entry.get("file")
        file = file if isinstance(file, dict) else entry
        data = file.get("data")
        found.append(text_of(file.get("filename")) or text_of(entry.get("name")))
        found.append(text_of(data.get("content")) if isinstance(data, dict) else "")
    return "\n".join(piece for piece in found if piece)
