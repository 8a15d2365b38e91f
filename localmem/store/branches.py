"""A session whose messages branch: which of them are on the way to where it stands."""

from __future__ import annotations

from collections.abc import Sequence

from localmem.types import Message

ROOT = ""
"""As a message's parent: it begins the session."""
_ROOT = -1


class Branches:
    """The messages of one session, in order of position, as a tree.

    Two versions of a message follow the same one, and each has its own branch after it. A parent that is not
    among the earlier messages counts as the one before: no message of a strange file is out of reach.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self._place = {message.id: place for place, message in enumerate(messages)}
        named: dict[str, int] = {}
        self._parents: list[int] = []
        for place, message in enumerate(messages):
            before = place - 1  # of the first message that is the root
            if message.parent is not None:
                before = _ROOT if message.parent == ROOT else named.get(message.parent, before)
            self._parents.append(before)
            named[message.external_id] = place

    def path(self, leaf_id: int | None = None) -> list[Message]:
        """From the first message to ``leaf_id``; None or one that is not there: to the last message."""
        place = self._place.get(leaf_id, len(self.messages) - 1) if leaf_id else len(self.messages) - 1
        found = []
        while place != _ROOT:
            found.append(self.messages[place])
            place = self._parents[place]
        return found[::-1]

    def before(self, message_id: int) -> Message | None:
        """The message that this one follows; None: it begins the session."""
        parent = self._parents[self._place[message_id]]
        return None if parent == _ROOT else self.messages[parent]

    def versions(self, message_id: int) -> list[int]:
        """Ids of the messages of the same role that follow the same message, itself included, in order."""
        place = self._place[message_id]
        parent, role = self._parents[place], self.messages[place].role
        return [
            message.id
            for message, other in zip(self.messages, self._parents, strict=True)
            if other == parent and message.role is role
        ]

    def end_of(self, message_id: int) -> int:
        """Id of the last message on the newest branch through this one."""
        place = self._place[message_id]
        end = place
        through = {place}
        for later in range(place + 1, len(self.messages)):
            if self._parents[later] in through:
                through.add(later)
                end = later
        return self.messages[end].id
