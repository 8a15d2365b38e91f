"""Messages that name the one before them: the path that a conversation went on from, then its other ways.

Exports are damaged in ways that a walk must survive: a parent that is not there, parents in a circle, an
unknown last message. No message is lost to them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from localmem.store.branches import ROOT
from localmem.types import NewMessage

_BROKEN = "parent that is not there or leads in a circle (the message was kept)"
"""Reason under which links are counted that could not be followed."""


@dataclass(frozen=True, slots=True)
class Laid:
    """The messages of a conversation in the order in which they are stored."""

    order: tuple[str, ...]
    """Ids: the path first, then each other branch."""
    path: tuple[str, ...]
    parents: Mapping[str, str | None]
    """Each id's parent, None where it begins the conversation; free of circles."""
    broken: int
    """Links that could not be followed."""


def lay(parents: Mapping[str, str | None], leaf: object, times: Mapping[str, datetime] | None = None) -> Laid:
    """Order the nodes of a tree given as id -> parent; ``leaf`` is where the path ends.

    Without a known leaf it ends at the latest of the ids that nothing follows, by ``times`` and order.
    """
    known = times or {}
    mended, broken = _without_circles(parents)
    followed = {parent for parent in mended.values() if parent is not None}
    leaves = [node for node in mended if node not in followed]
    if not isinstance(leaf, str) or leaf not in mended:
        latest = max((known[node] for node in leaves if node in known), default=None)
        leaf = next((node for node in reversed(leaves) if latest in (None, known.get(node))), None)
    path = _up(mended, leaf, set())
    order = list(path)
    placed = set(order)
    for other in leaves:
        way = _up(mended, other, placed)
        order += way
        placed.update(way)
    return Laid(tuple(order), tuple(path), mended, broken)


def _up(parents: Mapping[str, str | None], node: str | None, until: set[str]) -> list[str]:
    way = []
    while node is not None and node not in until:
        way.append(node)
        node = parents[node]
    return way[::-1]


def _without_circles(parents: Mapping[str, str | None]) -> tuple[dict[str, str | None], int]:
    """Cut each link that leads nowhere, and of each circle that of its first node; also how many."""
    rank = {node: place for place, node in enumerate(parents)}
    mended: dict[str, str | None] = {}
    broken = 0
    for start in parents:
        walked: list[str] = []
        seen: set[str] = set()
        node: str | None = start
        while node is not None and node not in mended and node not in seen:
            walked.append(node)
            seen.add(node)
            node = parents[node] if parents[node] in rank else None
        if node is not None and node in seen:
            circle = walked[walked.index(node) :]
            mended[min(circle, key=rank.__getitem__)] = None
            broken += 1
        for passed in walked:
            above = parents[passed]
            broken += above is not None and above not in rank
            mended.setdefault(passed, above if above in rank else None)
    return {node: mended[node] for node in parents}, broken


def in_order(
    laid: Laid, messages: Mapping[str, NewMessage], skipped: Counter[str]
) -> tuple[tuple[NewMessage, ...], str | None]:
    """Take the kept messages in the order of ``laid``, each with its nearest kept ancestor as its parent.

    A message without a time takes its parent's, marked. Also the id of the last one on the path; None when
    the path has none. Broken links are counted.
    """
    nearest: dict[str, str] = {}
    kept: dict[str, NewMessage] = {}
    for node in laid.order:  # a parent comes before what follows it
        above = laid.parents[node]
        parent = ROOT if above is None else nearest[above]
        nearest[node] = node if node in messages else parent
        if node in messages:
            message = replace(messages[node], parent=parent)
            if message.sent_at is None and parent != ROOT and kept[parent].sent_at is not None:
                message = replace(message, sent_at=kept[parent].sent_at, sent_at_inferred=True)
            kept[node] = message
    if laid.broken:
        skipped[_BROKEN] += laid.broken
    leaf = nearest[laid.path[-1]] if laid.path else ROOT
    return tuple(kept.values()), leaf or None
