"""Formal concepts of a small context, by Ganter's Next Closure (Ganter and Wille 1999, 2.1).

Objects and attributes are numbers from 0; a set of them is an integer whose bits are its members.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Concept:
    """A maximal rectangle: all objects that have all of some attributes, and all that these share."""

    extent: int
    """Objects."""
    intent: int
    """Attributes."""


class Context:
    """Which objects have which attributes."""

    def __init__(self, rows: Sequence[int], attributes: int) -> None:
        """``rows``: the attributes of each object."""
        self.attributes = attributes
        self._objects = (1 << len(rows)) - 1
        self._columns = [
            sum(1 << place for place, row in enumerate(rows) if row >> attribute & 1)
            for attribute in range(attributes)
        ]

    def extent(self, intent: int) -> int:
        """The objects that have all attributes of ``intent``."""
        found = self._objects
        for attribute, column in enumerate(self._columns):
            if intent >> attribute & 1:
                found &= column
        return found

    def intent(self, extent: int) -> int:
        """The attributes that all objects of ``extent`` have."""
        return sum(1 << n for n, column in enumerate(self._columns) if extent & ~column == 0)

    def concepts(self) -> Iterator[Concept]:
        """Every concept once, in lectic order of intents; at most 2 to the power of the attributes."""
        intent = self.intent(self._objects)
        yield Concept(self._objects, intent)
        while (following := self._next(intent)) is not None:
            intent = following.intent
            yield following

    def _next(self, intent: int) -> Concept | None:
        """The next closed set: close it with the last attribute that adds none before itself."""
        for attribute in reversed(range(self.attributes)):
            bit = 1 << attribute
            before = bit - 1
            if intent & bit:
                continue
            extent = self.extent(intent & before | bit)
            closed = self.intent(extent)
            if closed & before == intent & before:
                return Concept(extent, closed)
        return None


def members(numbers: int) -> list[int]:
    """The members of a set, ascending."""
    return [place for place in range(numbers.bit_length()) if numbers >> place & 1]
