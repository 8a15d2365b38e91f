"""What the layers of memory hold: derived text, and what it was derived from.

A summary (L0) and notes (L2) belong to a turn, facts (L1) to a session; the messages themselves are L3.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Layer(StrEnum):
    """A derived layer, from coarse to fine (APDMem 3.1)."""

    SUMMARY = "summary"
    """L0, one for each turn."""
    FACTS = "facts"
    """L1, one for each session."""
    NOTES = "notes"
    """L2, one for each turn."""


class Grade(StrEnum):
    """What made an entry."""

    EXTRACTIVE = "extractive"
    """Rules, at once."""
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class Summary:
    """L0 of a turn. Nothing to say: an empty text without keywords and tags."""

    text: str
    """At most 30 words."""
    keywords: tuple[str, ...] = ()
    """5 to 8 where the turn has as many: names, dates, amounts, things."""
    tags: tuple[str, ...] = ()
    """3 to 5, coarser than keywords: what kind of talk it is, and what it is about."""


@dataclass(frozen=True, slots=True)
class Bullet:
    """One statement of L1 or L2 that stands without its surroundings."""

    text: str
    messages: tuple[int, ...]
    """Ids of the messages that say it."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What one entry of a layer is about: a turn, or with facts a whole session."""

    layer: Layer
    session_id: int
    turn: int | None
    """Number of the turn in its session; None for facts."""

    def __post_init__(self) -> None:
        if (self.layer is Layer.FACTS) != (self.turn is None):
            raise ValueError(f"{self.layer} with turn {self.turn}: facts have none, the others have one")


@dataclass(frozen=True, slots=True)
class Maker:
    """A model with a prompt, which together made an entry."""

    model: str
    """``sha256:...`` of the weights."""
    prompt: str
    """``sha256:...`` of the prompt's text."""


Content = Summary | tuple[Bullet, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored entry of a layer."""

    id: int
    """Never used twice: other content gets another id."""
    scope: Scope
    content: Content
    """A summary, or bullets in order of time. Empty: there was nothing to say."""
    messages: tuple[int, ...]
    """Ids of all messages it was made from; it goes when one of them changes or is deleted."""
    maker: Maker | None
    """None: rules."""
    created_at: str
    """UTC."""

    @property
    def lines(self) -> tuple[Bullet, ...]:
        """Its statements; a summary is one, of all messages it was made from. Empty: nothing was to say."""
        if not isinstance(self.content, Summary):
            return self.content
        return (Bullet(self.content.text, self.messages),) if self.content.text else ()

    @property
    def grade(self) -> Grade:
        """Made by rules or by a model."""
        return Grade.MODEL if self.maker else Grade.EXTRACTIVE


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the last attempt at an entry came to nothing."""

    scope: Scope
    maker: Maker | None
    """None: rules."""
    reason: str


@dataclass(frozen=True, slots=True)
class LayerCount:
    """How far a layer is, and how well one maker of it does."""

    layer: Layer
    model: str | None
    """Fingerprint; None: rules."""
    entries: int
    """Made by it and still valid."""
    empty: int
    """Those of them with nothing to say."""
    failures: int
    """Scopes at which its last attempt failed."""
    accepted: int
    """Statements that it ever made and the guard let pass. Only a model's are counted."""
    rejected: int
    """Statements that the guard rejected."""

    @property
    def rejection_rate(self) -> float | None:
        """Share of statements that the guard rejected, 0 to 1; None when there were none."""
        judged = self.accepted + self.rejected
        return self.rejected / judged if judged else None
