"""Exports damaged at random: an error that names the file, or messages; never a traceback, never a half."""

from __future__ import annotations

import copy
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localmem.errors import BadInput
from localmem.importers import FORMATS, detect, read_sessions
from localmem.importers.run import import_files
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        ["", "\ud83d", "a\0b", "u1", "m1", "root", "user", "nan", "inf", "9" * 30, "2026-13-01", "]"]
    ),
    st.text(max_size=5),
    st.sampled_from([[], {}, [[]], [None], {"": None}, {"type": "text", "text": 5}, ["a", {"a": []}]]),
)


def places(value, path=()):
    """The path of every value inside ``value``."""
    found = [path] if path else []
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        found += places(item, (*path, key))
    return found


def change(value, path, action, new):
    """Replace, remove, double or rename what is at ``path``."""
    *way, last = path
    for key in way:
        value = value[key]
    if action == "replace":
        value[last] = copy.deepcopy(new)
    elif action == "remove":
        del value[last]
    elif action == "double" and isinstance(value, list):
        value.insert(last, copy.deepcopy(value[last]))
    elif isinstance(value, dict):
        value[str(new)[:20]] = value.pop(last)


@st.composite
def damaged(draw, export):
    value = copy.deepcopy(export)
    for _ in range(draw(st.integers(1, 4))):
        candidates = places(value)
        if not candidates:
            break
        action = draw(st.sampled_from(["replace", "replace", "remove", "double", "rename"]))
        change(value, draw(st.sampled_from(candidates)), action, draw(VALUES))
    raw = json.dumps(value).encode()
    if draw(st.integers(0, 4)) == 0:
        at = draw(st.integers(0, len(raw)))
        raw = (
            raw[:at]
            + draw(st.sampled_from([b"", b"\xff", b'"', b"}", b"\0"]))
            + raw[at + draw(st.integers(0, 3)) :]
        )
        raw = raw[: draw(st.integers(0, len(raw)))] if draw(st.booleans()) else raw
    return raw


def jsonl_lines():
    more = {"source": "s", "title": "t", "tags": ["x"], "started": "2026-03-01", "leaf": "1"}
    line = {"session": "a", "role": "user", "text": "hi", "at": 5, "id": "1", "parent": "", "origin": "said"}
    return [{**line, **more}, {**line, "id": "2", "parent": "1"}, {**line, "session": "b"}]


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    with Memory(tmp_path_factory.mktemp("mutations") / "m.db", HashEmbedder()) as opened:
        yield opened


@pytest.mark.parametrize(
    "name", ["chatgpt", "claude", "openwebui", "lmstudio", "letta", "locomo", "longmemeval", "jsonl"]
)
def test_a_damaged_export_is_an_error_or_whole_conversations(
    name, memory, tmp_path, exports, locomo, longmemeval
):
    export = {"locomo": locomo, "longmemeval": longmemeval, "jsonl": jsonl_lines()}.get(name)
    export = exports[name]() if export is None else export
    path = tmp_path / "damaged"

    @settings(
        max_examples=150,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(damaged(export))
    def check(raw):
        if name == "jsonl" and raw[:1] == b"[":
            raw = raw[1:].rstrip(b"]").replace(b"}, {", b"}\n{")
        path.write_bytes(raw)
        before = {(s.source, s.external_id): s.messages for s in memory.sessions()}
        expected = read(path, name)
        report = import_files([path], name, memory.add)
        assert report.messages or report.failures
        assert all(str(path) in failure for failure in report.failures)
        for session in memory.sessions():
            key = (session.source, session.external_id)
            if session.messages != before.get(key, 0):
                kept = {m.external_id for m in memory.messages(session.id)}
                assert any(wanted <= kept for wanted in expected[session.external_id]), "a half one"

    check()


def read(path: Path, name: str):
    """External id -> ids of the messages of each session of that id that the file holds whole."""
    found = {}
    for conversation in _until_it_breaks(FORMATS[name].read(path, Counter())):
        if isinstance(conversation, BadInput):
            continue
        for session in conversation:
            found.setdefault(session.external_id, []).append({m.external_id for m in session.messages})
    return found


def _until_it_breaks(conversations):
    try:
        yield from conversations
    except BadInput:
        return


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=200) | st.text(alphabet='#*`~-: \nUserAssistant[]{}",', max_size=200).map(str.encode)
)
def test_any_bytes_are_an_error_or_messages(tmp_path_factory, raw):
    path = tmp_path_factory.getbasetemp() / "bytes"
    path.write_bytes(raw)
    for name in [*FORMATS, "auto"]:
        try:
            if name == "auto":
                detect(path)
            sessions = list(read_sessions(path, name, skipped=Counter()))
        except BadInput as error:
            sessions = [str(error)]
        assert sessions
        assert not isinstance(sessions[0], str) or str(path) in sessions[0]
