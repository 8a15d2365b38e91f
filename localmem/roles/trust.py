"""Whether a model is trusted with a role."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trust:
    """What is known of a model in a role."""

    trusted: bool = True
    """False: the role's rule stands in for it."""
    forced: bool = False
    """Somebody wants it although its probe says no."""
    reason: str = ""
    """In words for a ledger."""


TRUSTED = Trust()
