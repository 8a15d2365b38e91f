"""Imports into a memory: conversation by conversation, never a half one, never twice."""

from __future__ import annotations

import json
import re

import pytest

from localmem.errors import BadInput
from localmem.importers.run import import_files
from localmem.types import NewMessage, NewSession, Role


@pytest.fixture
def take_in(memory):
    def import_all(*paths, format="auto", dry=False):
        return import_files(paths, format, None if dry else memory.add)

    return import_all


def line(text, session="a", **more):
    return json.dumps({"session": session, "role": "user", "text": text, **more}) + "\n"


def stored(memory):
    return {(s.source, s.external_id): [m.text for m in memory.messages(s.id)] for s in memory.sessions()}


@pytest.mark.parametrize("name", ["chatgpt", "claude", "openwebui", "lmstudio", "letta"])
def test_an_export_is_taken_in_once_and_its_path_reads_in_order(memory, take_in, write, exports, name):
    path = write(exports[name]())
    first = take_in(path)
    assert (first.failures, first.new_messages) == ([], first.messages)
    assert take_in(path).new_messages == 0
    for session in memory.sessions():
        kept = memory.whole(session.id)
        path = [m.external_id for m in memory.path(session.id)]
        assert path == [m.external_id for m in kept.messages][: len(path)]
        assert path[-1] == (kept.leaf or kept.messages[-1].external_id)


def test_every_version_is_found_and_the_path_has_the_one_that_was_kept_to(memory, take_in, write, exports):
    take_in(write(exports["chatgpt"]()))
    memory.wait_embedded()
    (session,) = [s for s in memory.sessions() if s.external_id == "c1"]
    assert [m.text for m in memory.path(session.id)] == ["Where is Oslo?", "In Norway.", "Thanks"]
    assert "In Sweden." in [hit.message.text for hit in memory.search("Sweden")]


def test_a_conversation_that_was_edited_since_goes_on_from_its_new_version(
    memory, take_in, write, exports, node
):
    export = exports["chatgpt"]()
    take_in(write(export))
    nodes = [node("u3", "a1", "user", "Are you sure?"), node("a3", "u3", "assistant", "No.")]
    export[0]["mapping"] |= {one["id"]: one for one in nodes}
    export[0]["current_node"] = "a3"
    assert take_in(write(export)).new_messages == 2
    (session,) = [s for s in memory.sessions() if s.external_id == "c1"]
    texts = [m.text for m in memory.path(session.id)]
    assert texts == ["Where is Oslo?", "In Sweden.", "Are you sure?", "No."]
    assert session.messages == 6


def test_what_was_said_here_since_is_not_lost_when_the_export_is_taken_in_again(
    memory, take_in, write, exports
):
    path = write(exports["chatgpt"]())
    take_in(path)
    (session,) = [s for s in memory.sessions() if s.external_id == "c2"]
    kept = memory.whole(session.id)
    added = NewMessage(Role.USER, "said here", external_id="here", parent="x")
    memory.add(NewSession(kept.source, kept.external_id, (added,), leaf="here"))
    take_in(path)
    assert [m.text for m in memory.path(session.id)] == ["Hello", "said here"]


def test_a_record_that_cannot_be_read_is_named_and_the_others_are_taken_in(memory, take_in, write, exports):
    first, second = exports["chatgpt"]()
    report = take_in(
        write([first, {**first, "mapping": 7}, {**second, "mapping": {"u": {"message": 7}}}, second])
    )
    assert sorted(key for _, key in stored(memory)) == ["c1", "c2"]
    assert [f.split(": ")[0][-9:] for f in report.failures[:1]] == [", mapping"]
    assert "record 2, mapping" in report.failures[0]
    assert "record 3, message 'u'" in report.failures[1]


def test_of_a_file_that_is_cut_short_the_whole_conversations_are_kept_and_a_second_run_goes_on(
    memory, take_in, write, exports
):
    export = [{**exports["chatgpt"]()[0], "conversation_id": str(number)} for number in range(5)]
    whole = json.dumps(export)
    path = write(whole[: int(len(whole) * 0.7)])
    report = take_in(path)
    assert "record 4: not correct JSON, or cut short" in report.failures[0]
    assert {len(texts) for texts in stored(memory).values()} == {4}
    assert report.new_messages == 12
    path.write_text(whole)
    assert take_in(path).new_messages == 8


def test_of_a_benchmark_no_conversation_is_taken_in_by_half(memory, take_in, write, locomo):
    locomo[0]["conversation"]["session_10"][0]["text"] = 5
    report = take_in(write(locomo))
    assert {source for source, _ in stored(memory)} == {"conv-2"}
    assert len(report.failures) == 1


def test_stopping_in_the_middle_leaves_whole_conversations_that_are_found(memory, write, exports):
    export = [{**exports["chatgpt"]()[0], "conversation_id": str(number)} for number in range(5)]

    def interrupted(session):
        if session.external_id == "3":
            raise KeyboardInterrupt
        return memory.add(session)

    with pytest.raises(KeyboardInterrupt):
        import_files([write(export)], "auto", interrupted)
    assert {len(texts) for texts in stored(memory).values()} == {4}
    found = [hit.message.text for hit in memory.search("Norway", 20)]
    assert found.count("In Norway.") == 3


def test_two_files_of_one_name_are_two_sources_and_nothing_is_lost(memory, take_in, write, tmp_path):
    for folder, text in (("one", "first"), ("two", "second")):
        (tmp_path / folder).mkdir()
        write(line(text) + line(f"{text} again"), name=f"{folder}/chats.jsonl")
    both = [tmp_path / "one" / "chats.jsonl", tmp_path / "two" / "chats.jsonl"]
    report = take_in(*both)
    assert (len(report.conversations), report.new_messages) == (2, 4)
    expected = {("chats", "a"): ["first", "first again"], ("chats#2", "a"): ["second", "second again"]}
    assert stored(memory) == expected
    assert take_in(*reversed(both)).new_messages == 0
    both[1].write_text(both[1].read_text() + line("grown"))
    assert take_in(*both).new_messages == 1
    assert stored(memory)["chats#2", "a"][-1] == "grown"


def test_a_file_that_was_moved_is_the_same_source(memory, take_in, write, tmp_path):
    path = write(line("first"), name="chats.jsonl")
    take_in(path)
    (tmp_path / "elsewhere").mkdir()
    assert take_in(path.rename(tmp_path / "elsewhere" / "chats.jsonl")).new_messages == 0


def test_a_source_that_lines_name_is_theirs_whatever_the_file(memory, take_in, write):
    take_in(write(line("one", source="s", id="x"), name="a"))
    assert take_in(write(line("one", source="s", id="x"), name="b")).new_messages == 0


def test_a_dry_run_tells_what_is_there_and_stores_nothing(memory, take_in, write, exports):
    report = take_in(write(exports["chatgpt"]()), dry=True)
    assert (len(report.conversations), report.messages, report.branches) == (2, 5, 1)
    assert report.first.isoformat() == report.last.isoformat() == "2026-03-01T09:30:00.500000+00:00"
    assert memory.sessions() == []


def test_naive_and_zoned_times_are_compared_in_a_report(take_in, write):
    path = write(line("a", at="2026-03-01T10:00") + line("b", at="2026-03-02T10:00+02:00"))
    report = take_in(path, dry=True)
    assert (report.first.day, report.last.day) == (1, 2)


def test_of_a_folder_files_of_no_known_format_are_counted_and_named(take_in, write, tmp_path):
    folder = tmp_path / "exports"
    folder.mkdir()
    write(line("hi"), name="exports/a")
    write("just a note", name="exports/b")
    write('[{"posts": 1}]', name="exports/c")
    report = take_in(folder)
    assert (report.failures, report.new_messages) == ([], 1)
    assert report.skipped == {"file of no known format": 2}
    assert report.unknown == [str(folder / "b"), str(folder / "c")]


def test_nothing_taken_in_is_never_a_success(take_in, write, tmp_path):
    assert "no known format" in take_in(write("just a note")).failures[0]
    assert "nothing was taken in" in take_in(tmp_path).failures[0]
    assert "there is no message in it" in take_in(write([{"mapping": {}}])).failures[0]


def test_progress_tells_the_bytes_read_up_to_all_of_them(memory, write, exports):
    export = [{**exports["chatgpt"]()[1], "conversation_id": str(number)} for number in range(2000)]
    path = write(export)
    moved = []
    import_files([path], "auto", None, lambda report: moved.append(report.bytes_read))
    assert moved == sorted(moved)
    assert len(set(moved)) > 3
    assert moved[-1] == path.stat().st_size


def test_an_unknown_format_is_refused_before_anything_is_read(take_in, tmp_path):
    with pytest.raises(BadInput, match="There is no format 'docx'"):
        take_in(tmp_path / "missing", format="docx")


HOSTILE = {
    "lone surrogate": "a\ud83d",
    "NUL": "a\0b",
    "one megabyte": "word " * 200_000,
    "right to left": "\u202eabc",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_comes_out_as_it_went_in(memory, take_in, write, conversation, node, text):
    report = take_in(write([conversation(node("u", None, "user", text), current="u", title=text[:200])]))
    assert report.failures == []
    (session,) = memory.sessions()
    assert (session.title, memory.messages(session.id)[0].text) == (text[:200], text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"mapping": ' + "[" * 200 + "]" * 200 + "}]", "record 1: .*nested too deeply"),
        ('[{"mapping": {"u": {"message": "' + "x" * (140 << 20), "record 1: .*more than 64 MB"),
        ('[{"mapping": {"\\ud83d": {"message": null}}}]', "record 1: .*must be a name"),
        ('[{"title": "a", "mapping": {"u": {"id": "u', "record 1: .*cut short"),
    ],
    ids=["deep", "one text of 140 MB", "an id that UTF-8 cannot hold", "cut"],
)
def test_what_cannot_be_read_is_named_with_file_and_record(memory, take_in, write, content, message):
    path = write(content)
    (failure,) = take_in(path).failures
    assert failure.startswith(str(path))
    assert re.search(message, failure)
    assert memory.sessions() == []
