"""What a person is told when a worker failed."""

from __future__ import annotations

from localmem.errors import LocalmemError
from localmem.text import printable


def failure_text(error: BaseException | None) -> str:
    """A failure in words; errors made on purpose already are."""
    if isinstance(error, LocalmemError):
        return printable(str(error))
    return printable(f"This should not have happened: {type(error).__name__}: {error}")
