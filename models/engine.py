"""One llama.cpp model in this process: prompt in, greedy tokens out. Used by the host process only.

Importing this module loads the native library.
"""

from __future__ import annotations

import codecs
import ctypes
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
from llama_cpp._internals import LlamaModel, LlamaSampler

from localmem.models.chat_template import ChatTemplate
from localmem.models.cpus import usable_cpus
from localmem.models.errors import ModelFileBad, PromptTooLong
from localmem.models.protocols import ChatMessage, Finished, StopReason, TextDelta

_BATCH = 512  # prompt tokens per decode; llama.cpp's own default


class LlamaEngine:
    """A loaded model with its context. One generation at a time; ``count`` from any thread."""

    def __init__(self, path: Path, context: int) -> None:
        cpus = usable_cpus()
        try:
            self._llama: Any = llama_cpp.Llama(  # its methods are partly untyped
                model_path=str(path),
                n_ctx=min(context, _trained_context(path)),
                n_batch=_BATCH,
                n_threads=cpus,
                n_threads_batch=cpus,
                flash_attn=True,  # a 4,000-token prompt is read in 20 s instead of 28
                verbose=True,  # to stderr, which the parent keeps for its error texts
            )
        except ValueError as error:
            raise ModelFileBad(f"llama.cpp cannot load {path}: {error}") from error
        self._vocab = self._llama._model.vocab
        # A GBNF grammar, when there is one, goes into this chain before the greedy choice.
        self._sampler: Any = LlamaSampler()  # type: ignore[no-untyped-call]
        self._sampler.add_greedy()  # type: ignore[no-untyped-call]
        self._template = self._chat_template(path)
        self._stopping = ctypes.create_string_buffer(2)
        self._abort = llama_cpp.ggml_abort_callback(lambda _data: self._stopping[0] != b"\0")
        llama_cpp.llama_set_abort_callback(self._llama._ctx.ctx, self._abort, None)

    @property
    def context(self) -> int:
        """Window in tokens."""
        return int(self._llama.n_ctx())

    def count(self, messages: list[ChatMessage]) -> int:
        """Tokens of the rendered prompt."""
        return len(self._tokens(messages))

    def stop(self) -> None:
        """End the generation at its next native operation, about 15 ms away; from any thread."""
        self._stopping[0] = b"\1"

    def generate(
        self, messages: list[ChatMessage], max_tokens: int, stopped: Callable[[], bool]
    ) -> Iterator[TextDelta | Finished]:
        """Generate at temperature 0; ``stopped`` is asked between tokens and after an abort."""
        llama = self._llama
        tokens = self._tokens(messages)
        if len(tokens) + max_tokens > self.context:
            raise PromptTooLong(
                f"The prompt has {len(tokens)} tokens and {max_tokens} are asked for; "
                f"the model's window is {self.context}."
            )
        self._stopping[0] = b"\0"
        started = time.monotonic()
        reused = self._keep_prefix(tokens)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        written = 0
        first: float | None = None
        reason = StopReason.LENGTH
        pending = tokens[reused:]
        while True:
            if stopped() or not self._decode(pending, stopped):
                reason = StopReason.CANCELLED
                break
            token = self._sampler.sample(llama._ctx, -1)
            first = first or time.monotonic()
            if llama_cpp.llama_vocab_is_eog(self._vocab, token):
                reason = StopReason.END
                break
            written += 1
            text = decoder.decode(self._piece(token))  # holds back the bytes of an unfinished character
            if text:
                yield TextDelta(text)
            if written == max_tokens:
                break
            pending = [token]
        ended = time.monotonic()
        first = first or ended
        read = min(int(llama.n_tokens), len(tokens)) - reused
        yield Finished(reason, read, reused, written, first - started, ended - first)

    def _decode(self, tokens: list[int], stopped: Callable[[], bool]) -> bool:
        """Evaluate tokens; return False when it was stopped, with the state still usable."""
        try:
            self._llama.eval(tokens)
        except RuntimeError:  # llama_decode returned a code; 2 is "aborted"
            if not stopped():
                raise
            if not self._llama._ctx.kv_cache_seq_rm(0, self._llama.n_tokens, -1):
                self._llama.reset()  # a recurrent state cannot be rolled back
            return False
        return True

    def _keep_prefix(self, tokens: list[int]) -> int:
        """Cut the state back to what it shares with ``tokens``; return how many those are.

        One token is always left to evaluate: logits are not part of the state.
        """
        llama = self._llama
        # Per-role saved states will be restored here when a role changes.
        held = llama.input_ids[: llama.n_tokens]
        length = min(len(held), len(tokens) - 1)
        differ = np.nonzero(held[:length] != np.asarray(tokens[:length]))[0]
        shared = int(differ[0]) if len(differ) else length
        if shared and llama._ctx.kv_cache_seq_rm(0, shared, -1):
            llama.n_tokens = shared
            return shared
        llama.reset()
        llama._ctx.kv_cache_clear()
        return 0

    def _tokens(self, messages: list[ChatMessage]) -> list[int]:
        prompt = self._template.render(messages)
        return list(self._llama.tokenize(prompt.encode(), add_bos=False, special=True))

    def _chat_template(self, path: Path) -> ChatTemplate:
        template = self._llama.metadata.get("tokenizer.chat_template")
        if template is None:
            raise ModelFileBad(f"{path} has no chat template; use an instruct model.")
        control = [
            self._token_text(token)
            for token in range(self._llama.n_vocab())
            if llama_cpp.llama_vocab_is_control(self._vocab, token)
        ]
        llama = self._llama
        return ChatTemplate(
            template,
            eos=self._token_text(llama.token_eos()),
            bos=self._token_text(llama.token_bos()),
            control=control,
        )

    def _token_text(self, token: int) -> str:
        if token < 0:  # the vocabulary has none
            return ""
        raw: bytes = llama_cpp.llama_vocab_get_text(self._vocab, token)
        return raw.decode("utf-8", "replace")

    def _piece(self, token: int) -> bytes:
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, size, 0, False)
            if length >= 0:
                return buffer.raw[:length]
            size = -length


def _trained_context(path: Path) -> int:
    """The window that the model was trained for, in tokens; more only takes memory."""
    parameters = llama_cpp.llama_model_default_params()
    parameters.vocab_only = True
    model = LlamaModel(path_model=str(path), params=parameters)
    metadata = model.metadata()
    model.close()  # type: ignore[no-untyped-call]
    return int(metadata[f"{metadata['general.architecture']}.context_length"])
