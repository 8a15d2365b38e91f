"""Forgetting in two calls: the first says what would go and gives a token, the second does it."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from localmem.errors import BadInput
from localmem.memory import Memory
from localmem.privacy.selection import Selection
from localmem.servers.results import NOTICE, Quotation, quotation, sendable

VALID_S = 300.0
"""Seconds for which a token is good."""
LISTED = 20
"""Messages that are quoted; the rest are counted."""
_TOKENS = 100  # that wait at once; the oldest go first


class ForgetResult(TypedDict):
    """What would go, or what went."""

    notice: str
    forgotten: bool
    messages: int
    sessions: int
    would_go: list[Quotation]
    token: str | None
    """To confirm with; None: it is done, or there is nothing to forget."""
    not_reached: list[str]
    """Where it may still be."""
    what_next: str


@dataclass(frozen=True, slots=True)
class _Pending:
    """A request that waits for its confirmation."""

    request: tuple[int | None, int | None, str | None]
    messages: frozenset[int]
    """Ids of what was listed; nothing else may go."""
    expires: float


class Confirmations:
    """The tokens of one server. A token serves once, for the request that it was given for."""

    def __init__(self, memory: Memory, clock: Callable[[], float] = time.monotonic) -> None:
        self._memory = memory
        self._clock = clock
        self._pending: dict[str, _Pending] = {}
        self._lock = threading.Lock()

    def forget(
        self, session_id: int | None, message_id: int | None, matching: str | None, token: str | None
    ) -> ForgetResult:
        """List what would go, or with a token let it go. Raises :class:`BadInput` that says what to do."""
        request = (session_id, message_id, matching)
        if sum(one is not None for one in request) != 1:
            raise BadInput("Give one of `session_id`, `message_id` and `matching`.")
        with self._lock:  # one at a time: what was listed is what goes
            selection = self._memory.select(session_id=session_id, message_id=message_id, matching=matching)
            if token is None:
                return self._listed(request, selection)
            self._check(token, request, selection)
            receipt = self._memory.forget(selection)
        return {
            "notice": NOTICE,
            "forgotten": True,
            "messages": len(selection.every),
            "sessions": len(selection.sessions),
            "would_go": [],
            "token": None,
            "not_reached": [sendable(place) for place in receipt.not_reached()],
            "what_next": "Done. Tell the user what could not be reached.",
        }

    def _listed(
        self, request: tuple[int | None, int | None, str | None], selection: Selection
    ) -> ForgetResult:
        token = None
        if not selection.empty:
            token = secrets.token_urlsafe(16)
            ids = frozenset(message.id for message in selection.every)
            self._pending[token] = _Pending(request, ids, self._clock() + VALID_S)
            for old in list(self._pending)[:-_TOKENS]:
                del self._pending[old]
        return {
            "notice": NOTICE,
            "forgotten": False,
            "messages": len(selection.every),
            "sessions": len(selection.sessions),
            "would_go": [quotation(message) for message in selection.every[:LISTED]],
            "token": token,
            "not_reached": [],
            "what_next": (
                "Nothing was removed yet. Show this to the user; if the user agrees, call forget again with "
                f"the same arguments and the token, within {VALID_S / 60:g} minutes."
                if token
                else "Memory holds nothing like this. Nothing was removed."
            ),
        }

    def _check(
        self, token: str, request: tuple[int | None, int | None, str | None], selection: Selection
    ) -> None:
        pending = self._pending.pop(token, None)
        if pending is None or pending.expires < self._clock():
            problem = "is not known, was used, or is too old"
        elif pending.request != request:
            problem = "was given for another request"
        elif pending.messages != {message.id for message in selection.every}:
            problem = "was given before memory changed; something else would go now"
        else:
            return
        raise BadInput(
            f"The token {problem}. Nothing was removed. Call forget without a token, show the user the list."
        )
