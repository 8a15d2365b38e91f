"""llama.cpp without localmem around it, in a child process, to compare with: ``RawLlama``.

Run as ``python -P -m localmem.bench.raw_llama MODEL CONTEXT`` it is that child, and speaks the host's
protocol (:mod:`localmem.models.host`) with other operations:

* ``raw``: the library's C functions in the shortest loop that there is, nothing sent between tokens
* ``lookup``: the same with prompt-lookup speculation: what followed the last words earlier in the prompt is
  guessed to follow again, and checked in one evaluation
* ``high``: llama-cpp-python's own ``create_chat_completion``

All use the host's settings; none keeps anything from one call to the next, but ``raw`` and ``lookup`` can be
told how many tokens of a prompt the host has kept: those are read before the clock starts.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from localmem.errors import ModelCrashed
from localmem.models.child import Child, ChildDied
from localmem.models.cpus import inference_threads
from localmem.models.host import take_stdout
from localmem.models.protocols import ChatMessage

Way = Literal["raw", "lookup", "high"]

COMMAND = (sys.executable, "-P", "-m", "localmem.bench.raw_llama")
BATCH = 512
NGRAM = 2
"""Last tokens that are looked up in the prompt."""
DRAFT = 3
"""Tokens guessed at a time.

Evaluating 2, 3, 4, 5 or 9 tokens at once costs 1.4, 2.0, 2.2, 2.7 or 4.3 times what one costs
(SmolLM2-135M, one core); on summaries three guesses gave the most tokens for that.
"""
_WAIT = 600.0  # seconds for one operation


@dataclass(frozen=True, slots=True)
class Run:
    """One call, with its speed."""

    read: int
    """Prompt tokens that were evaluated."""
    reused: int
    """Prompt tokens that were not."""
    evaluated: int
    """Tokens that were evaluated after the first was there: those that ``seconds_written`` pays for."""
    steps: int
    """Evaluations of one or more tokens that this took."""
    seconds_read: float
    """Until the first token, or its text, was there."""
    seconds_written: float
    text: str

    @property
    def read_per_s(self) -> float:
        """Tokens read a second."""
        return self.read / self.seconds_read

    @property
    def write_per_s(self) -> float:
        """Tokens written a second; NaN when only one was."""
        return self.evaluated / self.seconds_written if self.evaluated else float("nan")


class RawLlama:
    """The child. Raises :class:`ModelCrashed` when it dies."""

    def __init__(self, path: Path, context: int) -> None:
        self._child = Child([*COMMAND, str(path), str(context)])

    def run(self, way: Way, messages: Sequence[ChatMessage], max_tokens: int, reused: int = 0) -> Run:
        """Read and write in one of the three ways; the first ``reused`` tokens are read beforehand."""
        try:
            self._child.ready(_WAIT)
            wire = [(message.role, message.text) for message in messages]
            inbox = self._child.request(way, messages=wire, max_tokens=max_tokens, reused=reused)
            event = self._child.receive(inbox, _WAIT)
        except ChildDied as death:
            raise ModelCrashed(f"The process of raw llama.cpp {death}") from None
        if event is None:
            raise ModelCrashed(f"Raw llama.cpp did not answer within {_WAIT:g} seconds.")
        self._child.forget(inbox)
        return Run(**event["run"])

    def close(self) -> None:
        """End the child."""
        self._child.close()


class _Library:
    """What the child holds: a model and the three ways to use it."""

    def __init__(self, path: str, context: int) -> None:
        import llama_cpp
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter
        from llama_cpp.llama_speculative import LlamaPromptLookupDecoding

        self._c: Any = llama_cpp
        threads = inference_threads()
        self._llama: Any = llama_cpp.Llama(
            model_path=path,
            n_ctx=context,
            n_batch=BATCH,
            n_threads=threads,
            n_threads_batch=threads,
            flash_attn=True,
            verbose=False,
        )
        self._context = self._llama._ctx.ctx
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._vocab = self._llama._model.vocab
        self._sampler = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
        llama_cpp.llama_sampler_chain_add(self._sampler, llama_cpp.llama_sampler_init_greedy())
        self._batch = llama_cpp.llama_batch_init(DRAFT + 1, 0, 1)
        self._guess = LlamaPromptLookupDecoding(max_ngram_size=NGRAM, num_pred_tokens=DRAFT)
        special = [self._piece(token) for token in (self._llama.token_eos(), self._llama.token_bos())]
        template = self._llama.metadata["tokenizer.chat_template"]
        self._format: Any = Jinja2ChatFormatter(template, eos_token=special[0], bos_token=special[1])

    def raw(self, messages: list[dict[str, str]], max_tokens: int, reused: int) -> Run:
        """The C functions, one token after the other."""
        return self._written(self._prompt(messages), max_tokens, reused, self._one)

    def lookup(self, messages: list[dict[str, str]], max_tokens: int, reused: int) -> Run:
        """The C functions, with guesses."""
        return self._written(self._prompt(messages), max_tokens, reused, self._some)

    def high(self, messages: list[dict[str, str]], max_tokens: int, _reused: int) -> Run:
        """The Python interface, streaming."""
        self._clear()
        self._llama.reset()
        prompt = self._prompt(messages)
        started = time.perf_counter()
        first, pieces = 0.0, []
        stream = self._llama.create_chat_completion(
            messages, max_tokens=max_tokens, temperature=0.0, stream=True
        )
        for chunk in stream:
            if piece := chunk["choices"][0]["delta"].get("content"):
                first = first or time.perf_counter()
                pieces.append(piece)
        ended = time.perf_counter()
        evaluated = int(self._llama.n_tokens) - len(prompt)
        text = "".join(pieces)
        return Run(len(prompt), 0, evaluated, evaluated, first - started, ended - first, text)

    def _written(
        self, prompt: list[int], max_tokens: int, reused: int, step: Callable[[list[int]], list[int]]
    ) -> Run:
        self._clear()
        self._read(prompt[:reused])
        started = time.perf_counter()
        self._read(prompt[reused:])
        tokens = [*prompt, self._c.llama_sampler_sample(self._sampler, self._context, -1)]
        first = time.perf_counter()
        limit = len(prompt) + max_tokens
        steps = 0
        while len(tokens) < limit and not self._ended(tokens[-1]):
            tokens += step(tokens)[: limit - len(tokens)]
            steps += 1
        ended = time.perf_counter()
        evaluated = len(tokens) - len(prompt) - 1
        text: bytes = self._llama.detokenize([t for t in tokens[len(prompt) :] if not self._ended(t)])
        written = text.decode("utf-8", "replace")
        read = len(prompt) - reused
        return Run(read, reused, evaluated, steps, first - started, ended - first, written)

    def _one(self, tokens: list[int]) -> list[int]:
        """The token that follows; all but the last of ``tokens`` are in the state."""
        self._decode(tokens[-1:])
        return [self._c.llama_sampler_sample(self._sampler, self._context, -1)]

    def _some(self, tokens: list[int]) -> list[int]:
        """The tokens that follow, as many as were guessed right and one more."""
        import numpy as np

        guessed = self._guess(np.array(tokens, np.intc)).tolist()
        tried = [tokens[-1], *guessed]
        self._batch.n_tokens = len(tried)
        for place, token in enumerate(tried):
            self._batch.token[place] = token
            self._batch.pos[place] = len(tokens) - 1 + place
            self._batch.n_seq_id[place] = 1
            self._batch.seq_id[place][0] = 0
            self._batch.logits[place] = 1
        self._check(self._c.llama_decode(self._context, self._batch))
        found: list[int] = []
        for place, guess in enumerate([*guessed, -1]):
            found.append(self._c.llama_sampler_sample(self._sampler, self._context, place))
            if found[-1] != guess or self._ended(guess):
                break
        self._c.llama_memory_seq_rm(self._memory, 0, len(tokens) - 1 + len(found), -1)
        return found

    def _read(self, tokens: list[int]) -> None:
        for at in range(0, len(tokens), BATCH):
            self._decode(tokens[at : at + BATCH])

    def _decode(self, tokens: list[int]) -> None:
        array = (ctypes.c_int32 * len(tokens))(*tokens)
        self._check(self._c.llama_decode(self._context, self._c.llama_batch_get_one(array, len(tokens))))

    def _check(self, code: int) -> None:
        if code:
            raise RuntimeError(f"llama_decode returned {code}")

    def _clear(self) -> None:
        self._c.llama_memory_clear(self._memory, True)

    def _ended(self, token: int) -> bool:
        return bool(self._c.llama_vocab_is_eog(self._vocab, token))

    def _prompt(self, messages: list[dict[str, str]]) -> list[int]:
        prompt = self._format(messages=messages).prompt
        return list(self._llama.tokenize(prompt.encode(), add_bos=False, special=True))

    def _piece(self, token: int) -> str:
        text: bytes = self._c.llama_vocab_get_text(self._vocab, token) if token >= 0 else b""
        return text.decode("utf-8", "replace")


def main() -> None:
    """Serve the GGUF file and context named on the command line until stdin ends."""
    events = take_stdout()

    def send(event: dict[str, Any]) -> None:
        events.write(json.dumps(event).encode() + b"\n")
        events.flush()

    library = _Library(sys.argv[1], int(sys.argv[2]))
    send({"event": "ready", "context": int(sys.argv[2])})
    for line in sys.stdin:
        request = json.loads(line)
        messages = [{"role": role, "content": text} for role, text in request["messages"]]
        way: Callable[..., Run] = getattr(library, request["op"])
        run = way(messages, request["max_tokens"], request["reused"])
        send({"id": request["id"], "event": "done", "run": asdict(run)})


if __name__ == "__main__":
    main()
