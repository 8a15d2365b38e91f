"""Claude's export: older without parents, newer with branches; pasted text lives in attachments only."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from localmem.errors import ImportFailed
from localmem.importers import detect
from localmem.types import Role


def one(**message):
    return [
        {"uuid": "k", "name": "", "chat_messages": [{"uuid": "m", "sender": "human", "text": "", **message}]}
    ]


def test_an_edited_message_is_the_path_and_what_it_replaced_a_branch(read, write, exports, seen):
    first, second = read(write(exports["claude"]()))
    assert (first.source, first.external_id, first.title) == ("claude", "k1", "Home")
    assert seen(first) == [("h2", ""), ("a2", "h2"), ("h1", ""), ("a1", "h1")]
    assert first.leaf == "a2"
    assert first.started_at == datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert first.messages[0].sent_at == datetime(2026, 3, 1, 9, 30, 0, 500000, tzinfo=UTC)
    assert second.title == ""


def test_the_leaf_that_the_export_names_is_where_the_path_ends(read, write, exports):
    export = exports["claude"]()
    export[0]["current_leaf_message_uuid"] = "a1"
    assert read(write(export))[0].leaf == "a1"


def test_without_parents_the_order_of_the_array_is_the_conversation(read, write, exports, seen):
    export = exports["claude"]()
    for message in export[0]["chat_messages"]:
        del message["parent_message_uuid"]
    session = read(write(export))[0]
    assert [key for key, _ in seen(session)] == ["h1", "a1", "h2", "a2"]
    assert session.leaf == "a2"


def test_blocks_of_text_are_preferred_and_the_others_counted(read, write, skipped):
    content = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "One."},
        {"type": "tool_use", "name": "x"},
        {"type": "tool_result", "content": []},
        {"type": "text", "text": "Two."},
    ]
    (session,) = read(write(one(text="One. [note] Two.", content=content)))
    assert session.messages[0].text == "One.\n\nTwo."
    assert skipped == {"thinking block": 1, "tool use block": 1, "tool result block": 1}


@pytest.mark.parametrize("content", [None, [], [{"type": "text", "text": ""}]])
def test_the_plain_text_stands_in_where_there_are_no_blocks(read, write, content):
    assert read(write(one(text="Hello", content=content)))[0].messages[0].text == "Hello"


def test_a_paste_that_lives_in_an_attachment_alone_is_kept(read, write):
    attachments = [{"file_name": "paste.txt", "extracted_content": "a long paste"}, {"file_name": "b.csv"}]
    (session,) = read(write(one(attachments=attachments, files=[{"file_name": "photo.png"}])))
    assert session.messages[0].text == ""
    assert session.messages[0].attachments == "paste.txt\na long paste\nb.csv\nphoto.png"


def test_the_variant_with_messages_and_role_is_read(read, write):
    message = {"uuid": "m", "role": "assistant", "content": "Hi"}
    path = write([{"uuid": "k", "name": "n", "messages": [message]}])
    assert detect(path).name == "claude"
    assert read(path)[0].messages[0].role is Role.ASSISTANT


def test_an_empty_message_and_an_empty_conversation_are_counted(read, write, exports, skipped):
    path = write([*one(), {"uuid": "e", "chat_messages": []}, *exports["claude"]()])
    assert len(read(path)) == 2
    assert skipped == {"message without text": 1, "conversation without messages": 2}


def test_messages_without_ids_get_the_same_ones_at_each_import(read, write, seen):
    path = write(
        [{"uuid": "k", "chat_messages": [{"sender": "human", "text": "a"}, {"sender": "human", "text": "a"}]}]
    )
    assert seen(read(path)[0]) == seen(read(path)[0])
    assert len(set(seen(read(path)[0]))) == 2


@pytest.mark.parametrize("messages", [7, [7], {"a": 1}])
def test_another_structure_is_named_with_its_place(read, write, messages):
    with pytest.raises(ImportFailed, match="record 1"):
        read(write([{"uuid": "k", "chat_messages": messages}]))
