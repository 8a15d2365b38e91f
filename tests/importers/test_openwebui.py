"""Open WebUI's export: a tree in `history`, or the older flat list; folded blocks are taken out."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from localmem.errors import ImportFailed


def chat(*messages, **more):
    return [{"id": "w", "title": "t", "chat": {"messages": list(messages), **more}}]


def test_the_path_is_walked_up_and_the_other_reply_kept(read, write, exports, seen, skipped):
    (session,) = read(write(exports["openwebui"]()))
    assert (session.source, session.external_id, session.title) == ("openwebui", "w1", "Fruit")
    assert seen(session) == [("u1", ""), ("a2", "u1"), ("a1", "u1")]
    assert session.leaf == "a2"
    assert session.messages[1].text == "Pear"
    assert session.messages[0].sent_at == datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    assert skipped == {"reasoning": 1}


def test_the_older_flat_list_is_read_in_its_order(read, write, seen):
    path = write(chat({"id": "a", "role": "user", "content": "1"}, {"role": "assistant", "content": "2"}))
    (session,) = read(path)
    assert [m.text for m in session.messages] == ["1", "2"]
    assert seen(session)[1][1] == "a"
    assert seen(session) == seen(read(path)[0])


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('<details type="tool_calls" id="x">\nx\n</details>\n\nAnswer', "Answer"),
        ('A<details type="reasoning">x</details>B<details type="reasoning">y</details>C', "ABC"),
        ("<details><summary>More</summary>mine</details>", "<details><summary>More</summary>mine</details>"),
        ('<details type="reasoning">never closed', '<details type="reasoning">never closed'),
        ("a <details", "a <details"),
    ],
)
def test_reasoning_and_tool_calls_are_taken_out_and_nothing_else(read, write, content, text):
    assert read(write(chat({"role": "assistant", "content": content})))[0].messages[0].text == text


def test_many_blocks_that_are_never_closed_are_passed_in_no_time(read, write):
    content = '<details type="reasoning">' * 200_000
    assert read(write(chat({"role": "assistant", "content": content})))[0].messages[0].text == content


def test_content_in_parts_and_files_with_their_text(read, write):
    files = [
        {"type": "file", "file": {"filename": "a.txt", "data": {"content": "inside"}}},
        {"name": "b.png"},
    ]
    content = [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {}}]
    (message,) = read(write(chat({"role": "user", "content": content, "files": files})))[0].messages
    assert (message.text, message.attachments) == ("See", "a.txt\ninside\nb.png")


def test_what_was_not_said_is_counted(read, write, skipped):
    odd = [{"role": "system", "content": "s"}, {"role": "user", "content": ""}, {"role": "x", "content": "y"}]
    assert len(read(write(chat(*odd, {"role": "user", "content": "Hi"})))[0].messages) == 1
    assert skipped == {"system message": 1, "message without text": 1, "message of an unknown role": 1}


@pytest.mark.parametrize(
    "broken", [{"history": {"messages": [1]}}, {"history": 7}, {"history": {"messages": {"a": 1}}}]
)
def test_another_structure_is_named_with_its_place(read, write, broken):
    with pytest.raises(ImportFailed, match="record 1"):
        read(write(chat({"role": "user", "content": "x"}, **broken)))
