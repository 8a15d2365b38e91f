"""A model whose calls are held to a budget."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

from localmem.answering.accounting import count_model
from localmem.disclosure.budget import Cost, Meter
from localmem.errors import ModelUnaffordable
from localmem.models.calibration import Calibration
from localmem.models.protocols import ChatMessage, ChatModel, Finished, Generated, Sampling

Calibrate = Callable[[ChatModel], Calibration]
"""What predicts the seconds of a model's calls on this machine."""


class Metered:
    """Passes calls on to ``model`` if they can be afforded, under what time is left, and counts their cost.

    A call that cannot is :class:`ModelUnaffordable`. Tokens are predicted as if none were reused and all
    of ``max_tokens`` written, so that no limit is passed. Seconds are what the machine's calibration expects
    (0 without one) of a call that reuses its fixed prefix and writes half of what it may: the deadline holds
    one that takes longer.
    """

    def __init__(
        self, model: ChatModel, meter: Meter, calibration: Calibration | None, *, counts: bool = True
    ) -> None:
        """``counts`` False: the caller enters what a call cost in the ledger."""
        self._model = model
        self._meter = meter
        self._calibration = calibration
        self._counts = counts

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def fingerprint(self) -> str:
        """The model's fingerprint."""
        return self._model.fingerprint

    @property
    def context(self) -> int:
        """The model's window, in tokens."""
        return self._model.context

    def count(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens of ``messages``."""
        return self._model.count(messages)

    def predict(self, prompt_tokens: int, max_tokens: int, reused: int = 0, *, grammar: bool = False) -> Cost:
        """What a call costs at most in tokens, and is expected to in seconds."""
        seconds = 0.0
        if self._calibration is not None:
            seconds = self._calibration.predict(prompt_tokens, max_tokens // 2, reused, grammar=grammar)
        return Cost(model_tokens=prompt_tokens + max_tokens, seconds=seconds)

    def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        max_tokens: int,
        fixed: int = 0,
        grammar: str | None = None,
        sampling: Sampling | None = None,
        think: int = 0,
        cancel: threading.Event | None = None,
        deadline: float | None = None,
    ) -> Iterator[Generated]:
        """See :meth:`ChatModel.stream`; raises :class:`ModelUnaffordable` before any work."""
        prompt = self.count(messages)
        reused = min(self.count(messages[:fixed]), prompt) if fixed else 0
        cost = self.predict(prompt, think + max_tokens, reused, grammar=grammar is not None)
        lack = self._meter.lacks(cost)
        if lack is not None:
            left = self._meter.left()
            raise ModelUnaffordable(
                f"not enough {lack} left for a call of about {cost.model_tokens} tokens and "
                f"{cost.seconds:.0f} s: {left.model_tokens} tokens and {left.seconds:.0f} s are"
            )
        seconds = self._meter.left().seconds
        for piece in self._model.stream(
            messages,
            max_tokens=max_tokens,
            fixed=fixed,
            grammar=grammar,
            sampling=sampling,
            think=think,
            cancel=cancel,
            deadline=seconds if deadline is None else min(deadline, seconds),
        ):
            if isinstance(piece, Finished):
                self._enter(piece, grammar is not None)
            yield piece

    def close(self) -> None:
        """Nothing: the model is its owner's to close."""

    def _enter(self, finished: Finished, grammar: bool) -> None:
        if self._counts:
            count_model(self._meter.ledger, finished)
        if self._calibration is not None:
            self._calibration.observe(finished, grammar=grammar)
