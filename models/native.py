"""llama.cpp's C API as far as the engine needs it: a GGUF file and one sequence of tokens in its window.

Importing this module loads the native library.
"""

from __future__ import annotations

import ctypes
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
from llama_cpp._internals import LlamaContext, LlamaModel
from numpy.typing import NDArray

from localmem.models.cpus import inference_threads
from localmem.models.errors import LocalmemError, ModelError, ModelFileBad, ModelOutOfMemory

Logits = NDArray[np.float32]
State = NDArray[np.uint8]

_BATCH = 512  # prompt tokens per decode; llama.cpp's own default
_SLOW = 0.2  # seconds for one token from which on a person would wait for its end
_ABORTED = 2  # llama_decode's return codes
_NO_MEMORY = -2
_WARNING, _ERROR = 3, 4  # of ggml_log_level
_LACK = re.compile("allocate|insufficient memory|bad_alloc", re.IGNORECASE)
_errors: deque[str] = deque(maxlen=8)  # what llama.cpp reported last, newest at the end


def _log(level: int, text: bytes, _data: object) -> None:
    """Pass warnings and errors on to stderr; the rest is two thousand lines a start."""
    if level in (_WARNING, _ERROR):
        line = text.decode("utf-8", "replace")
        sys.stderr.write(line)
        if level == _ERROR:
            _errors.append(line.strip())


_LOG = llama_cpp.llama_log_callback(_log)  # to be kept for as long as the library is loaded
llama_cpp.llama_log_set(_LOG, ctypes.c_void_p(0))


_NO_CALLBACK = llama_cpp.ggml_abort_callback(0)


class NativeModel:
    """A loaded model and the tokens that it holds in its window.

    ``beat`` is called whenever native work got on: while loading, and for every operation of a decode. The
    vocabulary may be used from any thread, the rest from one at a time.
    """

    def __init__(self, path: Path, context: int, beat: Callable[[], None]) -> None:
        self._beat = beat
        self._stopping = False
        parameters = llama_cpp.llama_model_default_params()
        self._progress = llama_cpp.llama_progress_callback(self._loading)
        parameters.progress_callback = self._progress
        _errors.clear()
        try:
            self._model: Any = LlamaModel(path_model=str(path), params=parameters)
        except ValueError:
            raise _refused(path) from None
        self.vocabulary: Any = self._model.vocab
        self.size = int(self._model.n_vocab())
        """Tokens in the vocabulary."""
        self.metadata: dict[str, str] = self._model.metadata()
        # More than a model was trained for only takes memory.
        self._context = self._open_context(path, min(context, self._model.n_ctx_train()))
        self._memory = self._context.memory
        self._abort = llama_cpp.ggml_abort_callback(self._should_abort)
        self._slow_token = True  # how long one takes is not known yet
        self._threads = 0
        self.can_be_cut = not (
            llama_cpp.llama_model_is_recurrent(self._model.model)
            or llama_cpp.llama_model_is_hybrid(self._model.model)
        )
        """Whether the newest tokens can be taken out of the state again."""
        self.held: list[int] = []
        """The tokens whose evaluation is in the state."""
        self.evaluated = 0
        """Tokens evaluated since the model was loaded."""

    @property
    def context(self) -> int:
        """Window in tokens."""
        return int(self._context.n_ctx())

    def tokenize(self, text: str) -> list[int]:
        """Tokens of ``text``; control tokens that are spelled out in it become just these."""
        return list(self._model.tokenize(text.encode(), add_bos=False, special=True))

    def piece(self, token: int) -> bytes:
        """UTF-8 of a token, perhaps a part of a character; nothing for a control token."""
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = llama_cpp.llama_token_to_piece(self.vocabulary, token, buffer, size, 0, False)
            if length >= 0:
                return buffer.raw[:length]
            size = -length

    def token_text(self, token: int) -> str:
        """A token as the vocabulary spells it; empty for the number of a token that it does not have."""
        if token < 0:
            return ""
        raw: bytes = llama_cpp.llama_vocab_get_text(self.vocabulary, token)
        return raw.decode("utf-8", "replace")

    def is_end(self, token: int) -> bool:
        """Whether a model ends its turn by this token."""
        return bool(llama_cpp.llama_vocab_is_eog(self.vocabulary, token))

    def control_tokens(self) -> list[int]:
        """Tokens that structure a prompt and are no text."""
        return [t for t in range(self.size) if llama_cpp.llama_vocab_is_control(self.vocabulary, t)]

    def start(self) -> None:
        """Get ready for a call: forget an earlier :meth:`stop`, use as many threads as are good now."""
        self._stopping = False
        threads = inference_threads()
        if threads != self._threads:
            self._context.set_n_threads(threads, threads)
            self._threads = threads

    def stop(self) -> None:
        """End the decode that runs at its next operation, about 15 ms away; from any thread."""
        self._stopping = True

    def decode(self, tokens: Sequence[int]) -> bool:
        """Evaluate tokens after the held ones; return False when it was stopped on the way.

        Raises :class:`ModelOutOfMemory` and :class:`ModelError`, with nothing held any more.
        """
        for start in range(0, len(tokens), _BATCH):
            part = tokens[start : start + _BATCH]
            started = time.monotonic()
            self._watch(len(part) > 1 or self._slow_token)
            array = (llama_cpp.llama_token * len(part))(*part)
            code = llama_cpp.llama_decode(self._context.ctx, llama_cpp.llama_batch_get_one(array, len(part)))
            if code == _ABORTED:
                if not self.cut(len(self.held)):
                    self.clear()
                return False
            if code != 0:
                self.clear()
                raise _decode_error(code)
            if len(part) == 1:
                self._slow_token = time.monotonic() - started > _SLOW
            self.held += part
            self.evaluated += len(part)
        return True

    def _watch(self, watched: bool) -> None:
        """Have the next decode ask for each operation whether to stop.

        That is Python called five hundred times, a twentieth of the time of a small model's token: one that
        is over at once is not worth it, the caller asks between tokens.
        """
        callback = self._abort if watched else _NO_CALLBACK
        llama_cpp.llama_set_abort_callback(self._context.ctx, callback, None)

    def logits(self) -> Logits:
        """Scores of the next token, shape (size,): a view that the next decode overwrites."""
        pointer = llama_cpp.llama_get_logits_ith(self._context.ctx, -1)
        logits: Logits = np.ctypeslib.as_array(pointer, shape=(self.size,))
        return logits

    def cut(self, length: int) -> bool:
        """Take all but the first ``length`` tokens out of the state; False if this model's cannot be cut."""
        if not llama_cpp.llama_memory_seq_rm(self._memory, 0, length, -1):
            return False
        del self.held[length:]
        return True

    def clear(self) -> None:
        """Hold nothing."""
        llama_cpp.llama_memory_clear(self._memory, True)
        self.held.clear()

    def state_size(self) -> int:
        """Bytes of a copy of the state."""
        return int(llama_cpp.llama_state_seq_get_size(self._context.ctx, 0))

    def state(self) -> State | None:
        """A copy of the state, without logits; None when there is no memory for it."""
        try:
            data: State = np.empty(self.state_size(), np.uint8)
        except MemoryError:
            return None
        written = llama_cpp.llama_state_seq_get_data(self._context.ctx, _bytes(data), len(data), 0)
        return data if written == len(data) else None

    def restore(self, tokens: Sequence[int], state: State) -> bool:
        """Hold ``tokens``, whose :meth:`state` this was; False, with nothing held, when it does not fit."""
        self.clear()
        if not llama_cpp.llama_state_seq_set_data(self._context.ctx, _bytes(state), len(state), 0):
            self.clear()
            return False
        self.held = list(tokens)
        return True

    def _open_context(self, path: Path, size: int) -> Any:
        parameters = llama_cpp.llama_context_default_params()
        parameters.n_ctx = size
        parameters.n_batch = parameters.n_ubatch = min(_BATCH, size)
        # A 4,000-token prompt is read in 20 s instead of 28.
        parameters.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
        try:
            return LlamaContext(model=self._model, params=parameters)
        except ValueError:
            raise _refused(path) from None

    def _loading(self, _share: float, _data: object) -> bool:
        self._beat()
        return True  # go on

    def _should_abort(self, _data: object) -> bool:
        self._beat()
        return self._stopping


def _bytes(data: State) -> Any:
    return data.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))


def _refused(path: Path) -> LocalmemError:
    """Why llama.cpp did not load a model: it reports nothing but null, and says the reason in its log."""
    for line in _errors:
        if _LACK.search(line):
            return ModelOutOfMemory(f"There is not enough free memory for {path.name} ({line}).")
    reason = next((line for line in _errors if "error loading" in line), "it gives no reason")
    return ModelFileBad(f"llama.cpp cannot load {path}: {reason}")


def _decode_error(code: int) -> ModelError:
    if code == _NO_MEMORY:
        return ModelOutOfMemory("There is not enough free memory to compute in.")
    return ModelError(f"llama.cpp failed to evaluate tokens (llama_decode returned {code}).")
