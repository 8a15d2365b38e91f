"""Session search as the controller needs it (APDMem, Appendix G), whatever index stands behind it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol


class FoundSession(Protocol):
    """A session that was found."""

    @property
    def session_id(self) -> int:
        """Its id."""
        ...

    @property
    def score(self) -> float:
        """Comparable inside one search only."""
        ...

    @property
    def turns(self) -> Sequence[int]:
        """Numbers of the turns that matched, best first."""
        ...


class FindSessions(Protocol):
    """The best sessions for several queries, best first."""

    def __call__(
        self,
        queries: Sequence[str],
        limit: int = 20,
        after: datetime | None = None,
        before: datetime | None = None,
    ) -> Sequence[FoundSession]:
        """At most ``limit``; ``after`` and ``before`` bound when their turns were said."""
        ...
