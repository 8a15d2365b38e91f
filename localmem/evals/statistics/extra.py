"""The libraries of the extra ``eval``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from localmem.errors import BadInput

INSTALL = "pip install 'localmem-assistant[eval]'"


@contextmanager
def needed() -> Iterator[None]:
    """Around an import of scipy or statsmodels: a missing one is :class:`BadInput` that says what to do."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise BadInput(f"Statistics need {error.name}. Install it with: {INSTALL}") from error
