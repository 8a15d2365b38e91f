from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from localmem.types import Message, Origin, Role

Say = Callable[..., Message]
MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


@pytest.fixture
def say() -> Say:
    """Makes the messages of a session one by one; each call is the next message."""
    count = 0

    def one(
        text: str,
        speaker: str = "",
        *,
        by: Role = Role.USER,
        at: datetime | None = MONDAY,
        turn: int = 0,
        origin: Origin = Origin.SAID,
        attachments: str = "",
    ) -> Message:
        nonlocal count
        count += 1
        return Message(
            id=count,
            session_id=1,
            position=count - 1,
            turn=turn,
            role=by,
            speaker=speaker,
            text=text,
            sent_at=at,
            sent_at_inferred=False,
            external_id=f"D1:{count}",
            source="test",
            origin=origin,
            attachments=attachments,
        )

    return one
