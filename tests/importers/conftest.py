"""Small files in the official schemas, and a way to read one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localmem.importers import read_sessions
from localmem.types import NewSession

Read = Callable[..., list[NewSession]]
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write bytes, text, or JSON to a file whose name tells nothing."""

    def write_file(content: Any, name: str = "export.dat") -> Path:
        path = tmp_path / name
        if not isinstance(content, bytes | str):
            content = json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write_file


@pytest.fixture
def skipped() -> Counter[str]:
    return Counter()


@pytest.fixture
def read(skipped: Counter[str]) -> Read:
    return lambda path, format="auto": list(read_sessions(path, format, skipped=skipped))


@pytest.fixture
def locomo() -> list[dict[str, Any]]:
    def said(speaker: str, dia_id: str, text: str, **more: str) -> dict[str, str]:
        return {"speaker": speaker, "dia_id": dia_id, "text": text, **more}

    return [
        {
            "qa": [{"question": "When?", "answer": 2022, "evidence": ["D1:2"], "category": 2}],
            "conversation": {
                "speaker_a": "Ana",
                "speaker_b": "Ben",
                "session_10_date_time": "12:09 am on 13 September, 2023",
                "session_10": [said("Ben", "D10:1", "Ten")],
                "session_2_date_time": "12:30 pm on 25 May, 2023",
                "session_2": [said("Ana", "D2:1", "Two", blip_caption="a photo of a dog")],
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": [said("Ana", "D1:1", "Hey"), said("Ben", "D1:2", "Hi Ana")],
                "session_11_date_time": "9:00 am on 1 October, 2023",
            },
            "sample_id": "conv-1",
        },
        {
            "conversation": {
                "session_1_date_time": "4:04 pm on 20 January, 2023",
                "session_1": [said("Cas", "D1:1", "Other")],
            },
            "sample_id": "conv-2",
        },
    ]


@pytest.fixture
def longmemeval() -> list[dict[str, Any]]:
    chat = [
        {"role": "user", "content": "I moved to Delft.", "has_answer": True},
        {"role": "assistant", "content": "Nice."},
    ]
    return [
        {
            "question_id": "q1_abs",
            "question": "Where do I live?",
            "answer": 3,
            "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 13:00", "2023/05/22 (Mon) 09:00"],
            "haystack_session_ids": ["s1", "s2", "s1"],
            "haystack_sessions": [chat, [{"role": "user", "content": "Bye"}], chat],
        },
        {
            "question_id": "q2",
            "haystack_dates": ["2023/06/01 (Thu) 10:00"],
            "haystack_session_ids": ["s1"],
            "haystack_sessions": [chat],
        },
    ]


Export = dict[str, Any]
MARCH = 1_772_357_400.5
"""2026-03-01 09:30:00.5 UTC in seconds since 1970."""


def chatgpt_node(
    key: str, parent: str | None, role: str | None = None, text: Any = None, **more: Any
) -> Export:
    """A node of ``mapping``; without a role one without a message."""
    message = None
    if role is not None:
        content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
        message = {
            "id": key,
            "author": {"role": role, "name": more.pop("name", None), "metadata": {}},
            "create_time": more.pop("at", MARCH),
            "content": content,
            "weight": 1.0,
            "metadata": {},
            "recipient": "all",
            **more,
        }
    return {"id": key, "message": message, "parent": parent, "children": []}


def chatgpt_conversation(*nodes: Export, current: str | None = None, **more: Any) -> Export:
    return {
        "title": "Trip",
        "create_time": MARCH,
        "update_time": None,
        "mapping": {node["id"]: node for node in nodes},
        "current_node": current,
        "conversation_id": "c1",
        **more,
    }


def chatgpt_export() -> list[Export]:
    """One conversation with a reply that was asked for anew, and one that is plain."""
    node = chatgpt_node
    branching = chatgpt_conversation(
        node("root", None),
        node("u1", "root", "user", "Where is Oslo?"),
        node("a1", "u1", "assistant", "In Sweden."),
        node("a2", "u1", "assistant", "In Norway."),
        node("u2", "a2", "user", "Thanks"),
        current="u2",
    )
    plain = chatgpt_conversation(
        node("r", None), node("x", "r", "user", "Hello"), current="x", conversation_id="c2", title="Hi"
    )
    return [branching, plain]


def claude_export() -> list[Export]:
    """One conversation with a message that was edited."""

    def message(uuid: str, sender: str, text: str, parent: str | None = None) -> Export:
        more = {} if parent is None else {"parent_message_uuid": parent}
        content = [{"type": "text", "text": text}]
        return {
            "uuid": uuid,
            "sender": sender,
            "text": text,
            "content": content,
            "attachments": [],
            "files": [],
            "created_at": "2026-03-01T09:30:00.500000Z",
            **more,
        }

    none = "00000000-0000-4000-8000-000000000000"
    messages = [
        message("h1", "human", "I live in Bergen", none),
        message("a1", "assistant", "Nice.", "h1"),
        message("h2", "human", "I live in Oslo", none),
        message("a2", "assistant", "Fine.", "h2"),
    ]
    return [
        {"uuid": "k1", "name": "Home", "created_at": "2026-03-01T09:00:00Z", "chat_messages": messages},
        {"uuid": "k2", "name": "", "created_at": "2026-03-02T09:00:00Z", "chat_messages": [messages[0]]},
    ]


def openwebui_export() -> list[Export]:
    def message(parent: str | None, role: str, content: str) -> Export:
        return {
            "parentId": parent,
            "childrenIds": [],
            "role": role,
            "content": content,
            "timestamp": int(MARCH),
        }

    nodes = {
        "u1": message(None, "user", "Name a fruit"),
        "a1": message("u1", "assistant", "Plum"),
        "a2": message("u1", "assistant", '<details type="reasoning" done="true">\n> hm\n</details>\nPear'),
    }
    return [
        {
            "id": "w1",
            "title": "Fruit",
            "chat": {"history": {"currentId": "a2", "messages": nodes}},
            "created_at": int(MARCH),
        }
    ]


def lmstudio_export() -> Export:
    def step(role: str, text: str) -> Export:
        return {"type": "singleStep", "role": role, "content": [{"type": "text", "text": text}]}

    thinking = {
        "type": "contentBlock",
        "content": [{"type": "text", "text": "hm"}],
        "style": {"type": "thinking"},
    }
    answer = {"type": "contentBlock", "content": [{"type": "text", "text": "Four."}]}
    replies = [
        step("assistant", "Five."),
        {"type": "multiStep", "role": "assistant", "steps": [thinking, answer, {"type": "debugInfoBlock"}]},
    ]
    return {
        "name": "Sums",
        "createdAt": 1_772_357_400_500,
        "systemPrompt": "Be exact.",
        "messages": [
            {"versions": [step("user", "2 + 2?")], "currentlySelected": 0},
            {"versions": replies, "currentlySelected": 1},
            {"versions": [step("user", "Good")], "currentlySelected": 0},
        ],
    }


def letta_export() -> Export:
    def text(content: str) -> list[Export]:
        return [{"type": "text", "text": content}]

    call = {"function": {"name": "send_message", "arguments": json.dumps({"message": "Noted, Ada."})}}
    messages = [
        {"role": "system", "content": text("You are an agent."), "created_at": None},
        {
            "id": "m1",
            "role": "user",
            "content": text(json.dumps({"type": "user_message", "message": "I am Ada"})),
            "created_at": "2026-03-01T09:30:00.500000+00:00",
        },
        {
            "id": "m2",
            "role": "assistant",
            "content": text("I should greet."),
            "tool_calls": [call],
            "created_at": None,
        },
        {"id": "m3", "role": "tool", "content": text('{"status": "OK"}'), "created_at": None},
        {"id": "m4", "role": "user", "content": text(json.dumps({"type": "heartbeat"})), "created_at": None},
        {"id": "m5", "role": "assistant", "content": "Plain.", "created_at": None},
    ]
    blocks = [{"label": "human", "value": "Ada"}]
    return {
        "agents": [{"id": "agent-1", "name": "Helper", "system": "s", "messages": messages}],
        "blocks": blocks,
    }


EXPORTS: dict[str, Callable[[], Any]] = {
    "chatgpt": chatgpt_export,
    "claude": claude_export,
    "openwebui": openwebui_export,
    "lmstudio": lmstudio_export,
    "letta": letta_export,
}
"""A whole, correct export of each chat program whose format is JSON."""


@pytest.fixture
def exports() -> dict[str, Callable[[], Any]]:
    return EXPORTS


@pytest.fixture
def node() -> Callable[..., Export]:
    return chatgpt_node


@pytest.fixture
def conversation() -> Callable[..., Export]:
    return chatgpt_conversation


def seen(session: NewSession) -> list[tuple[str | None, str | None]]:
    """Id and parent of each message in the order in which they are stored."""
    return [(message.external_id, message.parent) for message in session.messages]


@pytest.fixture(name="seen")
def seen_fixture() -> Callable[[NewSession], list[tuple[str | None, str | None]]]:
    return seen
