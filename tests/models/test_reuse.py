"""Going from prompt to prompt with a window that only remembers its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from localmem.models.reuse import Future, PrefixReuse, Prompt
from localmem.models.states import SavedStates, State, StateFiles


class FakeWindow:
    """Its state is its tokens, so that a wrong restore shows."""

    def __init__(self, *, can_be_cut: bool = True, refuses_cut: bool = False) -> None:
        self.held: list[int] = []
        self.can_be_cut = can_be_cut
        self.refuses_cut = refuses_cut
        self.refuses_restore = False
        self.has_memory = True

    def cut(self, length: int) -> bool:
        assert self.can_be_cut
        if self.refuses_cut:
            return False
        del self.held[length:]
        return True

    def clear(self) -> None:
        self.held.clear()

    def state_size(self) -> int:
        return 4 * len(self.held)

    def state(self) -> State | None:
        return np.array(self.held, np.int32).view(np.uint8) if self.has_memory else None

    def restore(self, tokens: Sequence[int], state: State) -> bool:
        self.clear()
        if self.refuses_restore:
            return False
        self.held = state.copy().view(np.int32).tolist()
        assert self.held == list(tokens)
        return True


class Model:
    """What the engine does with a window, without the model."""

    def __init__(self, window: FakeWindow, folder: Path | None = None) -> None:
        self.window = window
        self.files = None if folder is None else StateFiles(folder, "fake")
        self.restart()

    def restart(self) -> None:
        self.window.clear()
        self.saved = SavedStates(self.files)
        self.reuse = PrefixReuse(self.window, self.saved)

    def call(
        self,
        tokens: Sequence[int],
        *,
        fixed: int = 0,
        future: Future = Future.NONE,
        answer: Sequence[int] = (),
    ) -> int:
        """Read a prompt and write an answer; return how many of the prompt's tokens were read."""
        tokens = list(tokens)
        reused = self.reuse.resume(Prompt(tokens, fixed, future))
        assert self.window.held == tokens[:reused]
        assert reused < len(tokens)
        if reused <= fixed:
            self.window.held = tokens[:fixed]
            self.reuse.keep_fixed()
        self.window.held = [*tokens, *answer]
        return len(tokens) - reused


RULES_A, RULES_B = list(range(1000, 1100)), list(range(2000, 2100))


def ask(number: int, length: int = 50) -> list[int]:
    return list(range(10_000 * number, 10_000 * number + length))


@pytest.fixture(params=["cut", "whole"])
def window(request: pytest.FixtureRequest) -> FakeWindow:
    return FakeWindow(can_be_cut=request.param == "cut")


def test_a_role_that_comes_back_reads_only_its_question(window: FakeWindow) -> None:
    model = Model(window)
    assert model.call(RULES_A + ask(1), fixed=100) == 150
    assert model.call(RULES_B + ask(2), fixed=100) == 150
    assert model.call(RULES_A + ask(3), fixed=100) == 50
    assert model.call(RULES_B + ask(4), fixed=100) == 50


def test_a_fixed_prefix_is_not_read_again_after_a_restart(window: FakeWindow, tmp_path: Path) -> None:
    model = Model(window, tmp_path)
    model.call(RULES_A + ask(1), fixed=100)
    model.restart()
    assert model.call(RULES_A + ask(2), fixed=100) == 50


def test_a_chat_that_other_roles_interrupt_reads_only_what_is_new(window: FakeWindow) -> None:
    model = Model(window)
    chat = RULES_A + ask(1)
    for turn in range(10):
        future = Future.LIKELY if turn else Future.POSSIBLE
        answer = ask(100 + turn, 80)
        new = model.call(chat, fixed=100, future=future, answer=answer)
        assert new == 50 or turn == 0
        chat += [*answer, *ask(200 + turn)]
        for role in range(3):
            model.call(RULES_B + ask(300 + 10 * turn + role, 400), fixed=100, answer=ask(7))


def test_a_structured_call_costs_no_copy_of_its_state(window: FakeWindow) -> None:
    model = Model(window)
    model.call(RULES_A + ask(1), fixed=100)
    model.call(RULES_B + ask(2), fixed=100)
    assert model.saved.covered(RULES_A + ask(1)) == len(RULES_A)


def test_a_repair_goes_on_from_what_is_held(window: FakeWindow) -> None:
    model = Model(window)
    model.call(RULES_A + ask(1), fixed=100, answer=ask(2))
    assert model.call(RULES_A + ask(1) + ask(2) + ask(3), fixed=100) == 50


def test_the_same_prompt_reads_one_token_when_its_state_can_be_cut() -> None:
    model = Model(FakeWindow())
    model.call(RULES_A, answer=ask(1))
    assert model.call(RULES_A) == 1


def test_a_state_that_refuses_to_be_cut_is_taken_from_what_is_saved() -> None:
    model = Model(FakeWindow(refuses_cut=True))
    model.call(RULES_A + ask(1), fixed=100)
    assert model.call(RULES_A + ask(2), fixed=100) == 50
    assert not model.window.can_be_cut


def test_a_saved_state_that_is_refused_is_read_again_and_removed(window: FakeWindow, tmp_path: Path) -> None:
    model = Model(window, tmp_path)
    model.call(RULES_A + ask(1), fixed=100)
    model.restart()
    window.refuses_restore = True
    assert model.call(RULES_A + ask(2), fixed=100) == 150
    window.refuses_restore = False
    model.restart()
    assert model.call(RULES_A + ask(3), fixed=100) == 50  # written anew


def test_without_memory_for_copies_calls_go_on(window: FakeWindow) -> None:
    window.has_memory = False
    model = Model(window)
    assert model.call(RULES_A + ask(1), fixed=100, future=Future.LIKELY) == 150
    assert model.call(RULES_B + ask(2), fixed=100, future=Future.LIKELY) == 150


def test_a_prompt_of_fixed_tokens_that_was_stopped_is_finished_from_there(window: FakeWindow) -> None:
    model = Model(window)
    assert model.reuse.resume(Prompt(RULES_A + ask(1), 100, Future.NONE)) == 0
    window.held = RULES_A[:60]  # it was stopped here
    assert model.call(RULES_A + ask(2), fixed=100) == 90


def test_a_conversation_outlives_many_single_questions(window: FakeWindow) -> None:
    model = Model(window)
    chat = ask(1) + ask(2)
    model.call(chat, future=Future.LIKELY, answer=ask(3))
    for number in range(10, 20):
        model.call(ask(number), future=Future.POSSIBLE)
    assert model.call(chat + ask(3) + ask(4), future=Future.LIKELY) == 50


def test_what_was_saved_in_a_rest_is_not_copied_when_the_window_is_wanted(window: FakeWindow) -> None:
    model = Model(window)
    model.call(RULES_A + ask(1), fixed=100, future=Future.LIKELY, answer=ask(2))
    model.reuse.rest()
    window.has_memory = False  # a copy from now on would find none, and drop all that is kept
    assert model.call(RULES_B + ask(3), fixed=100) == 150
    assert model.call(RULES_A + ask(1) + ask(2) + ask(4), fixed=100) == 50


def test_a_rest_keeps_nothing_of_a_structured_call(window: FakeWindow) -> None:
    model = Model(window)
    model.call(RULES_A + ask(1), fixed=100)
    kept = len(model.saved._states)
    model.reuse.rest()
    assert len(model.saved._states) == kept


def test_a_large_state_is_not_copied_after_every_turn(
    window: FakeWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localmem.models.reuse._QUICK", 100)
    model = Model(window)
    model.call(RULES_A + ask(1), fixed=100, future=Future.LIKELY, answer=ask(2))
    kept = len(model.saved._states)
    model.reuse.rest()
    assert len(model.saved._states) == kept
