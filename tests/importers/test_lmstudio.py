"""LM Studio's conversation files: versions of a message are branches, ids come from what was said."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from localmem.errors import ImportFailed


def texts(session):
    return [message.text for message in session.messages]


def test_the_selected_versions_are_the_path_and_the_others_branches(read, write, exports, skipped):
    (session,) = read(write(exports["lmstudio"]()))
    assert (session.source, session.title) == ("lmstudio", "Sums")
    assert session.started_at == datetime(2026, 3, 1, 9, 30, 0, 500000, tzinfo=UTC)
    assert texts(session) == ["2 + 2?", "Four.", "Good", "Five."]
    question, four, good, five = session.messages
    assert four.parent == five.parent == question.external_id
    assert good.parent == four.external_id
    assert session.leaf == good.external_id
    assert skipped == {"reasoning": 1}


def test_a_chat_that_went_on_keeps_its_id_and_those_of_its_messages(read, write, exports):
    export = exports["lmstudio"]()
    (before,) = read(write(export))
    export["name"] = "Renamed"
    export["messages"].append(export["messages"][0])
    (after,) = read(write(export))
    assert before.external_id == after.external_id
    old, new = ({m.external_id for m in s.messages} for s in (before, after))
    assert old < new
    assert len(new) == 5


def test_an_edited_message_is_another_one_so_that_it_is_not_lost(read, write, exports):
    export = exports["lmstudio"]()
    (before,) = read(write(export))
    export["messages"][2]["versions"][0]["content"][0]["text"] = "Great"
    (after,) = read(write(export))
    assert len({m.external_id for m in (*before.messages, *after.messages)}) == 5


@pytest.mark.parametrize("selected", [None, -1, 9, "1"])
def test_an_odd_selection_stands_for_the_last_version(read, write, exports, selected):
    export = exports["lmstudio"]()
    export["messages"][1]["currentlySelected"] = selected
    assert texts(read(write(export))[0])[1] == "Four."


def test_blocks_that_are_no_text_are_counted_and_files_named(read, write, exports, skipped):
    export = exports["lmstudio"]()
    content = export["messages"][0]["versions"][0]["content"]
    content += [{"type": "file", "fileIdentifier": "a.pdf"}, {"type": "hologram"}]
    assert read(write(export))[0].messages[0].attachments == "a.pdf"
    assert skipped == {"reasoning": 1, "hologram block": 1}


def test_two_chats_made_in_the_same_moment_are_two(read, write, exports):
    one, other = exports["lmstudio"](), exports["lmstudio"]()
    other["messages"][0]["versions"][0]["content"][0]["text"] = "Another chat"
    assert read(write(one))[0].external_id != read(write(other))[0].external_id


@pytest.mark.parametrize("broken", [[7], [{"versions": 7}], [{"versions": [7]}]])
def test_another_structure_is_named_with_its_place(read, write, exports, broken):
    export = exports["lmstudio"]()
    export["messages"] += broken
    with pytest.raises(ImportFailed, match="record 1, message 4"):
        read(write(export))
