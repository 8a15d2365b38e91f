"""Values that pass between the parts: plain, frozen, without behaviour or storage.

A *conversation* is what one source holds (a LoCoMo conversation, a chat export); it has
*sessions*; a session has *messages*, numbered by position and grouped into *turns*.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Role(StrEnum):
    """Who wrote a message, as the chat template needs to know it."""

    USER = "user"
    ASSISTANT = "assistant"


class Origin(StrEnum):
    """Whether a message was said in a conversation or recalled out of memory."""

    SAID = "said"
    RECALLED = "recalled"
    """Text that memory itself produced; it is never learnt from again."""


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message on its way into the store."""

    role: Role
    text: str
    """Any Unicode text, kept unchanged; NUL and lone surrogates included."""
    speaker: str = ""
    """The speaker's name where the source gives one, else empty."""
    sent_at: datetime | None = None
    """When it was sent. A naive time is a wall-clock time in an unknown zone. None: not known."""
    external_id: str | None = None
    """The source's own id, unique inside its session (``D1:3``). None: the position is used."""
    parent: str | None = None
    """External id of the message this one answers, where the source has branches."""
    origin: Origin = Origin.SAID
    attachments: str = ""
    """Text of what was attached: captions, pasted files."""


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session on its way into the store; what an importer yields."""

    source: str
    """Name of the conversation it belongs to, e.g. ``conv-26``."""
    external_id: str
    """The source's id of the session, unique inside ``source``."""
    messages: tuple[NewMessage, ...]
    title: str = ""
    started_at: datetime | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Session:
    """A stored session."""

    id: int
    external_id: str
    source: str
    title: str
    started_at: datetime | None
    """In its original zone where that is known, else in UTC."""
    messages: int
    """How many messages it holds."""


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message: the atomic record of memory (BFR's store M)."""

    id: int
    session_id: int
    position: int
    """Place in its session, from 0."""
    turn: int
    """Number of the exchange it belongs to, from 0 inside the session."""
    role: Role
    speaker: str
    text: str
    sent_at: datetime | None
    """In its original zone where that is known, else in UTC."""
    sent_at_inferred: bool
    """True when the source gave no time and a neighbour's was taken."""
    external_id: str
    source: str
    """The conversation it was imported with."""
    origin: Origin
    attachments: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that a search found."""

    message: Message
    score: float
    """Fused score; comparable inside one result list only."""
    views: tuple[str, ...]
    """What found it: ``lexical``, ``dense``, ``window``, ``session``, ``speaker``."""
