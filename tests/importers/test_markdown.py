"""Markdown transcripts: headings or bold names, code fences, and localmem's own export."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from localmem.errors import ImportFailed
from localmem.importers import detect
from localmem.layers import markdown
from localmem.types import Message, Origin, Role, Session

HEADINGS = """# A trip

Exported.

## User (2026-03-01 09:30)

Where?

```text
## Assistant
**User:** no label inside a fence
```

## Assistant

Oslo.

### Details

More.

## User
Thanks
"""
BOLD = "**User:** Where?\n\n**ChatGPT:**\nOslo.\n\n## User\nis a heading of the reply\n**You**: Thanks\n"


def said(session):
    return [(m.role.value, m.text) for m in session.messages]


def test_headings_with_the_names_of_the_sides_are_turns(read, write):
    path = write(HEADINGS, name="trip.txt")
    assert detect(path).name == "markdown"
    (session,) = read(path)
    assert (session.source, session.external_id, session.title) == ("markdown", "trip", "A trip")
    assert said(session) == [
        ("user", "Where?\n\n```text\n## Assistant\n**User:** no label inside a fence\n```"),
        ("assistant", "Oslo.\n\n### Details\n\nMore."),
        ("user", "Thanks"),
    ]
    assert session.messages[0].sent_at == datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    assert [m.external_id for m in session.messages] == ["0", "1", "2"]


def test_bold_names_are_turns_and_then_headings_are_text(read, write):
    assert said(read(write(BOLD))[0]) == [
        ("user", "Where?"),
        ("assistant", "Oslo.\n\n## User\nis a heading of the reply"),
        ("user", "Thanks"),
    ]


@pytest.mark.parametrize(
    "label", ["## 🧑 User", "# USER:", "#### You ##", "## Human [yesterday]", "**Me:**", "**User**:"]
)
def test_the_usual_ways_to_write_a_name_are_understood(read, write, label):
    other = "**AI:** Ho" if label.startswith("*") else "# GPT-4o\nHo"
    assert said(read(write(f"{label}\nHi\n{other}\n"))[0]) == [("user", "Hi"), ("assistant", "Ho")]


def test_windows_line_ends_and_a_system_turn(read, write, skipped):
    path = write("## System\r\nBe kind.\r\n## User\r\nHi\r\n## Assistant\r\nHo\r\n## User\r\n")
    assert said(read(path)[0]) == [("user", "Hi"), ("assistant", "Ho")]
    assert skipped == {"system message": 1, "message without text": 1}


@pytest.mark.parametrize(
    "text",
    ["# Readme\n\nHello.\n", "## User\nguide\n", "## Users\n## Assistants\n", "**User:** only one side"],
)
def test_a_document_in_which_no_two_sides_speak_is_no_transcript(write, text):
    with pytest.raises(ImportFailed, match="no known format"):
        detect(write(text))


def own_export():
    def message(number, role, text, speaker=""):
        time = datetime(2026, 3, 1, 9, number, tzinfo=UTC)
        place = (number, 1, number, number, role, speaker, text, time, False)
        return Message(*place, f"m{number}", "src", Origin.SAID, "")

    messages = [
        message(0, Role.USER, "Hi\n\n**user** [m7]\n# Title", "Ada [x]"),
        message(1, Role.ASSISTANT, "Ho"),
        message(2, Role.USER, "**assistant** [m9]"),
    ]
    session = Session(1, "s1", "src", "Chat", None, 3)
    head = markdown.front_matter(session, "raw", (), messages) + markdown.heading(session, "raw")
    return f"{head}\n{markdown.raw(messages)}"


def test_localmems_own_export_of_messages_comes_back_under_its_own_ids(read, write):
    path = write(own_export())
    assert detect(path).name == "markdown"
    (session,) = read(path)
    assert (session.source, session.external_id, session.title) == ("src", "s1", "Chat")
    assert [(m.external_id, m.speaker, m.role.value) for m in session.messages] == [
        ("m0", "Ada [x]", "user"),
        ("m1", "", "assistant"),
        ("m2", "", "user"),
    ]
    assert session.messages[0].text == "Hi\n\n**user** [m7]\n# Title"
    assert session.messages[1].sent_at == datetime(2026, 3, 1, 9, 1)


def test_localmems_export_of_a_derived_layer_is_no_history(write):
    with pytest.raises(ImportFailed, match="no known format"):
        detect(write(own_export().replace('layer: "raw"', 'layer: "facts"')))


def test_bytes_that_are_no_utf8_are_refused_with_their_place(read, write):
    with pytest.raises(ImportFailed, match="byte 9: not UTF-8"):
        read(write(b"## User\nH\xff\n## Assistant\nHo\n"))
