"""Letta's agent file: what was said is unwrapped, what the server and the tools wrote is counted."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from localmem.errors import ImportFailed
from localmem.importers import detect
from localmem.types import Role


@pytest.mark.parametrize("wrap", [lambda export: export, json.dumps], ids=["JSON", "a text of JSON"])
def test_what_was_said_is_taken_out_of_its_wrapping(read, write, exports, skipped, wrap):
    path = write(json.dumps(wrap(exports["letta"]())))
    assert detect(path).name == "letta"
    (session,) = read(path)
    assert (session.source, session.external_id, session.title) == ("letta", "agent-1", "Helper")
    assert [(m.external_id, m.role, m.text) for m in session.messages] == [
        ("m1", Role.USER, "I am Ada"),
        ("m2", Role.ASSISTANT, "Noted, Ada."),
        ("m5", Role.ASSISTANT, "Plain."),
    ]
    assert session.messages[0].sent_at == datetime(2026, 3, 1, 9, 30, 0, 500000, tzinfo=UTC)
    assert skipped == {
        "memory block": 1,
        "system message": 1,
        "tool message": 1,
        "server event": 1,
        "reasoning": 1,
    }


def test_a_call_of_another_tool_is_counted(read, write, exports, skipped):
    export = exports["letta"]()
    export["agents"][0]["messages"][2]["tool_calls"] = [{"function": {"name": "archive", "arguments": "{}"}}]
    assert read(write(export))[0].messages[1].text == "I should greet."
    assert skipped["tool call"] == 1


def test_a_user_who_writes_json_is_taken_at_his_word(read, write, exports):
    export = exports["letta"]()
    export["agents"][0]["messages"][1]["content"][0]["text"] = '{"a": 1}'
    assert read(write(export))[0].messages[0].text == '{"a": 1}'


def test_messages_without_ids_get_the_same_ones_at_each_import(read, write, exports):
    export = exports["letta"]()
    for message in export["agents"][0]["messages"]:
        message.pop("id", None)
    first, second = (read(write(export))[0].messages for _ in range(2))
    assert first == second
    assert len({m.external_id for m in first}) == 3


@pytest.mark.parametrize("broken", [{"messages": 7}, {"messages": [7]}, {}])
def test_another_structure_is_named_with_its_place_and_the_other_agents_follow(read, write, exports, broken):
    export = exports["letta"]()
    export["agents"].append(broken)
    with pytest.raises(ImportFailed, match="agent 2"):
        read(write(export))


def test_a_text_that_holds_something_else_is_no_known_format(read, write):
    with pytest.raises(ImportFailed, match="It looks like a JSON text"):
        read(write(json.dumps(json.dumps({"agents": 7}))))
