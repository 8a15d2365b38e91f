from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest
from numpy.typing import NDArray

from localmem.models.errors import ModelError
from localmem.models.protocols import Sampling
from localmem.models.sampling import Drawn, Grammar, likeliest, likeliest_fitting

SIZE = 1000
NONE = np.array([], np.intc)


class Allowing(Grammar):
    """Lets these tokens pass, and counts how many it was asked about."""

    def __init__(self, tokens: Collection[int]) -> None:
        self.tokens = np.array(sorted(tokens), np.intc)
        self.asked = 0

    def fitting(self, tokens: NDArray[np.intc]) -> NDArray[np.intc]:
        self.asked += len(tokens)
        return tokens[np.isin(tokens, self.tokens)]


@pytest.fixture
def logits() -> NDArray[np.float32]:
    return np.random.default_rng(3).permutation(SIZE).astype(np.float32)


def ranked(logits: NDArray[np.float32], place: int) -> int:
    """The token with the place-th highest score."""
    return int(np.argsort(-logits)[place])


def test_the_token_with_the_highest_score_is_taken(logits: NDArray[np.float32]) -> None:
    assert likeliest(logits) == ranked(logits, 0)


def test_a_best_token_that_fits_is_all_that_is_tried(logits: NDArray[np.float32]) -> None:
    grammar = Allowing(range(SIZE))
    assert likeliest_fitting(logits, grammar, NONE) == ranked(logits, 0)
    assert grammar.asked == 1


@pytest.mark.parametrize("place", [1, 5, 63, 64, 500, 999])
def test_the_best_of_the_fitting_tokens_is_taken_however_far_down(
    logits: NDArray[np.float32], place: int
) -> None:
    allowed = [ranked(logits, other) for other in range(place, SIZE, 2)]
    assert likeliest_fitting(logits, Allowing(allowed), NONE) == ranked(logits, place)


def test_a_barred_token_is_not_taken_though_it_fits(logits: NDArray[np.float32]) -> None:
    barred = np.array([ranked(logits, 0), ranked(logits, 2)], np.intc)
    grammar = Allowing([ranked(logits, place) for place in (0, 2, 3)])
    assert likeliest_fitting(logits, grammar, barred) == ranked(logits, 3)


def test_the_scores_stay_as_they_were(logits: NDArray[np.float32]) -> None:
    before = logits.copy()
    likeliest_fitting(logits, Allowing([ranked(logits, 900)]), np.array([ranked(logits, 0)], np.intc))
    assert np.array_equal(logits, before)


def test_no_fitting_token_is_an_error(logits: NDArray[np.float32]) -> None:
    only = ranked(logits, 0)
    with pytest.raises(ModelError, match="No token"):
        likeliest_fitting(logits, Allowing([only]), np.array([only], np.intc))


def test_a_vocabulary_may_be_small() -> None:
    assert likeliest_fitting(np.array([1, 3, 2], np.float32), Allowing([0, 2]), NONE) == 2


def test_a_seed_draws_the_same_tokens_again_and_another_seed_others(logits: NDArray[np.float32]) -> None:
    def drawn(seed: int) -> list[int]:
        draw = Drawn(Sampling(5.0, seed))
        return [draw(logits) for _ in range(20)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_tokens_are_drawn_by_their_probabilities() -> None:
    draw = Drawn(Sampling(2.0, 0))
    logits = np.log(np.array([0.64, 0.16, 0.04], np.float32))  # at temperature 2: roots, 4 : 2 : 1
    counts = np.bincount([draw(logits) for _ in range(7000)])
    assert counts == pytest.approx([4000, 2000, 1000], rel=0.1)
