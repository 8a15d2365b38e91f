"""Embeddings through fastembed, on local files only.

fastembed cuts a text at the model's window without a word; :meth:`FastEmbedder.split` is there
so that nothing is lost.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from localmem.models.cpus import usable_cpus
from localmem.models.errors import ModelFileBad
from localmem.models.protocols import Vectors
from localmem.models.text import tokenizable

if TYPE_CHECKING:
    from fastembed import TextEmbedding

GRAPH = "model.onnx"
Pooling = Literal["cls", "mean"]
_BATCH = 16  # texts; larger batches were slower and take gigabytes when texts are long
_REGISTER = threading.Lock()
_SENTENCE_END = re.compile(r"[.!?…。！？]['\")\]”’»」』]*\s+|\n+|[。！？]")
_WORD_END = re.compile(r"\s+")


class FastEmbedder:
    """An :class:`~localmem.models.protocols.Embedder` over a folder with an ONNX graph.

    The folder holds ``model.onnx`` and a Hugging Face tokenizer. The graph's output is one vector of
    length 1 a text, or with ``pooling`` one a token, of which the first ("cls") or the mean is taken.
    The prefixes are what the model was trained to see in front of a question and of a text. The
    weights are loaded at the first use. Any number of threads may embed at once.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str,
        weights_sha256: str,
        variant: str,
        dimension: int,
        window: int,
        pooling: Pooling | None = None,
        query_prefix: str = "",
        document_prefix: str = "",
    ) -> None:
        self._folder = folder
        self._name = name
        identity = f"{weights_sha256} {variant}"
        if pooling is not None:
            identity += f" {pooling} {query_prefix!r} {document_prefix!r}"
        self._fingerprint = "sha256:" + hashlib.sha256(identity.encode()).hexdigest()
        self._dimension = dimension
        self._window = window
        self._pooling = pooling
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix
        self._lock = threading.Lock()
        self._model: TextEmbedding | None = None
        self._tokenizer: Tokenizer | None = None

    @property
    def name(self) -> str:
        """Catalogue name."""
        return self._name

    @property
    def fingerprint(self) -> str:
        """``sha256:...`` of the weights and of what is done with them."""
        return self._fingerprint

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    def split(self, text: str) -> list[str]:
        """Cut ``text`` into parts that fit the window; joined, they are the text.

        Cuts are at the end of a sentence, else of a word, in the last half of a part; text that
        has neither there is cut between two tokens.
        """
        offsets = self._offsets([text])[0]
        parts = []
        start = 0
        first = 0  # index of the first token of the part
        while len(offsets) - first > self._room:
            limit = offsets[first + self._room][0]
            end = _border(text, start, limit)
            parts.append(text[start:end])
            start = end
            while first < len(offsets) and offsets[first][1] <= end:
                first += 1
        parts.append(text[start:])
        return parts

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of ``texts``, shape (len(texts), dimension), rows of length 1.

        A text over the window gets the mean of its parts' vectors, weighted by their tokens.
        """
        return self._vectors(texts, self._document_prefix)

    def embed_query(self, text: str) -> Vectors:
        """Vector of a query, shape (dimension,), length 1."""
        vector: Vectors = self._vectors([text], self._query_prefix)[0]
        return vector

    def close(self) -> None:
        """Free the model. Closing twice is allowed; the next use loads it again."""
        with self._lock:
            self._model = None

    def _vectors(self, texts: Sequence[str], prefix: str) -> Vectors:
        parts: list[str] = []
        owners: list[int] = []
        lengths: list[int] = []
        for owner, (text, offsets) in enumerate(zip(texts, self._offsets(texts), strict=True)):
            whole = len(offsets) <= self._room
            for part in [text] if whole else self.split(text):
                parts.append(prefix + part)
                owners.append(owner)
                lengths.append(len(offsets) if whole else len(self._offsets([part])[0]))
        vectors = np.zeros((len(texts), self._dimension), np.float32)
        np.add.at(vectors, owners, self._embed(parts, lengths) * np.maximum(lengths, 1)[:, None])
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    @cached_property
    def _room(self) -> int:
        """Tokens of a part, beside [CLS], [SEP] and the longer prefix."""
        return self._window - 2 - max(map(len, self._offsets([self._query_prefix, self._document_prefix])))

    def _offsets(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Where each token of each text begins and ends, in characters; special tokens left out."""
        with self._lock:
            if self._tokenizer is None:
                self._tokenizer = _load_tokenizer(self._folder)
        clean = [tokenizable(text) for text in texts]
        return [e.offsets for e in self._tokenizer.encode_batch(clean, add_special_tokens=False)]

    def _embed(self, parts: Sequence[str], lengths: Sequence[int]) -> Vectors:
        model = self._load()
        vectors = np.zeros((len(parts), self._dimension), np.float32)
        # Texts of one length together: padding costs as much as text. The longest first, so
        # that no processor is left with a long batch at the end.
        order = np.argsort(lengths, kind="stable")[::-1]
        batches = [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]

        def embed(batch: NDArray[np.intp]) -> None:
            texts = [tokenizable(parts[i]) for i in batch]
            vectors[batch] = list(model.embed(texts, batch_size=_BATCH))

        if len(batches) < 2:
            for batch in batches:
                embed(batch)
        else:
            with ThreadPoolExecutor(usable_cpus()) as pool:
                for _ in pool.map(embed, batches):  # raises what a batch raised
                    pass
        return vectors

    def _load(self) -> TextEmbedding:
        with self._lock:
            if self._model is None:
                self._model = _open(self._folder, self._name, self._dimension, self._pooling)
            return self._model


def _border(text: str, start: int, limit: int) -> int:
    """The best place to cut ``text`` in (start, limit]."""
    middle = start + (limit - start) // 2
    for pattern in (_SENTENCE_END, _WORD_END):
        ends = [match.end() for match in pattern.finditer(text, middle, limit)]
        if ends and ends[-1] > start:
            return ends[-1]
    return max(limit, start + 1)


def _load_tokenizer(folder: Path) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # tokenizers raises nothing narrower
        raise ModelFileBad(f"{folder / 'tokenizer.json'} is not a tokenizer: {error}") from error
    tokenizer.no_truncation()  # the file asks for 128 tokens, padded
    tokenizer.no_padding()
    return tokenizer


def _open(folder: Path, name: str, dimension: int, pooling: Pooling | None = None) -> TextEmbedding:
    # ONNX Runtime looks its maker's telemetry host up when it is loaded; nothing later stops it.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    registered = f"localmem/{name}"
    with _REGISTER:  # a second registration of a name raises
        known = {model["model"] for model in TextEmbedding.list_supported_models()}
        if registered not in known:
            TextEmbedding.add_custom_model(
                model=registered,
                pooling=PoolingType(pooling.upper()) if pooling else PoolingType.DISABLED,
                normalization=pooling is not None,
                sources=ModelSource(url="file:///none"),  # required, and never used: the path is given
                dim=dimension,
                model_file=GRAPH,
            )
    try:
        return TextEmbedding(
            registered,
            specific_model_path=str(folder),
            cache_dir=str(folder),  # unused; by default a download folder appears among temporary files
            # A batch to a processor: ONNX Runtime's own threads wait for each other at every
            # operator, which costs a quarter of the speed, and more when others use the processors.
            threads=1,
            providers=["CPUExecutionProvider"],
        )
    except Exception as error:  # ONNX Runtime's errors share no base but Exception
        raise ModelFileBad(f"{folder / GRAPH} cannot be loaded: {error}") from error
