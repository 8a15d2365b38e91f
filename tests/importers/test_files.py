"""What holds for every format: detection, folders, broken files, and text that stays as it is."""

from __future__ import annotations

import codecs
import json
import os
from collections import Counter

import pytest

from localmem.errors import BadInput, ImportFailed
from localmem.importers import FORMATS, detect, expand
from localmem.importers.json_stream import records


def jsonl(text="hi"):
    return json.dumps({"session": "a", "role": "user", "text": text}) + "\n"


ODD_TEXTS = {
    "lone high surrogate": "a\ud83d",
    "lone surrogates apart": "\ud83dx\ude00",
    "surrogates in the wrong order": "\ude00\ud83d",
    "NUL": "a\0b",
    "emoji with joiners": "👩‍👩‍👧🏽",
    "right to left": "שלום \u202babc\u202c",
    "line separators": "a\u2028b\u0085c\r\nd",
    "replacement mark": "what? \ufffd",
    "byte-order mark inside": "\ufeffa",
    "empty": "",
    "one megabyte": "é\n" * 500_000,
}


@pytest.fixture(params=["locomo", "longmemeval", "jsonl"])
def file_with(request, locomo, longmemeval, write):
    """A function from a message text to a file of each format that holds it as its first message."""

    def make(text, ascii_only=True):
        locomo[0]["conversation"]["session_1"][0]["text"] = text
        longmemeval[0]["haystack_sessions"][0][0]["content"] = text
        content = {"locomo": locomo, "longmemeval": longmemeval}
        if request.param == "jsonl":
            return write(jsonl(text))
        return write(json.dumps(content[request.param], ensure_ascii=ascii_only, indent=1))

    make.format = request.param
    return make


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_text_is_kept_unchanged(read, file_with, text):
    assert read(file_with(text))[0].messages[0].text == text


def test_characters_that_straddle_two_blocks_are_kept(read, file_with):
    text = "x" + "😀" * 600_000
    assert read(file_with(text, ascii_only=False))[0].messages[0].text == text


def test_the_format_is_told_by_structure_whatever_the_name(file_with):
    assert detect(file_with("hi")).name == file_with.format


def test_a_byte_order_mark_at_the_start_is_no_part_of_the_data(read, write, file_with):
    path = file_with("hi")
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    assert detect(path).name == file_with.format
    assert read(path)[0].messages[0].text == "hi"


def test_a_file_that_is_cut_short_is_refused_with_its_place(read, file_with):
    path = file_with("hi")
    whole = path.read_bytes()
    path.write_bytes(whole + whole.rstrip()[:-1] if file_with.format == "jsonl" else whole[:-1])
    with pytest.raises(ImportFailed, match=r"(record \d|line 2): not correct JSON, or cut short"):
        read(path)


def test_bytes_that_are_no_utf8_are_refused_with_their_place(read, file_with):
    path = file_with("hi" * 40)
    path.write_bytes(path.read_bytes().replace(b"hihi", b"hi\xffi", 1))
    place = "line 1" if file_with.format == "jsonl" else f"byte {path.read_bytes().index(0xFF)}"
    with pytest.raises(ImportFailed, match=f"{place}: not UTF-8.*save it as UTF-8"):
        read(path, file_with.format)


def test_the_place_of_a_bad_byte_counts_from_the_start_of_the_file_and_not_of_the_block(read, file_with):
    path = file_with("é" * 700_000, ascii_only=False)
    if file_with.format == "jsonl":
        return
    whole = path.read_bytes()
    at = whole.rindex("é".encode()) + 1
    path.write_bytes(whole[:at] + whole[at + 1 :])
    with pytest.raises(ImportFailed, match=f"byte {at - 1}: not UTF-8"):
        read(path, file_with.format)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("content", ["", "[]", "{}", "[{}]", "7", "null", '"text"', "[[", '{"a": [', "\n\n"])
def test_a_file_without_a_message_is_an_error_in_every_format(read, write, name, content):
    path = write(content)
    with pytest.raises(ImportFailed, match="export"):
        read(path, name)
    with pytest.raises(ImportFailed, match="export"):
        read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"item": {"sample_id": "a"}}', "a JSON array of records was expected"),
        ('"[]"', "a JSON array of records was expected"),
        ("", "record 1: not correct JSON, or cut short"),
        ("[7]", "record 1: an object was expected, found 7"),
        (" [ ] ", "the JSON array is empty"),
        ("[] []", "record 1: not correct JSON"),
    ],
)
def test_a_top_level_that_is_no_filled_array_is_called_what_it_is(write, content, message):
    with pytest.raises(ImportFailed, match=message):
        list(records(write(content)))


@pytest.mark.parametrize("wrap", [lambda r: r[0], lambda r: {"item": r[0]}, lambda r: [r], lambda r: [7, *r]])
def test_records_in_another_place_than_the_top_level_array_are_no_known_format(write, locomo, wrap):
    with pytest.raises(ImportFailed, match="no known format"):
        detect(write(wrap(locomo)))


def test_a_file_of_open_brackets_is_refused_at_once(read, write):
    path = write("[" * 2_000_000)
    with pytest.raises(ImportFailed, match="no known format"):
        read(path)
    with pytest.raises(ImportFailed, match=r"record 1: not correct JSON.*nested too deeply"):
        read(path, "locomo")


def test_an_unknown_format_is_refused_with_all_that_was_looked_for(write):
    with pytest.raises(ImportFailed, match="no known format") as caught:
        detect(write('[{"title": "x", "posts": {"a": 1}}]', name="locomo.jsonl"))
    assert "It looks like a JSON array of objects with 'posts', 'title'." in str(caught.value)
    assert all(f"{name}: {importer.looks_for}" in str(caught.value) for name, importer in FORMATS.items())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        ("é".encode("utf-16"), "byte 0: not UTF-8"),
        (b"abc\xff", "byte 3: not UTF-8"),
    ],
)
def test_an_empty_file_or_another_encoding_is_called_what_it_is(write, content, message):
    with pytest.raises(ImportFailed, match=message):
        detect(write(content))


def test_a_format_that_does_not_exist_is_refused_before_the_file_is_opened(read, tmp_path):
    with pytest.raises(BadInput, match=r"Formats: auto, chatgpt, .*, jsonl, markdown"):
        read(tmp_path / "missing", "docx")


def test_a_missing_file_is_an_import_error(read, tmp_path):
    with pytest.raises(ImportFailed, match="missing: cannot be read: No such file"):
        read(tmp_path / "missing", "jsonl")


def test_a_file_of_system_lines_alone_is_not_a_success(read, write, skipped):
    with pytest.raises(ImportFailed, match="no message in it"):
        read(write(json.dumps({"session": "a", "role": "system", "text": "Be kind."})))
    assert skipped == {"system message": 1}


def test_records_are_read_one_by_one(write, longmemeval):
    """The first record comes out although the file breaks after it."""
    broken = json.dumps(longmemeval)[:-40]
    first = next(FORMATS["longmemeval"].read(write(broken), Counter()))
    assert {session.source for session in first} == {"q1_abs"}


def test_a_folder_stands_for_all_files_below_it_in_order_and_hides_none(tmp_path):
    for name in ("b.txt", "a/z.json", "a/b/c", ".hidden"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = [path.relative_to(tmp_path).as_posix() for path in expand([tmp_path])]
    assert found == [".hidden", "a/b/c", "a/z.json", "b.txt"]


def test_files_keep_the_order_in_which_they_were_given_and_come_once(tmp_path):
    second, first = tmp_path / "b", tmp_path / "a"
    for path in (first, second):
        path.write_text("x")
    assert expand([second, tmp_path, second]) == [second, first]


def test_a_path_that_does_not_exist_and_an_empty_folder_are_errors(tmp_path):
    with pytest.raises(ImportFailed, match="no such file or folder"):
        expand([tmp_path / "missing"])
    with pytest.raises(ImportFailed, match="no file in this folder"):
        expand([tmp_path])


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may open every folder")
def test_a_folder_that_may_not_be_opened_is_an_error(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    try:
        with pytest.raises(ImportFailed, match="closed: cannot be read: Permission denied"):
            expand([tmp_path])
    finally:
        closed.chmod(0o700)
