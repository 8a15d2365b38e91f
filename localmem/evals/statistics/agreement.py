"""How far two raters agree. Needs no library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence


def agreement(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Share of the things that both raters gave the same label; None when there is none to rate."""
    same = [one == other for one, other in zip(first, second, strict=True)]
    return sum(same) / len(same) if same else None


def kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Cohen's kappa (1960): agreement beyond the chance that the two raters' own shares of labels give.

    None where it is undefined: nothing was rated, or both gave everything the same label, so that chance
    alone agrees on all of it.
    """
    observed = agreement(first, second)
    if observed is None:
        return None
    one, other = Counter(first), Counter(second)
    pairs = len(first) ** 2
    by_chance = sum(one[label] * other[label] for label in one)  # in whole pairs: 1 is met exactly
    return None if by_chance == pairs else (observed - by_chance / pairs) / (1 - by_chance / pairs)
