"""ChatGPT's export: the path is walked up, other branches are kept, what was not said is counted."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from localmem.errors import ImportFailed
from localmem.importers import detect
from localmem.types import Role

MARCH = 1_772_357_400.5


def test_the_path_comes_first_and_the_other_reply_is_kept_as_a_branch(read, write, exports, seen):
    first, second = read(write(exports["chatgpt"]()))
    assert (first.source, first.external_id, first.title) == ("chatgpt", "c1", "Trip")
    assert seen(first) == [("u1", ""), ("a2", "u1"), ("u2", "a2"), ("a1", "u1")]
    assert first.leaf == "u2"
    assert [m.text for m in first.messages] == ["Where is Oslo?", "In Norway.", "Thanks", "In Sweden."]
    assert [m.role for m in first.messages[:2]] == [Role.USER, Role.ASSISTANT]
    assert first.messages[0].sent_at == datetime(2026, 3, 1, 9, 30, 0, 500000, tzinfo=UTC)
    assert seen(second) == [("x", "")]


def test_it_is_told_by_structure_even_if_the_first_conversation_has_no_mapping(
    read, write, conversation, node
):
    bare = {"title": None, "conversation_id": "empty"}
    path = write([bare, conversation(node("u", None, "user", "Hi"), current="u")])
    assert detect(path).name == "chatgpt"
    assert [s.external_id for s in read(path)] == ["c1"]


def test_a_single_conversation_that_is_no_array_is_read(read, write, conversation, node):
    (session,) = read(write(conversation(node("u", None, "user", "Hi"), current="u")))
    assert session.messages[0].text == "Hi"


def test_title_and_times_may_be_missing(read, write, conversation, node):
    given = conversation(node("u", None, "user", "Hi", at=None), current="u")
    for key in ("title", "create_time", "update_time"):
        del given[key]
    (session,) = read(write([given]))
    assert (session.title, session.started_at, session.messages[0].sent_at) == ("", None, None)


def test_a_conversation_is_known_by_its_id_whichever_field_has_it_or_by_its_root(
    read, write, conversation, node
):
    def given(**more):
        return conversation(node("root", None), node("u", "root", "user", "Hi"), current="u", **more)

    path = write([given(conversation_id=None, id="by-id"), given(conversation_id=None)])
    assert [s.external_id for s in read(path)] == ["by-id", "root"]


def test_a_null_time_is_its_parents_and_marked(read, write, conversation, node):
    path = write(
        [conversation(node("u", None, "user", "Hi"), node("a", "u", "assistant", "Ho", at=None), current="a")]
    )
    ((user, reply),) = [s.messages for s in read(path)]
    assert (reply.sent_at, reply.sent_at_inferred) == (user.sent_at, True)
    assert not user.sent_at_inferred


def test_the_current_node_decides_even_if_another_version_is_later(read, write, exports, seen):
    export = exports["chatgpt"]()
    export[0]["current_node"] = "a1"
    export[0]["mapping"]["a2"]["message"]["create_time"] = MARCH + 9
    session = read(write(export))[0]
    assert session.leaf == "a1"
    assert [key for key, _ in seen(session)] == ["u1", "a1", "a2", "u2"]


def test_an_unknown_current_node_stands_for_the_latest_leaf(read, write, conversation, node, seen):
    path = write(
        [
            conversation(
                node("u", None, "user", "Hi"),
                node("late", "u", "assistant", "late", at=MARCH + 9),
                node("early", "u", "assistant", "early", at=MARCH + 1),
                current="gone",
            )
        ]
    )
    (session,) = read(path)
    assert session.leaf == "late"
    assert seen(session)[1][0] == "late"


def test_a_missing_parent_is_found_by_the_child_links(read, write, conversation, node, seen):
    lost = node("a", None, "assistant", "Ho")
    del lost["parent"]
    first = {**node("u", None, "user", "Hi"), "children": ["a"]}
    (session,) = read(write([conversation(first, lost, current="a")]))
    assert seen(session) == [("u", ""), ("a", "u")]


@pytest.mark.parametrize("parent", ["nowhere", "b", "a"])
def test_dangling_and_circling_parents_lose_no_message_and_are_counted(
    read, write, conversation, node, skipped, parent
):
    path = write(
        [
            conversation(
                node("a", parent, "user", "one"),
                node("b", "a", "assistant", "two"),
                node("c", "b", "user", "three"),
                current="c",
            )
        ]
    )
    (session,) = read(path)
    assert [m.text for m in session.messages] == ["one", "two", "three"]
    assert skipped == {"parent that is not there or leads in a circle (the message was kept)": 1}


def test_what_follows_a_message_that_was_passed_over_follows_the_one_before_it(
    read, write, conversation, node, seen, skipped
):
    path = write(
        [
            conversation(
                node("s", None, "system", ""),
                node("u", "s", "user", "Plot it"),
                node("call", "u", "assistant", {"content_type": "code", "text": "x=1"}, recipient="python"),
                node("a", "call", "assistant", "Done"),
                current="a",
            )
        ]
    )
    (session,) = read(path)
    assert seen(session) == [("u", ""), ("a", "u")]
    assert skipped == {"system message": 1, "message to a tool": 1}


@pytest.mark.parametrize(
    ("more", "content", "reason"),
    [
        ({"weight": 0}, "hidden", "hidden message"),
        ({"weight": 0.0}, "hidden", "hidden message"),
        ({"metadata": {"is_visually_hidden_from_conversation": True}}, "hidden", "hidden message"),
        ({"recipient": "browser"}, "search(x)", "message to a tool"),
        ({}, {"content_type": "thoughts", "thoughts": [{"content": "hm"}]}, "reasoning"),
        ({}, {"content_type": "reasoning_recap", "content": "4 s"}, "reasoning"),
        ({}, {"content_type": "user_editable_context", "user_profile": "p"}, "custom instructions"),
        ({}, "", "message without text"),
        ({}, None, "message without text"),
        ({"author": {"role": "narrator"}}, "x", "message of an unknown role"),
    ],
)
def test_what_was_not_said_is_counted_by_reason(
    read, write, conversation, node, skipped, more, content, reason
):
    odd = node("odd", "u", "assistant", content, **more)
    (session,) = read(write([conversation(node("u", None, "user", "Hi"), odd, current="odd")]))
    assert [m.text for m in session.messages] == ["Hi"]
    assert skipped == {reason: 1}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"content_type": "text", "parts": ["a", None, "b"]}, "a\nb"),
        ({"content_type": "code", "language": "python", "text": "x = 1"}, "```python\nx = 1\n```"),
        ({"content_type": "code", "language": "unknown", "text": "x"}, "```\nx\n```"),
        (
            {
                "content_type": "multimodal_text",
                "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file"}, "What is it?"],
            },
            "[image]\nWhat is it?",
        ),
        (
            {
                "content_type": "multimodal_text",
                "parts": [
                    {"content_type": "audio_transcription", "text": "Hello there"},
                    {"content_type": "audio_asset_pointer"},
                ],
            },
            "Hello there\n[audio]",
        ),
        ({"content_type": "hologram", "beam": 3}, "[hologram]"),
        ({"content_type": "tether_quote", "text": "quoted"}, "[tether_quote]\nquoted"),
    ],
)
def test_each_kind_of_content_becomes_text_and_what_is_none_keeps_its_place(
    read, write, conversation, node, content, text
):
    (session,) = read(write([conversation(node("u", None, "user", content), current="u")]))
    assert session.messages[0].text == text


def test_a_kind_that_nobody_knows_yet_is_counted(read, write, conversation, node, skipped):
    read(write([conversation(node("u", None, "user", {"content_type": "hologram"}), current="u")]))
    assert skipped == {"content of an unknown kind: hologram": 1}


def test_what_a_tool_put_out_is_kept_with_the_tool_as_its_speaker(read, write, conversation, node):
    output = {"content_type": "execution_output", "text": "42"}
    path = write(
        [
            conversation(
                node("u", None, "user", "Run"), node("t", "u", "tool", output, name="python"), current="t"
            )
        ]
    )
    message = read(path)[0].messages[1]
    assert (message.role, message.speaker, message.text) == (Role.ASSISTANT, "python", "42")


def test_names_of_attached_files_are_attachments(read, write, conversation, node):
    files = {"attachments": [{"name": "plan.pdf", "id": "f"}, {"name": None}, "odd"]}
    (session,) = read(write([conversation(node("u", None, "user", "", metadata=files), current="u")]))
    assert (session.messages[0].text, session.messages[0].attachments) == ("", "plan.pdf")


@pytest.mark.parametrize("mapping", [None, {}, {"r": {"message": None, "parent": None}}])
def test_a_conversation_without_messages_is_counted(read, write, conversation, node, skipped, mapping):
    full = conversation(node("u", None, "user", "Hi"), current="u")
    assert len(read(write([conversation(mapping=mapping), full]))) == 1
    assert skipped == {"conversation without messages": 1}


def test_a_time_that_cannot_be_read_is_counted_and_the_message_kept(read, write, conversation, node, skipped):
    path = write([conversation(node("u", None, "user", "Hi", at="soon"), current="u")])
    assert read(path)[0].messages[0].sent_at is None
    assert skipped == {"time that cannot be read (the neighbour's was taken)": 1}


@pytest.mark.parametrize("mapping", [[1], 7, {"u": 7}, {"u": {"message": 7}}, {"": {"message": None}}])
def test_a_conversation_of_another_structure_is_named_and_the_others_follow(
    read, write, conversation, node, mapping
):
    path = write([conversation(mapping=mapping), conversation(node("u", None, "user", "Hi"), current="u")])
    with pytest.raises(ImportFailed, match=r"record 1, |record 1: "):
        read(path)
