from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.types import NewMessage, NewSession, Role

ORDERED = "I finally ordered the new remote shutter release for my tripod shots."
ARRIVED = (
    "My drive is almost full, so please recommend a bigger one; two terabytes would do, with a cable for the"
    " old laptop. I keep everything on it, music, letters, films of the children and the scans of the family"
    " albums. By the way, the shutter release arrived."
)
"""Told at the end of a message about something else."""

PHOTOGRAPHY = [
    "How many days did you take for the remote camera after you ordered it? Its shutter is loud.",
    "I ordered prints days ago, will it take long for a remote lab? The press release was nice.",
    "A remote guide can take many days, so I ordered a map. My shutter froze.",
    "I ordered a remote flash, it will take days. The release of the book went well.",
    "After days the remote battery I ordered did take a charge. The shutter clicks.",
    "I ordered a strap, did it take days for a remote village? A release form was needed.",
    "Days after I ordered it the remote trap did take pictures. Its shutter is slow.",
    "I ordered tickets, the remote trip will take days. The release date moved.",
    "The remote valley will take days, I ordered boots. A shutter fell off the cabin.",
    "I ordered film and the remote lab did take days. They release results on Friday.",
    "I ordered a book on remote peaks, days ago, did it take off? The shutter priority chapter is good.",
    "For days I ordered food in a remote hut, did you take snacks? They release trout there.",
]
DRIVES = ["Look at the warranty first.", "Copies should be kept in two places."]


def _session(name: str, day: datetime, texts: list[str]) -> NewSession:
    messages = tuple(
        NewMessage((Role.USER, Role.ASSISTANT)[place % 2], text, external_id=f"{name}:{place}", sent_at=day)
        for place, text in enumerate(texts)
    )
    return NewSession("case", name, messages)


@pytest.fixture
def shutter(tmp_path: Path) -> Iterator[Memory]:
    """A history in which an order and its arrival are told in two sessions, and much else of photography."""
    february = datetime(2023, 2, 1, tzinfo=UTC)
    sessions = [
        _session(f"p{number}", february.replace(day=6 + number), [text, "A good picture needs patience."])
        for number, text in enumerate(PHOTOGRAPHY)
    ]
    sessions.append(_session("drive", february.replace(day=10), [ARRIVED, *DRIVES]))
    sessions.append(_session("order", february.replace(day=5), [ORDERED, "You will like it."]))
    with Memory(tmp_path / "case.db", HashEmbedder()) as memory:
        for session in sessions:
            memory.add(session)
        memory.wait_embedded()
        yield memory
