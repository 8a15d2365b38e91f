"""Whether the models of this machine really run: what ``localmem doctor`` asks.

A check never raises for what it looks for: it returns what it found and what to do about it.
"""

from __future__ import annotations

import importlib.util
import math
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

from localmem.models.catalog import ModelRole
from localmem.models.errors import BadInput, ModelCrashed, ModelError, ModelMissing, NetworkRefused
from localmem.models.library import Library
from localmem.models.protocols import ChatMessage, Finished

_BUILD = (
    "-DGGML_NATIVE=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_SERVER=OFF "
    "-DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TESTS=OFF"
)
_DECODE_SECONDS = 60.0  # to load and to write two tokens; a large model on a slow disk needs a while


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one check."""

    name: str
    ok: bool
    detail: str
    """What was found."""
    remedy: str = ""
    """What to do about it; empty when all is well or the detail says it."""


def reinstall_command() -> str:
    """The shell command that builds llama-cpp-python for any processor of this architecture.

    The default build takes the instruction set that the processor advertises; on some virtual
    machines not all of it is enabled, and the first decode dies. pip keeps the built
    wheel, so its cache is passed by.
    """
    python = shlex.quote(sys.executable)
    return (
        f'CMAKE_ARGS="{_BUILD}" {python} -m pip install --no-cache-dir --force-reinstall --no-deps '
        f"llama-cpp-python"
    )


def run_checks(library: Library) -> list[Check]:
    """Every check, in the order in which a failure explains the next."""
    return [check_llama_installed(), check_files(library), check_decode(library), check_embedding(library)]


def check_llama_installed() -> Check:
    """Whether llama-cpp-python is there; it is not loaded here, for loading can crash."""
    name = "llama.cpp installed"
    if importlib.util.find_spec("llama_cpp") is None:
        return Check(name, False, "llama-cpp-python is not installed", reinstall_command())
    return Check(name, True, f"llama-cpp-python {version('llama-cpp-python')}")


def check_files(library: Library) -> Check:
    """Whether the models in use are there and have the right hashes."""
    names = dict.fromkeys(library.role(role) for role in ModelRole)

    def verify() -> str:
        for model in names:
            library.verify(model)
        return ", ".join(names)

    return _attempt("model files", verify)


def check_decode(library: Library) -> Check:
    """Whether llama.cpp writes text here; it runs in a child process, which may die of it."""

    def decode() -> str:
        model = library.chat_model(ModelRole.ANSWERER)
        prompt = [ChatMessage("user", "Say yes.")]
        *_, last = model.stream(prompt, max_tokens=2, deadline=_DECODE_SECONDS)
        assert isinstance(last, Finished)
        return f"{model.name} read {last.tokens_read} tokens and wrote {last.tokens_written}"

    return _attempt("llama.cpp decodes", decode)


def check_embedding(library: Library) -> Check:
    """Whether the embedding model gives vectors of length 1."""

    def embed() -> str:
        embedder = library.embedder()
        vector = embedder.embed_query("a sentence")
        length = math.sqrt(float(vector @ vector))
        if not math.isclose(length, 1.0, abs_tol=1e-3):
            raise ModelError(f"{embedder.name} gave a vector of length {length:g} instead of 1")
        return f"{embedder.name}, {len(vector)} dimensions"

    return _attempt("embedding", embed)


def _attempt(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, True, check())
    except ModelCrashed as error:
        return Check(name, False, str(error), f"Build llama-cpp-python again:\n{reinstall_command()}")
    except (ModelMissing, BadInput, NetworkRefused) as error:
        return Check(name, False, str(error))
    except ModelError as error:
        return Check(name, False, str(error), "localmem models verify")
    except ImportError as error:
        remedy = f"{shlex.quote(sys.executable)} -m pip install --force-reinstall localmem-assistant"
        return Check(name, False, str(error), remedy)
