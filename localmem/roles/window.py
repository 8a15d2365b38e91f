"""How much material fits a model's window. It is dropped whole, least useful first, and never cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from localmem.models.protocols import ChatMessage, ChatModel

_FEW = 64  # pieces of material that are worth trying all at once


def pieces_that_fit(
    model: ChatModel,
    build: Callable[[int], Sequence[ChatMessage]],
    pieces: int,
    max_tokens: int,
    *,
    window: int | None = None,
) -> int | None:
    """How many of ``pieces`` leave room for ``max_tokens``; None when not even 0 do.

    ``build(n)`` gives the prompt with the ``n`` most useful pieces; it grows with ``n``. ``window``: tokens
    of prompt and reply together, where it is to be smaller than the model's.
    """
    room = min(model.context, window or model.context) - max_tokens

    def fits(count: int) -> bool:
        return model.count(build(count)) <= room

    if pieces <= _FEW and fits(pieces):
        return pieces
    most = _largest(fits, pieces)
    return most if most >= 0 else None


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """The largest count up to ``most`` that fits, or -1.

    It begins at the small end: a long history costs no more than what is kept of it.
    """
    low, step = -1, 1
    while low + step <= most and fits(low + step):
        low += step
        step *= 2
    high = min(low + step, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low
