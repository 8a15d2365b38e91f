from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localmem.index.phrases import CHARACTERS, WORDS, numbers_of, phrase_of, phrases_in
from localmem.index.tokens import STOP_WORDS

LATIN = st.lists(st.sampled_from("tea Lisbon the 42 car".split()), max_size=WORDS).map(" ".join)
QUERY = st.lists(st.sampled_from("tea Lisbon the 42 car teapot".split()), max_size=20).map(" ".join)


@given(keyword=LATIN, query=QUERY)
def test_a_keyword_is_in_a_query_when_its_words_stand_there_in_a_row(keyword: str, query: str) -> None:
    words = " ".join(re.findall(r"\w+", keyword.lower()))
    tells = bool(words) and words not in STOP_WORDS
    expected = tells and f" {words} " in f" {query.lower()} "
    assert (phrase_of(keyword) in phrases_in(query)) == expected


@given(keyword=st.text("茶店里", max_size=4), query=st.text("茶店里a ", max_size=20))
def test_without_spaces_it_may_stand_anywhere(keyword: str, query: str) -> None:
    assert (phrase_of(keyword) in phrases_in(query)) == (bool(keyword) and keyword in " ".join(query.split()))


@pytest.mark.parametrize("keyword", ["tea " * (WORDS + 1), "茶" * (CHARACTERS + 1), "the", "", "?!"])
def test_what_is_too_long_or_says_nothing_is_no_phrase(keyword: str) -> None:
    assert phrase_of(keyword) == ""


def test_numbers_are_the_same_in_every_process_and_differ() -> None:
    assert numbers_of(["tea"]).tolist() == [-8015135494872013382]
    assert len(set(numbers_of([str(number) for number in range(10_000)]).tolist())) == 10_000
