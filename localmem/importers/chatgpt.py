"""ChatGPT: ``conversations.json`` of a data export, whole or in shards.

An array of conversations ``{title, create_time, mapping, current_node, conversation_id or id}``;
``mapping[id]`` is ``{message or null, parent, children}``, a tree whose path is walked up from
``current_node``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from localmem.errors import ImportFailed
from localmem.importers.base import Conversation, each
from localmem.importers.fields import Record, moment, name_of, objects_of, required_object, text_of
from localmem.importers.inputs import Source
from localmem.importers.json_stream import Shape, records
from localmem.importers.tree import in_order, lay
from localmem.types import NewMessage, NewSession, Role

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.ASSISTANT}
_REASONING = frozenset({"thoughts", "reasoning_recap"})
_PLAIN = frozenset({"text", "multimodal_text", "code", "execution_output"})


class ChatGPT:
    """The importer: each conversation is a session of the source ``chatgpt``; message ids are its own.

    What a tool put out for everybody to see is kept, with the tool as speaker. System messages, hidden
    ones, those to a tool, and reasoning are counted and passed over.
    """

    name = "chatgpt"
    looks_for = "a JSON array of objects with `mapping` (ChatGPT's conversations.json)"
    groups = False

    def matches(self, source: Source, head: Shape) -> bool:
        """Whether a conversation has a ``mapping``."""
        return "mapping" in head.keys

    def read(self, source: Source, skipped: Counter[str]) -> Iterator[Conversation | ImportFailed]:
        """Yield the conversations; see :class:`localmem.importers.base.Importer`."""
        return each(records(source, single=True), skipped, _conversation)


def _conversation(record: Record, place: str, skipped: Counter[str]) -> Conversation:
    mapping = record.get("mapping")
    if not mapping:
        skipped["conversation without messages"] += 1
        return ()
    nodes = {
        name_of(key, "id of a message", place): required_object(node, f"{place}, message {key!r}")
        for key, node in required_object(mapping, f"{place}, mapping").items()
    }
    messages = {}
    for key, node in nodes.items():
        if node.get("message") is not None:
            where = f"{place}, message {key!r}"
            message = _message(required_object(node["message"], where), key, where, skipped)
            if message is not None:
                messages[key] = message
    times = {key: message.sent_at for key, message in messages.items() if message.sent_at}
    laid = lay(_parents(nodes), record.get("current_node"), times)
    kept, leaf = in_order(laid, messages, skipped)
    if not kept:
        skipped["conversation without messages"] += 1
        return ()
    # A conversation without an id of its own is known by the node that everything hangs on.
    given = record.get("conversation_id") or record.get("id") or laid.order[0]
    session = NewSession(
        ChatGPT.name,
        name_of(given, "conversation_id", place),
        kept,
        title=text_of(record.get("title")),
        started_at=moment(record.get("create_time"), skipped),
        leaf=leaf,
    )
    return (session,)


def _parents(nodes: dict[str, Record]) -> dict[str, str | None]:
    """Each node's parent; where it names none that is there, the node that names it as a child."""
    named = {}
    for key, node in nodes.items():
        children = node.get("children")
        for child in children if isinstance(children, list) else []:
            if isinstance(child, str) and child != key:
                named[child] = key
    parents: dict[str, str | None] = {}
    for key, node in nodes.items():
        parent = node.get("parent")
        if not isinstance(parent, str) or parent not in nodes:
            parent = named.get(key, parent)
        parents[key] = parent if isinstance(parent, str) else None
    return parents


def _message(message: Record, key: str, place: str, skipped: Counter[str]) -> NewMessage | None:
    """What was said in a message; None when it is passed over."""
    author = required_object(message.get("author") or {}, f"{place}, author")
    metadata = required_object(message.get("metadata") or {}, f"{place}, metadata")
    content = required_object(message.get("content") or {}, f"{place}, content")
    role, kind = author.get("role"), content.get("content_type")
    if (reason := _reason(message, metadata, role, kind)) is not None:
        skipped[reason] += 1
        return None
    text = _text(content, skipped)
    files = [text_of(file.get("name")) for file in objects_of(metadata.get("attachments"))]
    attachments = "\n".join(name for name in files if name)
    if not text and not attachments:
        skipped["message without text"] += 1
        return None
    return NewMessage(
        role=_ROLES[str(role)],
        text=text,
        speaker=(text_of(author.get("name")) or "tool") if role == "tool" else "",
        sent_at=moment(message.get("create_time"), skipped),
        external_id=key,
        attachments=attachments,
    )


def _reason(message: Record, metadata: Record, role: object, kind: object) -> str | None:
    """Why a message is passed over; None when it is kept."""
    recipient = message.get("recipient")
    if role == "system":
        return "system message"
    if not isinstance(role, str) or role not in _ROLES:
        return "message of an unknown role"
    if metadata.get("is_visually_hidden_from_conversation") or message.get("weight") == 0:
        return "hidden message"
    if isinstance(kind, str) and kind in _REASONING:
        return "reasoning"
    if kind == "user_editable_context":
        return "custom instructions"
    if recipient is not None and recipient != "all":
        return "message to a tool"
    return None


def _text(content: Record, skipped: Counter[str]) -> str:
    """The content as text; what is none stands in it by its name and is counted."""
    kind = text_of(content.get("content_type")) or "text"
    parts = content.get("parts")
    pieces = []
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, str):
            pieces.append(part)
        elif isinstance(part, dict):
            pieces.append(_part(part, skipped))
    if not pieces:
        pieces = [text_of(content.get("text"))]
    text = "\n".join(piece for piece in pieces if piece)
    if kind == "code" and text:
        language = text_of(content.get("language"))
        return f"```{'' if language == 'unknown' else language}\n{text}\n```"
    if kind not in _PLAIN:
        skipped[f"content of an unknown kind: {kind[:40]}"] += 1
        return f"[{kind[:40]}]\n{text}" if text else f"[{kind[:40]}]"
    return text


def _part(part: Record, skipped: Counter[str]) -> str:
    """An image, a recording or its words, by what it is."""
    kind = text_of(part.get("content_type"))
    if text := text_of(part.get("text")):  # what was said in a recording
        return text
    name = kind.removesuffix("_asset_pointer")[:40].replace("_", " ") or "attachment"
    skipped[f"{name} (its place is marked)"] += 1
    return f"[{name}]"
