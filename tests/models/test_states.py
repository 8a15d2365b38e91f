from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from localmem.models.states import SavedStates, State, StateFiles, shared_length

A, B, C = list(range(100, 140)), list(range(200, 240)), list(range(300, 340))


def data(size: int, value: int = 7) -> State:
    return np.full(size, value, np.uint8)


def files(folder: Path, *, layout: str = "f16", most: int = 8, size: int = 1_000_000) -> StateFiles:
    return StateFiles(folder, layout, most=most, size=size)


def test_the_shared_length_of_sequences_is_where_they_first_differ() -> None:
    assert shared_length([1, 2, 3], [1, 2, 4, 5]) == 2
    assert shared_length([1, 2], [1, 2, 3]) == 2
    assert shared_length([], [1]) == 0
    assert shared_length([5], [1]) == 0


def test_the_state_that_shares_most_is_found() -> None:
    saved = SavedStates(None)
    saved.keep_fixed(A, data(10))
    saved.keep(A + B, data(20), lasting=True)
    saved.keep(C, data(20), lasting=True)
    state, shared = saved.best([*A, *B[:5], 1, 2], 0, cut=True)
    assert state is not None
    assert (state.tokens, shared) == (A + B, 45)
    assert saved.best([1, 2, 3], 0, cut=True) == (None, 0)


def test_a_state_that_cannot_be_cut_is_used_only_as_a_whole() -> None:
    saved = SavedStates(None)
    saved.keep_fixed(A, data(10))
    saved.keep(A + B, data(20), lasting=True)
    state, shared = saved.best([*A, *B[:5], 1, 2], 0, cut=False)
    assert state is not None
    assert (state.tokens, shared) == (A, 40)


def test_the_least_recently_used_state_makes_room() -> None:
    saved = SavedStates(None, memory=50)
    saved.keep_fixed(A, data(20))
    saved.keep_fixed(B, data(20))
    saved.best(A, 0, cut=True)
    saved.keep_fixed(C, data(20))
    assert [saved.has_fixed(tokens) for tokens in (A, B, C)] == [True, False, True]


def test_what_was_asked_once_makes_room_before_prefixes_and_conversations() -> None:
    saved = SavedStates(None, memory=50)
    saved.keep_fixed(A, data(20))
    saved.keep(B, data(20), lasting=False)
    saved.keep(C, data(20), lasting=True)
    assert [saved.covered(tokens) for tokens in (A, B, C)] == [40, 0, 40]


def test_only_a_few_states_of_what_was_asked_once_are_kept() -> None:
    saved = SavedStates(None)
    asked = [[place, *A] for place in range(6)]
    for tokens in asked:
        saved.keep(tokens, data(1), lasting=False)
    assert [saved.covered(tokens) > 0 for tokens in asked] == [False] * 2 + [True] * 4


def test_a_state_larger_than_the_memory_is_not_kept() -> None:
    saved = SavedStates(None, memory=50)
    saved.keep(A, data(51), lasting=True)
    assert saved.covered(A) == 0


def test_a_conversation_takes_the_place_of_its_earlier_state_but_not_of_its_prefix() -> None:
    saved = SavedStates(None)
    saved.keep_fixed(A, data(1, 1))
    saved.keep([*A, *B, 9, 9], data(1, 2), lasting=True)
    # The template spelled the end of the last answer in other tokens.
    saved.keep([*A, *B, 8, *C], data(1, 3), lasting=True)
    state, shared = saved.best([*A, *B, 9, 9], 0, cut=False)
    assert state is not None
    assert (state.tokens, shared) == (A, len(A))


def test_a_fixed_prefix_outlives_the_process(tmp_path: Path) -> None:
    SavedStates(files(tmp_path)).keep_fixed(A, data(1000))
    later = SavedStates(files(tmp_path))
    state, shared = later.best(A + B, len(A), cut=False)
    assert state is not None
    assert shared == len(A)
    assert np.array_equal(state.data, data(1000))
    assert later.has_fixed(A)


def test_nothing_but_fixed_prefixes_goes_to_disk(tmp_path: Path) -> None:
    saved = SavedStates(files(tmp_path))
    saved.keep(A, data(10), lasting=True)
    saved.keep(B, data(10), lasting=False)
    assert list(tmp_path.iterdir()) == []


def test_a_state_is_found_only_by_its_tokens_and_layout(tmp_path: Path) -> None:
    files(tmp_path).save(A, data(10))
    assert files(tmp_path).load(A) is not None
    assert files(tmp_path).load(A[:-1]) is None
    assert files(tmp_path, layout="q8").load(A) is None


@pytest.mark.parametrize("damage", ["flipped", "cut", "header cut", "emptied", "of other tokens"])
def test_a_damaged_file_is_removed_and_said_to_be(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    kept = files(tmp_path)
    kept.save(A, data(1000))
    (path,) = tmp_path.iterdir()
    raw = path.read_bytes()
    if damage == "flipped":
        path.write_bytes(raw[:500] + bytes([raw[500] ^ 1]) + raw[501:])
    elif damage == "of other tokens":
        kept.save(B, data(1000))
        (other,) = set(tmp_path.iterdir()) - {path}
        other.replace(path)
    else:
        path.write_bytes(raw[: {"cut": -1, "header cut": 20, "emptied": 0}[damage]])
    assert kept.load(A) is None
    assert not path.exists()
    assert "damaged" in caplog.text


def test_the_files_used_least_recently_go_first(tmp_path: Path) -> None:
    kept = files(tmp_path, most=2)
    kept.save(A, data(10))
    kept.save(B, data(10))
    for second, path in enumerate(sorted(tmp_path.iterdir(), key=lambda path: path.stat().st_mtime_ns)):
        os.utime(path, (second, second))
    kept.load(A)
    kept.save(C, data(10))
    assert [kept.load(tokens) is not None for tokens in (A, B, C)] == [True, False, True]


def test_the_files_have_a_bound_in_bytes(tmp_path: Path) -> None:
    kept = files(tmp_path, size=2500)
    for tokens in (A, B, C):
        kept.save(tokens, data(1000))
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_that_cannot_be_written_costs_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("not a folder")
    saved = SavedStates(files(tmp_path / "file" / "states"))
    saved.keep_fixed(A, data(10))
    assert saved.has_fixed(A)
    assert "cannot be kept" in caplog.text


def test_a_state_that_turns_out_to_be_useless_is_forgotten_everywhere(tmp_path: Path) -> None:
    saved = SavedStates(files(tmp_path))
    saved.keep_fixed(A, data(10))
    state, _ = saved.best(A, len(A), cut=True)
    assert state is not None
    saved.discard(state)
    assert saved.best(A, len(A), cut=True) == (None, 0)
    assert list(tmp_path.iterdir()) == []
