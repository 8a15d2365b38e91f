from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localmem.models.hashing import HashEmbedder
from localmem.models.protocols import Embedder

EMBEDDER = HashEmbedder()


@given(st.text() | st.text(alphabet=st.characters(categories=["Cs", "Cc"])))
def test_every_text_has_a_vector_of_length_one(text: str) -> None:
    vector = EMBEDDER.embed_query(text)
    assert vector.shape == (384,)
    assert vector.dtype == np.float32
    assert np.isclose(np.linalg.norm(vector), 1, atol=1e-5)
    assert np.array_equal(vector, EMBEDDER.embed_documents(["other", text])[1])


def test_an_empty_text_has_the_same_vector_as_any_without_words() -> None:
    assert np.array_equal(EMBEDDER.embed_query(""), EMBEDDER.embed_query(" ...! "))


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("Running shoes", "she runs in her new shoe", "the tax return was late"),
        ("Гончарный круг", "урок гончарного дела", "поездка на море"),
        ("東京", "去年東京に行きました", "猫が好きです"),
        ("陶艺", "她上了陶艺课", "他去爬山了"),
    ],
)
def test_shared_parts_of_words_bring_texts_together(query: str, near: str, far: str) -> None:
    vector = EMBEDDER.embed_query(query)
    close, away = EMBEDDER.embed_documents([near, far])
    assert float(vector @ close) > float(vector @ away) + 0.05


def test_vectors_are_the_same_in_another_process() -> None:
    program = (
        "from localmem.models.hashing import HashEmbedder;"
        "print(HashEmbedder(8).embed_query('some words').tobytes().hex())"
    )
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == HashEmbedder(8).embed_query("some words").tobytes().hex()


def test_it_is_an_embedder_without_a_window() -> None:
    assert isinstance(EMBEDDER, Embedder)
    assert EMBEDDER.split("a" * 10_000) == ["a" * 10_000]
    assert EMBEDDER.embed_documents([]).shape == (0, 384)
    assert HashEmbedder(64).fingerprint != EMBEDDER.fingerprint
