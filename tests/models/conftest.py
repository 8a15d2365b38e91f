from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from localmem.models.minilm import DIMENSION, LAYERS, write_graph

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
LETTERS = "abcdefghijklmnopqrstuvwxyz.,!?"


def random_bert(seed: int, vocabulary: int) -> dict[str, NDArray[np.float32]]:
    """Weights with MiniLM's names and shapes, at the scale of trained ones."""
    random = np.random.default_rng(seed)

    def normal(*shape: int) -> NDArray[np.float32]:
        return (0.05 * random.standard_normal(shape)).astype(np.float32)

    def norm(at: str) -> dict[str, NDArray[np.float32]]:
        return {f"{at}.weight": 1 + normal(DIMENSION), f"{at}.bias": normal(DIMENSION)}

    weights = {
        "embeddings.word_embeddings.weight": normal(vocabulary, DIMENSION),
        "embeddings.position_embeddings.weight": normal(512, DIMENSION),
        "embeddings.token_type_embeddings.weight": normal(2, DIMENSION),
        **norm("embeddings.LayerNorm"),
    }
    square, wide = (DIMENSION, DIMENSION), (4 * DIMENSION, DIMENSION)
    shapes = {
        "attention.self.query": square,
        "attention.self.key": square,
        "attention.self.value": square,
        "attention.output.dense": square,
        "intermediate.dense": wide,
        "output.dense": wide[::-1],
    }
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        for name, shape in shapes.items():
            weights |= {f"{at}{name}.weight": normal(*shape), f"{at}{name}.bias": normal(shape[0])}
        weights |= norm(f"{at}attention.output.LayerNorm") | norm(f"{at}output.LayerNorm")
    return weights


def letter_tokenizer() -> Tokenizer:
    """One token a letter, as a stand-in for WordPiece: lengths are easy to see."""
    vocabulary = {token: i for i, token in enumerate([*SPECIAL, *LETTERS, *(f"##{c}" for c in LETTERS)])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=10_000))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


@pytest.fixture(scope="session")
def random_minilm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an embedding model of MiniLM's form: random weights, one token a letter."""
    folder = tmp_path_factory.mktemp("random-minilm")
    tokenizer = letter_tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"model_max_length": 512, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    save_file(random_bert(7, tokenizer.get_vocab_size()), folder / "model.safetensors")
    write_graph(folder / "model.safetensors", folder / "model.onnx")
    return folder
