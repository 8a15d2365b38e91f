"""Timing a model: prompts from short to long, a few tokens written after each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from localmem.models.costlaw import Law, Timed, fit, reading_of, writing_of
from localmem.models.errors import ModelError
from localmem.models.protocols import ChatMessage, ChatModel, Finished, StopReason

PASSES = ((32, 128, 512, 2048), (64, 256))
"""Prompt sizes in tokens. Within a pass each prompt goes on from the one before it."""
WRITTEN = 32
"""Tokens written after each prompt."""
FEWEST = 8
"""Written tokens that are enough to be timed."""
LIMIT = 20.0
"""Seconds that prompts may take together; one that would take longer is left out."""
GRAMMAR = "root ::= [a-zA-Z0-9 ,.]{60,400}"
"""As dear as one for JSON: what a grammar costs is the look at each step's candidates."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What timing a model gave."""

    law: Law
    error: float
    """Root mean square of the law's relative residuals."""
    grammar_cost: float
    """Seconds of writing under a grammar beside writing freely."""


class _Cancelled(Exception):
    """The cancel event was set."""


def measure_law(
    model: ChatModel, progress: Callable[[float], None], cancel: threading.Event
) -> Measured | None:
    """Time ``model`` and fit its law; None when it was cancelled. ``progress`` gets 0 to 1.

    Raises what the model raises, and :class:`ModelError` when it writes too little to be timed.
    """
    try:
        return _measure(model, progress, cancel)
    except _Cancelled:
        return None


def _measure(model: ChatModel, progress: Callable[[float], None], cancel: threading.Event) -> Measured:
    prompts = list(_prompts(model))
    first = prompts[0][1]
    total, done = sum(size for size, _ in prompts), 0
    reads: list[Timed] = []
    writes: list[Timed] = []
    spent = a_token = 0.0  # seconds
    _call(model, first, cancel)  # maps the weights into memory, so its time says nothing
    for size, prompt in prompts:
        if spent + a_token * size <= LIMIT:
            call = _call(model, prompt, cancel)
            spent += call.seconds_read + call.seconds_written
            a_token = max(a_token, call.seconds_read / max(call.tokens_read, FEWEST))
            reads += [read] if (read := reading_of(call)) else []
            writes += [written] if (written := _enough(call)) else []
        done += size
        progress(done / total)
    bound = _enough(_call(model, first, cancel, GRAMMAR))
    if not reads or not writes or bound is None:
        raise ModelError(f"{model.name} cannot be timed: asked to copy a text, it writes next to nothing.")
    law, error = fit(reads, writes)
    return Measured(law, error, bound.seconds / law.writing(bound.start, bound.count))


def _call(
    model: ChatModel, prompt: ChatMessage, cancel: threading.Event, grammar: str | None = None
) -> Finished:
    *_, last = model.stream([prompt], max_tokens=WRITTEN, grammar=grammar, cancel=cancel)
    assert isinstance(last, Finished)
    if last.reason is StopReason.CANCELLED:
        raise _Cancelled
    return last


def _enough(call: Finished) -> Timed | None:
    written = writing_of(call)
    return written if written and written.count >= FEWEST else None


def _prompts(model: ChatModel) -> Iterator[tuple[int, ChatMessage]]:
    """Prompts of about the sizes in ``PASSES`` that fit the window, each with its size wished for."""
    for number, sizes in enumerate(PASSES, 1):
        least = model.count([_prompt(number, 0)])
        line = (model.count([_prompt(number, 20)]) - least) / 20
        for size in sizes:
            prompt = _prompt(number, max(round((size - least) / line), 1))
            if model.count([prompt]) + WRITTEN <= model.context:
                yield size, prompt


def _prompt(number: int, lines: int) -> ChatMessage:
    """A request that even the smallest model answers at length, about a made-up ship's log."""
    winds = ("north", "east", "south", "west")
    days = (
        f"Day {day}: {day * 7 % 31} miles, wind {winds[day % 4]}, {day * 5 % 17} gulls, all well."
        for day in range(1, lines + 1)
    )
    return ChatMessage("user", "\n".join([f"Copy log {number} word for word.", *days]))
