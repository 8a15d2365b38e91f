"""Which questions a run asks: a seeded draw, in proportion to the categories if wanted, and shards of it.

The draw depends on the questions' ids alone, not on their order in the file.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from localmem.errors import BadInput
from localmem.evals.datasets import Question

Shard = tuple[int, int]
"""(I, N): the I-th of N parts, from 1."""
_NUMBER = re.compile(r"([0-9]+)")


def choose(
    questions: Iterable[Question],
    limit: int | None = None,
    *,
    stratify: bool = False,
    seed: int = 0,
    shard: Shard | None = None,
) -> tuple[str, ...]:
    """Ids of the questions to ask, in natural order (``conv-2/9`` before ``conv-2/10``).

    ``limit`` of them are drawn; None: all. With ``stratify`` each category gets its share of them, at least
    one. A shard is a run of neighbours in the drawn list, so that it needs the stores of few conversations;
    the shards of the same draw share none and together are all of it.

    Raises :class:`BadInput` for a stratified limit below the number of categories, or a shard that there is
    not.
    """
    category = {question.id: question.category for question in questions}
    ids = sorted(category, key=_natural)
    if limit is not None and limit < len(ids):
        drawn = (
            _stratified(ids, category, limit, seed) if stratify else random.Random(seed).sample(ids, limit)
        )
        ids = sorted(drawn, key=_natural)
    if shard is not None:
        part, parts = _checked(shard)
        ids = ids[len(ids) * (part - 1) // parts : len(ids) * part // parts]
    return tuple(ids)


def parse_shard(text: str) -> Shard:
    """``2/4`` as (2, 4). Raises :class:`BadInput` for what is no such thing."""
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text.strip())
    if match is None:
        raise BadInput(f"A shard reads I/N, such as 1/4; found {text!r}.")
    return _checked((int(match[1]), int(match[2])))


def _checked(shard: Shard) -> Shard:
    part, parts = shard
    if not 1 <= part <= parts:
        raise BadInput(f"There is no shard {part} of {parts}: they are 1/{parts} to {parts}/{parts}.")
    return shard


def seats(sizes: Sequence[int], limit: int) -> list[int]:
    """How many of ``limit`` each category gets: in proportion to ``sizes``, at least one each.

    The method of largest remainders: whole parts first, then one more where most is missing; what the
    smallest categories get beyond their share is taken where there is most too much. ``limit`` lies between
    the number of categories and the sum of ``sizes``, which are all above 0.
    """
    total = sum(sizes)
    given = [max(1, size * limit // total) for size in sizes]

    def missing(place: int) -> int:
        return sizes[place] * limit - given[place] * total

    while sum(given) < limit:
        given[max(range(len(sizes)), key=missing)] += 1
    while sum(given) > limit:
        given[min((place for place, count in enumerate(given) if count > 1), key=missing)] -= 1
    return given


def _stratified(ids: Sequence[str], category: dict[str, str], limit: int, seed: int) -> list[str]:
    members: dict[str, list[str]] = defaultdict(list)
    for identity in ids:
        members[category[identity]].append(identity)
    names = sorted(members)
    if limit < len(names):
        raise BadInput(
            f"A stratified draw needs a question of each category, and there are {len(names)}: "
            f"{', '.join(names)}. Give --limit {len(names)} or more, or leave --stratify out."
        )
    counts = seats([len(members[name]) for name in names], limit)
    return [
        identity
        for name, count in zip(names, counts, strict=True)
        for identity in random.Random(f"{seed}/{name}").sample(members[name], count)
    ]


def _natural(identity: str) -> tuple[list[tuple[int, str]], str]:
    """Sorts numbers in ids by value."""
    parts = _NUMBER.split(identity)  # text, number, text ...
    parts[1::2] = [number.lstrip("0") for number in parts[1::2]]
    return [(len(part) if place % 2 else 0, part) for place, part in enumerate(parts)], identity
