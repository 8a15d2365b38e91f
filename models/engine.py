"""One llama.cpp model in this process: prompt in, greedy tokens out. Used by the host process only.

Importing this module loads the native library.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import llama_cpp
import numpy as np

from localmem.models.chat_template import ChatTemplate
from localmem.models.errors import ModelFileBad, PromptTooLong
from localmem.models.native import NativeModel
from localmem.models.protocols import ChatMessage, Finished, Generated, Sampling, StopReason
from localmem.models.reuse import Future, PrefixReuse, Prompt
from localmem.models.sampling import Drawn, Grammar, likeliest, likeliest_fitting
from localmem.models.states import SavedStates, StateFiles, shared_length
from localmem.models.thinking import Reply

_THOUGHT = 256  # tokens that a model may think that was not to think, and could not be kept from it
# What a state's bytes depend on; the KV cache's types and flash attention are the same in every context.
_LAYOUT = f"llama-cpp-python {llama_cpp.__version__}, f16, flash attention"


class LlamaEngine:
    """A loaded model with its context. One generation at a time; ``count`` from any thread.

    ``states`` is a folder for the states of fixed prefixes of this model. ``beat`` is called whenever
    native work got on.
    """

    def __init__(
        self,
        path: Path,
        context: int,
        *,
        states: Path | None = None,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        self._model = NativeModel(path, context, beat)
        self._beat = beat
        control = self._model.control_tokens()
        self._barred = np.array([t for t in control if not self._model.is_end(t)], np.intc)
        self._template = self._chat_template(path, control)
        self._tags = {
            tokens[0]: tag.encode()
            for pair in self._template.tags
            for tag in pair
            if len(tokens := self._model.tokenize(tag)) == 1
        }
        files = None if states is None else StateFiles(states, _LAYOUT)
        self._reuse = PrefixReuse(self._model, SavedStates(files))

    @property
    def context(self) -> int:
        """Window in tokens."""
        return self._model.context

    def count(self, messages: list[ChatMessage]) -> int:
        """Tokens of the rendered prompt."""
        return len(self._model.tokenize(self._template.render(messages)))

    def stop(self) -> None:
        """End the generation at its next native operation, about 15 ms away; from any thread."""
        self._model.stop()

    def rest(self) -> None:
        """Nothing is asked for: do what would make the next call wait."""
        self._reuse.rest()

    def generate(
        self,
        messages: list[ChatMessage],
        max_tokens: int,
        fixed: int,
        grammar: str | None,
        sampling: Sampling | None,
        think: int,
        stopped: Callable[[], bool],
    ) -> Iterator[Generated]:
        """Generate; ``stopped`` is asked between tokens and after an abort.

        ``fixed``, ``grammar``, ``sampling`` and ``think`` are as
        :class:`localmem.models.protocols.ChatModel` has them.
        """
        if grammar is not None:
            think = 0  # what follows is to be a value from its first character on
        text = self._template.render(messages, think=think > 0)
        prompt = self._prompt(text, messages, fixed, think=think > 0, structured=grammar is not None)
        if len(prompt.tokens) + think + max_tokens > self.context:
            raise PromptTooLong(
                f"The prompt has {len(prompt.tokens)} tokens and {think + max_tokens} are asked for; "
                f"the model's window is {self.context}."
            )
        with contextlib.ExitStack() as stack:
            rules = None
            if grammar is not None:
                rules = stack.enter_context(Grammar(self._model.vocabulary, grammar))
            drawn = None if sampling is None or rules else Drawn(sampling)
            reply = Reply([] if rules else self._template.tags, self._template.begun(text))
            yield from self._generate(prompt, reply, max_tokens, think, rules, drawn, stopped)

    def _generate(
        self,
        prompt: Prompt,
        reply: Reply,
        max_tokens: int,
        think: int,
        rules: Grammar | None,
        drawn: Drawn | None,
        stopped: Callable[[], bool],
    ) -> Iterator[Generated]:
        model = self._model
        model.start()
        started = time.monotonic()
        reused = self._reuse.resume(prompt)
        evaluated = model.evaluated
        written, most = 0, max_tokens
        first: float | None = None
        reason = None if self._read(prompt, stopped) else StopReason.CANCELLED
        read = model.evaluated - evaluated
        while reason is None:
            token = self._choose(rules) if drawn is None else drawn(model.logits())
            self._beat()
            first = first or time.monotonic()
            if model.is_end(token):
                reason = StopReason.END
                break
            pending = [token]
            thought = reply.closing_tag
            yield from reply.feed(self._tags.get(token) or model.piece(token))
            thinking = reply.closing_tag
            if thinking and written >= (think or min(_THOUGHT, max_tokens // 2)):
                pending += model.tokenize(f"\n{thinking}\n\n")
                yield from reply.stop_thinking()
            written += len(pending)
            if thought or thinking:
                most = max_tokens + min(written, think)
            if written >= most:
                reason = StopReason.LENGTH
            elif stopped() or not model.decode(pending):
                reason = StopReason.CANCELLED
        yield from reply.end(whole=reason is StopReason.END)
        ended = time.monotonic()
        first = first or ended
        yield Finished(reason, read, reused, min(written, most), first - started, ended - first)

    def _choose(self, rules: Grammar | None) -> int:
        logits = self._model.logits()
        if rules is None:
            return likeliest(logits)
        token = likeliest_fitting(logits, rules, self._barred)
        if not self._model.is_end(token):
            rules.accept(token)
        return token

    def _read(self, prompt: Prompt, stopped: Callable[[], bool]) -> bool:
        """Evaluate what is left of the prompt; return False when it was stopped."""
        held = len(self._model.held)
        for end in (prompt.fixed, len(prompt.tokens)):
            if held > end:
                continue
            if stopped() or not self._model.decode(prompt.tokens[held:end]):
                return False
            held = end
            if end == prompt.fixed:
                self._reuse.keep_fixed()
        return True

    def _prompt(
        self, text: str, messages: list[ChatMessage], fixed: int, *, think: bool, structured: bool
    ) -> Prompt:
        tokens = self._model.tokenize(text)
        length = 0
        if fixed:
            one, other = map(
                self._model.tokenize, self._template.render_beginning(messages[:fixed], think=think)
            )
            length = min(shared_length(one, other), shared_length(one, tokens), len(tokens) - 1)
        answered = any(message.role == "assistant" for message in messages[fixed:])
        future = Future.NONE if structured else Future.LIKELY if answered else Future.POSSIBLE
        return Prompt(tokens, length, future)

    def _chat_template(self, path: Path, control: Sequence[int]) -> ChatTemplate:
        model = self._model
        template = model.metadata.get("tokenizer.chat_template")
        if template is None:
            raise ModelFileBad(f"{path} has no chat template; use an instruct model.")
        return ChatTemplate(
            template,
            eos=model.token_text(llama_cpp.llama_vocab_eos(model.vocabulary)),
            bos=model.token_text(llama_cpp.llama_vocab_bos(model.vocabulary)),
            control=[model.token_text(token) for token in control],
        )
