from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localmem.models import loadable
from localmem.models.errors import BadInput, ModelCrashed, ModelFileBad
from localmem.models.gguf import read_header
from localmem.models.loadable import check_loadable
from localmem.models.local import check_chat_file, inspect, ram

TOKENS = ["<s>", "</s>", "a", "b", "ab"]
VALUES: dict[str, Any] = {
    "general.architecture": "llama",
    "llama.context_length": 64,
    "llama.embedding_length": 32,
    "llama.block_count": 2,
    "llama.feed_forward_length": 32,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.token_type": [3, 3, 1, 1, 1],
    "tokenizer.ggml.merges": ["a b"],
    "tokenizer.chat_template": "{{ messages }}",
}
TENSORS = [("token_embd.weight", (32, 5), 8, 5 * 34), ("output_norm.weight", (32,), 0, 128)]
"""Name, shape, ggml's type, bytes."""


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def typed(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    if isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)


def header(
    values: dict[str, Any] = VALUES, tensors: Sequence[Any] = TENSORS, *, version: int = 3
) -> tuple[bytes, int]:
    """A GGUF's header, padded, and the bytes of its tensors."""
    data = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(values))
    data += b"".join(text(key) + typed(value) for key, value in values.items())
    offset = 0
    for name, shape, kind, size in tensors:
        data += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)
        offset += -(-size // 32) * 32
    return data + bytes(-len(data) % 32), offset


def write(path: Path, *arguments: Any, **options: Any) -> Path:
    data, tensors = header(*arguments, **options)
    path.write_bytes(data + bytes(tensors))
    return path


def changed(**values: Any) -> dict[str, Any]:
    """The values with some changed; None takes one out. ``__`` stands for a dot."""
    merged = VALUES | {key.replace("__", "."): value for key, value in values.items()}
    return {key: value for key, value in merged.items() if value is not None}


def test_a_header_says_what_the_model_is(tmp_path: Path) -> None:
    read = read_header(write(tmp_path / "m.gguf"))
    assert read.architecture == "llama"
    assert read.number("block_count") == 2
    assert read.values["tokenizer.chat_template"] == "{{ messages }}"
    assert read.values["tokenizer.ggml.tokens"] == len(TOKENS)
    assert read.values["tokenizer.ggml.token_type"] == [3, 3, 1, 1, 1]
    assert dict(read.tensors) == {"Q8_0": 1, "F32": 1}


def test_a_long_list_of_numbers_is_passed_by(tmp_path: Path) -> None:
    read = read_header(write(tmp_path / "m.gguf", changed(scores=[1] * 5000)))
    assert read.values["scores"] == 5000
    assert read.architecture == "llama"


def test_every_missing_byte_of_the_end_is_noticed(tmp_path: Path) -> None:
    data, _ = header()
    whole = data + bytes(5 * 34 + 22 + 128)  # the second tensor begins at a multiple of 32
    path = tmp_path / "m.gguf"
    path.write_bytes(whole)
    assert read_header(path).size == len(whole)
    path.write_bytes(whole[:-1])
    with pytest.raises(ModelFileBad, match=r"cut short: it has 1,151 of 1,152 bytes\. Get the file again"):
        read_header(path)


def test_a_header_that_ends_anywhere_is_refused(tmp_path: Path) -> None:
    data, _ = header()
    path = tmp_path / "m.gguf"
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(ModelFileBad):
            read_header(path)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is not a GGUF"),
        (b"GG", "is not a GGUF"),
        (b"<html>not found</html>", "is not a GGUF"),
        (b"GGUF" + struct.pack("<I", 1) + bytes(20), "GGUF version 1"),
        (b"GGUF" + struct.pack("<I", 9) + bytes(20), "GGUF version 9"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(20), "another kind of processor"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**63, 1), "9,223,372,036,854,775,808 tensors"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**40), "1,099,511,627,776 keys"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**62), "a text of"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", 9, 8, 2**60), "texts"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", 9, 4, 2**60), "ends in"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", 9, 9, 1), "list of type 9"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<I", 99), "value of type 99"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + (text("k") + typed(1)) * 2, "there twice"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("general.alignment") + typed(3), "alignment of 3"),
        (header(tensors=[("t", (1, 1, 1, 1, 1), 0, 4)])[0], "5 dimensions"),
        (header(tensors=[("t", (33,), 8, 34)])[0], "rows of 33 in Q8_0"),
        (header(tensors=[("t", (32,), 4, 34)])[0], "quantisation that is not known"),
        (header(tensors=[("t", (32,), 0, 128)] * 2)[0], "there twice"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    with pytest.raises(ModelFileBad, match=says):
        read_header(path)


def test_a_large_hollow_file_is_refused_without_reading_it_all(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    lists = (text(str(i)) + struct.pack("<IIQ", 9, 4, 2_000_000) + bytes(8_000_000) for i in range(5))
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 5) + b"".join(lists))
    os.truncate(path, 8_000_000_000)
    with pytest.raises(ModelFileBad, match="ends in the middle"):
        read_header(path)


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), min_size=1, max_size=8))
def test_a_header_with_changed_bytes_is_read_or_refused(
    tmp_path: Path, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(header()[0])
    for position, byte in changes:
        data[position % len(data)] = byte
    path = tmp_path / "m.gguf"
    path.write_bytes(bytes(data) + bytes(512))
    try:
        read = inspect(path)
        assert ram(read, 8192) >= 0
    except (ModelFileBad, BadInput):
        pass


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tail=st.binary(max_size=400))
def test_anything_after_the_magic_is_read_or_refused(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF\3\0\0\0" + tail)
    with contextlib.suppress(ModelFileBad):
        read_header(path)


def test_a_whole_chat_model_is_taken(tmp_path: Path) -> None:
    check_chat_file(write(tmp_path / "m.gguf"))


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="There is no file"):
        check_chat_file(tmp_path / "m.gguf")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (changed(tokenizer__chat_template=None), "no chat template"),
        (changed(general__architecture="nomic-bert"), "does not chat"),
        (changed(llama__pooling_type=3), "does not chat"),
        (changed(general__type="adapter"), r"part of one \(adapter\)"),
        (changed(general__type="mmproj", general__architecture="clip"), r"part of one \(mmproj\)"),
    ],
)
def test_a_model_that_cannot_chat_is_refused(tmp_path: Path, values: dict[str, Any], says: str) -> None:
    with pytest.raises(ModelFileBad, match=says):
        inspect(write(tmp_path / "m.gguf", values))


def test_a_vocabulary_alone_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelFileBad, match="no weights"):
        inspect(write(tmp_path / "m.gguf", VALUES, []))


def test_a_part_of_a_split_model_says_how_to_join_the_parts(tmp_path: Path) -> None:
    for path, values in [
        (tmp_path / "big-00001-of-00003.gguf", VALUES),
        (tmp_path / "renamed.gguf", changed(split__count=3)),
    ]:
        with pytest.raises(BadInput, match=r"one of 3 parts.*llama-gguf-split --merge"):
            inspect(write(path, values))


def test_an_architecture_that_llama_cpp_does_not_know_is_refused_in_its_words(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", changed(general__architecture="llama9000"))
    with pytest.raises(ModelFileBad, match=r"m\.gguf: unknown model architecture: 'llama9000'"):
        check_loadable(path)


@pytest.mark.parametrize(
    ("code", "error", "says"),
    [
        ("import os; os.abort()", ModelFileBad, "dies of"),
        ("raise ImportError('no llama here')", ModelCrashed, "(?s)localmem doctor.*no llama here"),
        ("import time; time.sleep(60)", ModelFileBad, "did not open"),
    ],
)
def test_a_child_that_fails_is_a_typed_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, error: type[Exception], says: str
) -> None:
    child = tmp_path / "child"
    child.write_text(f'#!/bin/sh\nexec {loadable.sys.executable} -c "{code}"\n')
    child.chmod(0o755)
    monkeypatch.setattr(loadable.sys, "executable", str(child))
    monkeypatch.setattr(loadable, "_SECONDS", 1.0)
    with pytest.raises(error, match=says):
        check_loadable(tmp_path / "m.gguf")


def test_memory_of_a_local_file_counts_weights_window_and_vocabulary(tmp_path: Path) -> None:
    read = inspect(write(tmp_path / "m.gguf"))
    a_token = 2 * 2 * (8 + 8) * 2  # layers, heads, key and value of 8, bytes
    assert ram(read, 10) == read.size + 10 * a_token + 512 * len(TOKENS) * 4 + 100_000_000
    assert ram(read, 8192) == ram(read, 64), "the model's own window is smaller"


def test_layers_that_keep_nothing_take_no_memory(tmp_path: Path) -> None:
    some = inspect(write(tmp_path / "m.gguf", changed(llama__attention__head_count_kv=[0, 2])))
    every = inspect(write(tmp_path / "n.gguf"))
    assert ram(every, 10) - every.size - (ram(some, 10) - some.size) == 10 * 2 * (8 + 8) * 2


@pytest.mark.real_model
def test_the_memory_of_a_catalogue_model_is_what_its_file_says(models_home: Path) -> None:
    from localmem.models.catalog import find

    entry = find("smollm2-135m")
    read = inspect(models_home / "models" / entry.name / entry.weights.name)
    assert read.size == entry.size
    assert abs(ram(read, 8192) - entry.ram(8192)) < 1_000_000
