from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localmem.index.tokens import query_terms, terms


def test_words_are_lowercased_stemmed_and_cleared_of_stop_words() -> None:
    assert terms("The Groups were running") == ["group", "run"]


@pytest.mark.parametrize("text", ["", "   ", "the and of", "?!", "\x00\ud800"])
def test_text_without_content_has_no_terms(text: str) -> None:
    assert terms(text) == []


@pytest.mark.parametrize(("text", "expected"), [("a/b C++ (foo)", ["foo"]), ('"x AND y:3*', ["3"])])
def test_punctuation_separates_and_never_is_syntax(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("message", "question"), [("我喜欢猫和狗", "喜欢"), ("ฉันชอบแมว", "แมว"), ("東京に行く", "東京")]
)
def test_scripts_without_spaces_share_bigrams(message: str, question: str) -> None:
    assert set(terms(question)) <= set(terms(message))


def test_full_width_and_accented_forms_meet() -> None:
    assert terms("ＣＡＦÉ") == terms("cafe\u0301")


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_any_text_gives_encodable_terms(text: str) -> None:
    for term in query_terms(text):
        assert term.encode("utf-8")
