"""Letta: an agent file (``.af``), JSON or a JSON text that holds the JSON.

``{agents: [{id, name, messages: [{id, role, content: [{type: text, text}], created_at, tool_calls}]}],
blocks}``. What an agent says to its user it may say by calling ``send_message``, and what the user said may
be wrapped as JSON ``{type: user_message, message}``.
"""

from __future__ import annotations

import json
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
from localmem.importers.json_stream import Shape, check_utf8, reading
from localmem.types import NewMessage, NewSession, Role

_MOST_BYTES = 256 << 20
"""Size of a file, which is read whole."""


class Letta:
    """The importer: each agent is a session of the source ``letta``.

    Its memory blocks and its tools' messages are counted and passed over: they were not said.
    """

    name = "letta"
    looks_for = "a JSON object with `agents` of `messages` (a Letta agent file)"
    groups = False

    def matches(self, source: Source, head: Shape) -> bool:
        """Whether agents have messages, in the JSON itself or in the text that it is."""
        if head.top == "text":
            try:
                value = _parsed(source)
            except ImportFailed:  # a text that begins with a quotation mark
                return False
            return isinstance(value, dict) and isinstance(value.get("agents"), list)
        return head.top == "object" and "agents.messages" in head.keys

    def read(self, source: Source, skipped: Counter[str]) -> Iterator[Conversation | ImportFailed]:
        """Yield the agents; see :class:`localmem.importers.base.Importer`."""
        file = required_object(_parsed(source), str(source))
        agents = required_list(file, "agents", str(source))
        if isinstance(blocks := file.get("blocks"), list) and blocks:
            skipped["memory block"] += len(blocks)
        places = [
            (f"{source}, agent {number}", required_object(agent, f"{source}, agent {number}"))
            for number, agent in enumerate(agents, 1)
        ]
        yield from each(places, skipped, _conversation)


def _parsed(source: Source) -> object:
    """The JSON of a file, taken out of its text if it is one."""
    with reading(source) as file:
        raw = file.read(_MOST_BYTES + 1)
    if len(raw) > _MOST_BYTES:
        raise ImportFailed(f"{source}: an agent file of more than {_MOST_BYTES >> 20} MB is not read.")
    try:
        value = json.loads(raw.decode("utf-8"))
        return json.loads(value) if isinstance(value, str) else value
    except UnicodeDecodeError:
        check_utf8(source)
        raise
    except (ValueError, RecursionError) as error:
        raise ImportFailed(f"{source}: not correct JSON, or cut short: {str(error)[:120]}.") from error


def _conversation(record: Record, place: str, skipped: Counter[str]) -> Conversation:
    messages: dict[str, NewMessage] = {}
    for number, value in enumerate(required_list(record, "messages", place)):
        where = f"{place}, message {number + 1}"
        message = required_object(value, where)
        text = _said(message, skipped)
        if text is None:
            continue
        given = message.get("id") or f"{number}-{digest(str(message.get('role')), text)}"
        identity = name_of(given, "id", where)
        if identity in messages:
            raise ImportFailed(f"{where}: the id {identity!r} was used before in this agent.")
        messages[identity] = NewMessage(
            Role(str(message["role"])),
            text,
            sent_at=moment(message.get("created_at"), skipped),
            external_id=identity,
        )
    if not messages:
        skipped["conversation without messages"] += 1
        return ()
    name = record.get("id") or record.get("name") or next(iter(messages))
    kept = tuple(messages.values())
    return (NewSession(Letta.name, name_of(name, "id", place), kept, title=text_of(record.get("name"))),)


def _said(message: Record, skipped: Counter[str]) -> str | None:
    """What a message says to the other side; None, counted, when it says nothing."""
    role = message.get("role")
    if role not in ("user", "assistant"):
        names = {"system": "system message", "tool": "tool message"}
        skipped[names.get(str(role), "message of an unknown role")] += 1
        return None
    content = message.get("content")
    if isinstance(content, list):
        content = "\n".join(text for part in content if (text := _text(part, skipped)))
    text = text_of(content)
    if role == "user":
        return _unwrapped(text, skipped)
    sent = [sent for call in objects_of(message.get("tool_calls")) if (sent := _sent(call, skipped))]
    if sent:  # then the content is what the agent thought
        if text:
            skipped["reasoning"] += 1
        return "\n".join(sent)
    if not text:
        skipped["message without text"] += 1
    return text or None


def _text(part: object, skipped: Counter[str]) -> str:
    if isinstance(part, dict) and part.get("type", "text") != "text":
        skipped[f"{str(part['type'])[:40]} block"] += 1
        return ""
    return text_of(part.get("text")) if isinstance(part, dict) else text_of(part)


def _sent(call: Record, skipped: Counter[str]) -> str:
    """What a call of ``send_message`` says; another call is counted."""
    function = call.get("function")
    if not isinstance(function, dict) or function.get("name") != "send_message":
        skipped["tool call"] += 1
        return ""
    arguments = function.get("arguments")
    value = _json_object(arguments) if isinstance(arguments, str) else arguments
    return text_of(value.get("message")) if isinstance(value, dict) else text_of(arguments)


def _unwrapped(text: str, skipped: Counter[str]) -> str | None:
    """What the user said; None, counted, for what the server wrote in the user's name."""
    wrapped = _json_object(text) if text.startswith("{") else None
    if wrapped is not None and isinstance(kind := wrapped.get("type"), str):
        if kind == "user_message":
            text = text_of(wrapped.get("message"))
        elif kind in ("heartbeat", "login", "system_alert", "package_message"):
            skipped["server event"] += 1
            return None
    if not text:
        skipped["message without text"] += 1
    return text or None


def _json_object(text: str) -> Record | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
