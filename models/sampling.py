"""The next token: the likeliest, under a grammar or without one, or one that is drawn."""

from __future__ import annotations

import ctypes
import re
from types import TracebackType
from typing import Any

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from localmem.models.errors import BadInput, ModelError
from localmem.models.protocols import Sampling
from localmem.models.text import tokenizable

_CANDIDATE = np.dtype([("id", np.intc), ("logit", np.single), ("p", np.single)])  # llama_token_data
_FEW = 64  # candidates that are tried before all are
# Literals, sets and comments first, so that a bound is only found outside of them.
_BOUND = re.compile(
    r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|#.*|\{\s*(?P<least>\d+)\s*,\s*(?P<most>\d+)\s*\}'
)


class Grammar:
    """A compiled GBNF grammar and how far a text has come in it. Use with ``with``: it is native memory.

    Compiling takes a tenth of a millisecond, so that none is kept. Raises :class:`BadInput` for one that
    does not compile.
    """

    def __init__(self, vocabulary: Any, text: str) -> None:
        text = tokenizable(text)
        _check(text)
        self._sampler = llama_cpp.llama_sampler_init_grammar(vocabulary, text.encode(), b"root")
        if not self._sampler:
            raise BadInput("This grammar does not compile: it is no GBNF, or it has no rule `root`.")

    def fitting(self, tokens: NDArray[np.intc]) -> NDArray[np.intc]:
        """Those of ``tokens`` that may come next, in their order."""
        candidates = np.zeros(len(tokens), _CANDIDATE)
        candidates["id"] = tokens
        array = llama_cpp.llama_token_data_array(
            data=candidates.ctypes.data_as(llama_cpp.llama_token_data_p),
            size=len(tokens),
            selected=-1,
            sorted=False,
        )
        llama_cpp.llama_sampler_apply(self._sampler, ctypes.byref(array))
        fitting: NDArray[np.intc] = tokens[candidates["logit"] != -np.inf]
        return fitting

    def accept(self, token: int) -> None:
        """Take a fitting token that is no end; any other throws in native code, and the process is gone."""
        llama_cpp.llama_sampler_accept(self._sampler, token)

    def __enter__(self) -> Grammar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        llama_cpp.llama_sampler_free(self._sampler)


def _check(text: str) -> None:
    """Refuse what llama.cpp takes though it should not."""
    if not text.strip():
        raise BadInput("This grammar is empty.")  # taken as none at all
    for found in _BOUND.finditer(text):
        least, most = found["least"], found["most"]
        if least and int(least) > int(most):
            # Takes all of the machine's memory.
            raise BadInput(f"This grammar does not compile: {found[0]} has its bounds the wrong way round.")


def likeliest(logits: NDArray[np.float32]) -> int:
    """The token with the highest score."""
    return int(logits.argmax())


class Drawn:
    """Draws tokens by their probabilities at a temperature: the highest score plus noise (Gumbel-max)."""

    def __init__(self, sampling: Sampling) -> None:
        self._temperature = sampling.temperature
        self._random = np.random.default_rng(sampling.seed)

    def __call__(self, logits: NDArray[np.float32]) -> int:
        """The next token; the same scores after the same seed give the same one."""
        return int((logits / self._temperature + self._random.gumbel(size=len(logits))).argmax())


def likeliest_fitting(logits: NDArray[np.float32], grammar: Grammar, barred: NDArray[np.intc]) -> int:
    """The fitting token with the highest score; ``barred`` ones never fit.

    As llama.cpp's own programs do, the best token is tried alone: it mostly fits, and to try the whole
    vocabulary takes as long as to compute a token. Where it does not fit the next few are tried.

    Raises :class:`ModelError` when no token fits: the grammar asks for what the vocabulary cannot spell.
    """
    best = likeliest(logits)
    if best not in barred and len(grammar.fitting(np.array([best], np.intc))):
        return best
    scores = logits.copy()
    scores[barred] = -np.inf
    few = np.argpartition(scores, max(0, len(scores) - _FEW))[-_FEW:].astype(np.intc)
    fitting = grammar.fitting(few)
    if not len(fitting):
        fitting = grammar.fitting(np.flatnonzero(scores != -np.inf).astype(np.intc))
    if not len(fitting):
        raise ModelError("No token of this model fits the grammar at this place.")
    return int(fitting[scores[fitting].argmax()])
