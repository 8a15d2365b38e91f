from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from localmem.models.catalog import find
from localmem.models.embedding import FastEmbedder
from localmem.models.errors import ModelFileBad
from localmem.models.library import Library
from localmem.models.minilm import DIMENSION, HEADS, LAYERS, VARIANT
from localmem.models.protocols import Embedder, Vectors

WINDOW = 12


def open_embedder(folder: Path, window: int = WINDOW) -> FastEmbedder:
    return FastEmbedder(
        folder, name="random", weights_sha256="00", variant="v", dimension=DIMENSION, window=window
    )


@pytest.fixture(scope="module")
def embedder(random_minilm: Path) -> Iterator[FastEmbedder]:
    embedder = open_embedder(random_minilm)
    yield embedder
    embedder.close()


def forward(weights: dict[str, NDArray[np.float32]], ids: list[int]) -> Vectors:
    """BERT in float arithmetic, written from the paper: the oracle of the graph."""

    def linear(x: Vectors, at: str) -> Vectors:
        return x @ weights[f"{at}.weight"].T + weights[f"{at}.bias"]

    def norm(x: Vectors, at: str) -> Vectors:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return scaled * weights[f"{at}.weight"] + weights[f"{at}.bias"]

    def heads(x: Vectors) -> Vectors:
        return x.reshape(len(ids), HEADS, -1).transpose(1, 0, 2)

    gelu = np.vectorize(lambda value: value * 0.5 * (1 + math.erf(value / math.sqrt(2))))
    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        q, k, v = (heads(linear(x, f"{at}attention.self.{part}")) for part in ("query", "key", "value"))
        scores = np.exp(q @ k.transpose(0, 2, 1) / math.sqrt(DIMENSION / HEADS))
        mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ v
        mixed = mixed.transpose(1, 0, 2).reshape(len(ids), DIMENSION)
        x = norm(x + linear(mixed, f"{at}attention.output.dense"), f"{at}attention.output.LayerNorm")
        inner = gelu(linear(x, f"{at}intermediate.dense"))
        x = norm(x + linear(inner, f"{at}output.dense"), f"{at}output.LayerNorm")
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


def test_vectors_are_those_of_the_network_in_float_arithmetic(random_minilm: Path) -> None:
    embedder = open_embedder(random_minilm, window=64)
    weights = load_file(random_minilm / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(random_minilm / "tokenizer.json"))
    texts = ["abc", "the cat sat on the mat", "zzz yyy xxx", ""]
    vectors = embedder.embed_documents(texts)
    for text, vector in zip(texts, vectors, strict=True):
        assert float(vector @ forward(weights, tokenizer.encode(text).ids)) > 0.998


def test_a_text_has_one_vector_whatever_stands_beside_it(embedder: FastEmbedder) -> None:
    texts = ["ab", "abcdefg", "b", "hello", "abc de", "x" * 9]
    together = embedder.embed_documents(texts)
    for text, vector in zip(texts, together, strict=True):
        assert np.allclose(embedder.embed_query(text), vector, atol=1e-6)


def test_vectors_come_in_the_order_of_the_texts_with_length_one(embedder: FastEmbedder) -> None:
    texts = ["abcdefgh"[: 1 + i % 8] for i in range(40)]
    vectors = embedder.embed_documents(texts)
    assert vectors.shape == (40, DIMENSION)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for i in range(40):
        assert np.allclose(vectors[i], vectors[i % 8], atol=1e-6)
    assert not np.allclose(vectors[0], vectors[1], atol=1e-3)


def test_no_texts_give_no_vectors(embedder: FastEmbedder) -> None:
    assert embedder.embed_documents([]).shape == (0, DIMENSION)


def test_it_is_an_embedder(embedder: FastEmbedder) -> None:
    assert isinstance(embedder, Embedder)
    assert embedder.dimension == DIMENSION


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "a\0b\udfffc", "👩‍👩‍👧", "\u202eabc", "   "])
def test_odd_texts_have_vectors(embedder: FastEmbedder, text: str) -> None:
    assert math.isclose(float(np.linalg.norm(embedder.embed_query(text))), 1, abs_tol=1e-5)
    assert "".join(embedder.split(text)) == text


@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet="ab .!?\n。é각\0\ud800", max_size=200))
def test_parts_fit_the_window_and_joined_they_are_the_text(random_minilm: Path, text: str) -> None:
    embedder = open_embedder(random_minilm)
    parts = embedder.split(text)
    assert "".join(parts) == text
    tokenizer = Tokenizer.from_file(str(random_minilm / "tokenizer.json"))
    for part in parts:
        clean = part.replace("\0", "�").replace("\ud800", "�")
        assert len(tokenizer.encode(clean).ids) <= WINDOW or len(part) == 1


def test_a_long_text_is_cut_at_sentences_then_at_words_then_anywhere(embedder: FastEmbedder) -> None:
    assert embedder.split("aaa bb. ccc ddd ee") == ["aaa bb. ", "ccc ddd ee"]
    assert embedder.split("aaaaaa bb cccc") == ["aaaaaa bb ", "cccc"]
    assert embedder.split("a" * 25) == ["a" * 10, "a" * 10, "a" * 5]


def test_a_text_that_fits_is_one_part(embedder: FastEmbedder) -> None:
    assert embedder.split("aaa bb. cc") == ["aaa bb. cc"]


def test_nothing_of_a_long_text_is_left_out_of_its_vector(embedder: FastEmbedder) -> None:
    head = "aaa aaa aaa "
    long = embedder.embed_query(head + "zzz zzz zzz")
    alone = embedder.embed_query(head.strip())
    assert float(long @ alone) < 0.999
    parts = embedder.embed_documents(embedder.split(head + "zzz zzz zzz"))
    assert float(long @ parts.mean(axis=0)) > 0.99 * float(np.linalg.norm(parts.mean(axis=0)))


def test_several_threads_may_embed_at_once(random_minilm: Path) -> None:
    embedder = open_embedder(random_minilm)
    texts = [f"{'abc' * (i % 3 + 1)} {'x' * (i % 5)}" for i in range(60)]
    expected = embedder.embed_documents(texts)
    embedder.close()  # so that the threads meet in loading, too
    results: list[Vectors] = []
    threads = [
        threading.Thread(target=lambda: results.append(embedder.embed_documents(texts))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == 4
    for vectors in results:
        assert np.allclose(vectors, expected, atol=1e-6)


def test_a_model_can_be_opened_twice_and_used_after_close(random_minilm: Path) -> None:
    first, second = open_embedder(random_minilm), open_embedder(random_minilm)
    vector = first.embed_query("abc")
    first.close()
    first.close()
    assert np.array_equal(second.embed_query("abc"), vector)
    assert np.array_equal(first.embed_query("abc"), vector)


def test_the_fingerprint_names_weights_and_arithmetic(random_minilm: Path) -> None:
    def fingerprint(weights: str, variant: str) -> str:
        return FastEmbedder(
            random_minilm, name="n", weights_sha256=weights, variant=variant, dimension=1, window=9
        ).fingerprint

    prints = {fingerprint("a", "x"), fingerprint("a", "y"), fingerprint("b", "x")}
    assert len(prints) == 3
    assert all(p.startswith("sha256:") for p in prints)


def test_a_damaged_graph_is_said_to_be_bad(tmp_path: Path, random_minilm: Path) -> None:
    for file in random_minilm.iterdir():
        if file.name != "model.onnx":
            (tmp_path / file.name).symlink_to(file)
    (tmp_path / "model.onnx").write_bytes(b"not a graph")
    with pytest.raises(ModelFileBad, match=r"model\.onnx cannot be loaded"):
        open_embedder(tmp_path).embed_query("abc")


def test_the_catalogue_names_the_arithmetic_of_the_graph() -> None:
    assert find("all-minilm-l6-v2").graph == VARIANT


@pytest.mark.real_model
def test_the_real_model_puts_meaning_before_words(models_home: Path) -> None:
    library = Library(models_home)
    embedder = library.embedder()
    near, far, query = embedder.embed_documents(
        [
            "A doctor looked after the sick child.",
            "The child broke the toy plane.",
            "The physician treated him.",
        ]
    )
    library.close()
    assert float(query @ near) > float(query @ far) + 0.1


@pytest.mark.real_model
def test_the_real_model_agrees_with_float_arithmetic(models_home: Path) -> None:
    library = Library(models_home)
    folder = library.path("all-minilm-l6-v2")
    weights = load_file(folder / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    texts = ["I adopted a puppy last Friday.", "What did Caroline research?", "Yes!", "你好"]
    vectors = library.embedder().embed_documents(texts)
    library.close()
    for text, vector in zip(texts, vectors, strict=True):
        assert float(vector @ forward(weights, tokenizer.encode(text).ids)) > 0.99


def test_telemetry_is_off_before_onnx_runtime_is_loaded(tmp_path: Path) -> None:
    script = """
import os, sys
from pathlib import Path
seen = []
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "onnxruntime":
            seen.append(os.environ.get("ORT_DISABLE_TELEMETRY"))
sys.meta_path.insert(0, Watch())
from localmem.models import embedding
try:
    embedding._open(Path(sys.argv[1]), "none", 384)
except embedding.ModelFileBad:
    pass
print(seen)
"""
    environment = {key: value for key, value in os.environ.items() if key != "ORT_DISABLE_TELEMETRY"}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        env=environment, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "['1']"
