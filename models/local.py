"""A ``.gguf`` file of the user's own: whether it can chat, and how much memory it takes."""

from __future__ import annotations

import re
from pathlib import Path

from localmem.models.advice import chat_buffers
from localmem.models.errors import BadInput, ModelFileBad
from localmem.models.gguf import GgufHeader, read_header
from localmem.models.loadable import check_loadable

_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.IGNORECASE)
# What llama.cpp opens and nobody can chat with: encoders, vision projectors, sound decoders.
_NO_CHAT = {
    "bert",
    "clip",
    "eurobert",
    "gemma-embedding",
    "jina-bert-v2",
    "jina-bert-v3",
    "llama-embed",
    "modern-bert",
    "neo-bert",
    "nomic-bert",
    "nomic-bert-moe",
    "t5encoder",
    "wavtokenizer-dec",
}


def check_chat_file(path: Path) -> None:
    """Raise unless ``path`` is a whole GGUF file of a model that chats and that llama.cpp knows.

    :class:`BadInput`: there is no such file, or it is one part of several. :class:`ModelFileBad`: all else.
    """
    inspect(path)
    check_loadable(path)


def inspect(path: Path) -> GgufHeader:
    """The header of a chat model's file; raises as :func:`check_chat_file` does, llama.cpp not asked."""
    if not path.is_file():
        raise BadInput(f"There is no file {path}.")
    part = _PART.search(path.name)
    header = read_header(path)
    parts = int(part[2]) if part else header.values.get("split.count", 1)
    if isinstance(parts, int) and parts > 1:
        raise BadInput(
            f"{path} is one of {parts} parts of a model. Join them and use the whole: "
            f"llama-gguf-split --merge FIRST-PART.gguf WHOLE.gguf (a tool of llama.cpp)."
        )
    kind = header.values.get("general.type", "model")
    if kind != "model":
        raise ModelFileBad(f"{path} holds no model but a part of one ({kind}). Use the model's own file.")
    if header.architecture in _NO_CHAT or header.number("pooling_type"):
        raise ModelFileBad(f"{path} makes embeddings and does not chat. Use an instruct model.")
    if not header.tensors:
        raise ModelFileBad(f"{path} has no weights, only a vocabulary. Use the model's own file.")
    if "tokenizer.chat_template" not in header.values:
        raise ModelFileBad(f"{path} has no chat template. Use an instruct model.")
    return header


def ram(header: GgufHeader, window: int) -> int:
    """Bytes of memory with a window of so many tokens, computed as for the catalogue's models."""
    window = min(window, header.number("context_length") or window)
    vocabulary = header.values.get("tokenizer.ggml.tokens", 0)
    words = len(vocabulary) if isinstance(vocabulary, list) else int(vocabulary)
    return header.size + _kv(header) * window + chat_buffers(words)


def _kv(header: GgufHeader) -> int:
    """Bytes of keys and values for a token of the window, as float16."""
    heads = header.number("attention.head_count")
    size = header.number("embedding_length") // heads if heads else 0
    keys = header.number("attention.key_length") or size
    values = header.number("attention.value_length") or size
    a_layer = header.values.get(f"{header.architecture}.attention.head_count_kv", heads)
    if isinstance(a_layer, list):  # one figure a layer: some layers keep nothing
        in_all = sum(count for count in a_layer if isinstance(count, int))
    else:
        in_all = header.number("block_count") * (a_layer if isinstance(a_layer, int) else heads)
    return in_all * (keys + values) * 2
