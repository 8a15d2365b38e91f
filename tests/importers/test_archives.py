"""Zip archives: exports are read out of them; one that was made to do harm is refused whole."""

from __future__ import annotations

import io
import json
import sqlite3
import stat
import struct
import zipfile

import pytest

from localmem.errors import ImportFailed
from localmem.importers import archive
from localmem.importers.inputs import Inputs
from localmem.importers.run import import_files


@pytest.fixture
def make_zip(tmp_path):
    def make(members, name="export.bin", compression=zipfile.ZIP_DEFLATED):
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", compression) as file:
            for member, content in members.items():
                file.writestr(member, content)
        return path

    return make


def import_all(*paths):
    stored = []

    def store(session):
        stored.append(session)
        return [1] * len(session.messages)

    return import_files(paths, "auto", store), stored


def test_shards_in_folders_are_read_and_files_beside_them_counted(make_zip, exports):
    first, second = exports["chatgpt"]()
    path = make_zip(
        {
            "export/conversations-001.json": json.dumps([second]),
            "export/conversations-000.json": json.dumps([first]),
            "export/user.json": '{"email": "x"}',
            "export/chat.html": "<html></html>",
            "export/images/": "",
            "export/images/a.png": b"\x89PNG\r\n\x1a\n\0\0",
        }
    )
    report, stored = import_all(path)
    assert [s.external_id for s in stored] == ["c1", "c2"]
    assert report.failures == []
    assert report.skipped == {"file of no known format": 3}
    assert f"{path}: export/user.json" in report.unknown


def test_jsonl_whose_sessions_alternate_is_read_out_of_an_archive(make_zip):
    lines = [json.dumps({"session": s, "role": "user", "text": f"{s}{n}"}) for n in range(3) for s in "ab"]
    _, stored = import_all(make_zip({"x": "\n".join(lines)}))
    assert [[m.text for m in s.messages] for s in stored] == [["a0", "a1", "a2"], ["b0", "b1", "b2"]]


def test_a_database_is_read_out_of_an_archive_though_it_used_a_log(make_zip, tmp_path):
    connection = sqlite3.connect(tmp_path / "logs.db")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(
        "CREATE TABLE conversations (id TEXT, name TEXT);"
        "CREATE TABLE responses (id TEXT, prompt TEXT, system TEXT, response TEXT, conversation_id TEXT,"
        " datetime_utc TEXT);"
        "INSERT INTO responses VALUES ('r', 'Hi', NULL, 'Ho', NULL, NULL)"
    )
    connection.close()
    _, stored = import_all(make_zip({"logs.db": (tmp_path / "logs.db").read_bytes()}))
    assert [m.text for m in stored[0].messages] == ["Hi", "Ho"]


def test_an_archive_in_an_archive_is_not_opened(make_zip, exports):
    inner = make_zip({"conversations.json": json.dumps(exports["chatgpt"]())}, name="inner.zip")
    report, stored = import_all(make_zip({"inner.zip": inner.read_bytes()}))
    assert stored == []
    assert "nothing was taken in" in report.failures[0]


@pytest.mark.parametrize(
    "name",
    ["../conversations.json", "/etc/conversations.json", "a/../../b", "C:/x.json", "..\\x.json", "\\x"],
)
def test_a_name_that_leads_out_of_the_archive_is_refused(make_zip, name):
    with pytest.raises(ImportFailed, match="leads out of the archive"):
        Inputs([make_zip({"a.json": "[]", name: "[]"})])


def test_a_link_is_refused(make_zip):
    link = zipfile.ZipInfo("conversations.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(ImportFailed, match="is a link"):
        Inputs([make_zip({link: "/etc/passwd"})])


def test_an_encrypted_member_is_refused_with_the_way_out(make_zip):
    path = make_zip({"conversations.json": "[]"})
    raw = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = raw.index(signature) + offset
        raw[at : at + 2] = struct.pack("<H", 1)
    path.write_bytes(raw)
    with pytest.raises(ImportFailed, match=r"encrypted\. Unpack the archive and import the folder"):
        Inputs([path])


def test_a_member_that_unpacks_to_far_more_than_it_is_is_refused_unread(make_zip):
    with pytest.raises(ImportFailed, match="unpacks to 3000000 bytes, more than 400 times"):
        Inputs([make_zip({"conversations.json": b" " * 3_000_000})])


def test_a_chat_that_repeats_itself_is_no_bomb(make_zip, exports):
    export = [{**exports["chatgpt"]()[0], "conversation_id": str(number)} for number in range(1500)]
    report, _ = import_all(make_zip({"conversations.json": json.dumps(export)}))
    assert len(report.sessions) == 1500


def test_members_that_share_their_packed_bytes_are_refused_together(make_zip, monkeypatch):
    """As in the known archives of overlapping members: each alone would pass."""
    block = bytes(range(256)) * 8
    path = make_zip({f"{number:04}": block * 2 for number in range(3)})
    raw = path.read_bytes()
    directory = raw.index(b"PK\x01\x02")
    entries, end = raw[directory : raw.index(b"PK\x05\x06")], raw[raw.index(b"PK\x05\x06") :]
    one = entries[: len(entries) // 3]
    many = b"".join(one.replace(b"0000", f"{number:04}".encode()) for number in range(9999))
    tail = end[:8] + struct.pack("<HHII", 9999, 9999, len(many), directory) + end[20:]
    path.write_bytes(raw[:directory] + many + tail)
    monkeypatch.setattr(archive, "MOST_TIMES", 40)  # the directory itself takes room in so small a file
    with pytest.raises(ImportFailed, match=r"bin: unpacks to \d+ bytes from \d+\."):
        Inputs([path])


def test_the_bound_on_all_members_together_holds(make_zip, monkeypatch):
    monkeypatch.setattr(archive, "MOST_BYTES", 10)
    with pytest.raises(ImportFailed, match="unpacks to 12 bytes"):
        Inputs([make_zip({"a": "x" * 6, "b": "y" * 6})])


@pytest.mark.parametrize("cut", [10, -5, 300])
def test_an_archive_that_is_cut_short_is_refused(make_zip, exports, cut):
    path = make_zip({"conversations.json": json.dumps(exports["chatgpt"]())})
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ImportFailed, match="broken zip archive"):
        Inputs([path])


def test_damage_inside_a_member_is_named_and_what_came_before_is_kept(make_zip, exports):
    export = [{**exports["chatgpt"]()[1], "conversation_id": str(number)} for number in range(12_000)]
    path = make_zip({"conversations.json": json.dumps(export)}, compression=zipfile.ZIP_STORED)
    assert path.stat().st_size > 5 << 20  # more than is looked at to tell the format
    raw = bytearray(path.read_bytes())
    raw[-200_000] ^= 1
    path.write_bytes(raw)
    report, stored = import_all(path)
    assert any("conversations.json: cannot be read out of the archive: Bad CRC" in f for f in report.failures)
    assert len(stored) > 9000


def test_an_empty_archive_is_refused(tmp_path):
    path = tmp_path / "e.zip"
    buffer = io.BytesIO()
    zipfile.ZipFile(buffer, "w").close()
    path.write_bytes(buffer.getvalue())
    with pytest.raises(ImportFailed, match="no file in this archive"):
        Inputs([path])
