from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localmem.errors import BadInput
from localmem.evals.datasets import Question
from localmem.evals.sampling import choose, parse_shard, seats


def asked(identity: str, category: str = "one") -> Question:
    nothing: frozenset[str] = frozenset()
    return Question(identity, "source", "What?", category, nothing, nothing, None, "that", False)


IDS = st.one_of(
    st.builds("conv-{}/{}".format, st.integers(1, 30), st.integers(0, 300)), st.text(min_size=1, max_size=5)
)
QUESTIONS = st.dictionaries(IDS, st.sampled_from(["a", "b", "c"]), min_size=1, max_size=60).map(
    lambda made: [asked(identity, category) for identity, category in made.items()]
)
SEEDS = st.integers(0, 2**32)


@given(QUESTIONS, st.none() | st.integers(3, 70), st.booleans(), SEEDS, st.randoms())
def test_a_draw_does_not_depend_on_the_order_of_the_file(
    questions: list[Question], limit: int | None, stratify: bool, seed: int, chance: random.Random
) -> None:
    drawn = choose(questions, limit, stratify=stratify, seed=seed)
    chance.shuffle(questions)
    assert choose(questions, limit, stratify=stratify, seed=seed) == drawn
    assert len(set(drawn)) == len(drawn) == min(len(questions), limit or len(questions))
    assert set(drawn) <= {question.id for question in questions}


@given(QUESTIONS, st.none() | st.integers(3, 70), st.booleans(), SEEDS, st.integers(1, 9))
def test_shards_share_no_question_and_together_are_the_whole_draw(
    questions: list[Question], limit: int | None, stratify: bool, seed: int, parts: int
) -> None:
    def drawn(shard: tuple[int, int] | None) -> tuple[str, ...]:
        return choose(questions, limit, stratify=stratify, seed=seed, shard=shard)

    shards = [drawn((part, parts)) for part in range(1, parts + 1)]
    assert sum(shards, ()) == drawn(None)
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


@given(QUESTIONS, st.integers(3, 70), SEEDS)
def test_a_stratified_draw_has_every_category_and_as_many_as_its_seats(
    questions: list[Question], limit: int, seed: int
) -> None:
    category = {question.id: question.category for question in questions}
    sizes = Counter(category.values())
    counts = Counter(category[identity] for identity in choose(questions, limit, stratify=True, seed=seed))
    assert set(counts) == set(sizes)
    if limit < len(questions):
        names = sorted(sizes)
        assert [counts[name] for name in names] == seats([sizes[name] for name in names], limit)


@given(st.lists(st.integers(1, 900), min_size=1, max_size=8), st.data())
def test_seats_are_in_proportion_and_at_least_one(sizes: list[int], data: st.DataObject) -> None:
    limit = data.draw(st.integers(len(sizes), sum(sizes)))
    given_ = seats(sizes, limit)
    assert sum(given_) == limit
    assert all(1 <= count <= size for count, size in zip(given_, sizes, strict=True))
    by_size = sorted(zip(sizes, given_, strict=True))
    assert all(few[1] <= many[1] for few, many in pairwise(by_size) if few[0] < many[0])
    if all(size * limit >= sum(sizes) for size in sizes):
        assert given_ == largest_remainders(sizes, limit)


def largest_remainders(sizes: list[int], limit: int) -> list[int]:
    """As it is taught: whole parts, then one each to the largest remainders."""
    whole = [size * limit // sum(sizes) for size in sizes]
    order = sorted(range(len(sizes)), key=lambda place: -(sizes[place] * limit % sum(sizes)))
    for place in order[: limit - sum(whole)]:
        whole[place] += 1
    return whole


@pytest.mark.parametrize(
    ("sizes", "limit", "expected"),
    [
        ([418, 156, 142, 46], 40, [22, 8, 8, 2]),  # 21.9, 8.2, 7.5, 2.4
        ([98, 1, 1], 10, [8, 1, 1]),
        ([5, 5], 3, [2, 1]),
        ([7], 7, [7]),
    ],
)
def test_seats_agree_with_shares_worked_by_hand(sizes: list[int], limit: int, expected: list[int]) -> None:
    assert seats(sizes, limit) == expected


def test_the_plain_draw_is_a_seeded_sample_of_the_ids_in_natural_order() -> None:
    ids = [f"conv-{conversation}/{number}" for conversation in (2, 10) for number in range(12)]
    questions = [asked(identity) for identity in reversed(ids)]
    assert choose(questions) == tuple(ids)
    assert set(choose(questions, 5, seed=4)) == set(random.Random(4).sample(ids, 5))


def test_a_stratified_limit_below_the_number_of_categories_is_refused_with_the_number() -> None:
    questions = [asked(name, name) for name in "abc"]
    with pytest.raises(BadInput, match="--limit 3 or more"):
        choose(questions, 2, stratify=True)


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "1/0", "a/b", "-1/4", "1/4/2", "", "1.0/4"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r"shard"):
        parse_shard(text)


def test_a_shard_is_read_as_two_numbers() -> None:
    assert parse_shard("2/4") == (2, 4)
    with pytest.raises(BadInput, match="no shard 3 of 2"):
        choose([asked("a")], shard=(3, 2))
