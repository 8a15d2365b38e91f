"""Values that pass between the parts: plain, frozen, without behaviour or storage.

A *conversation* is what one source holds (a LoCoMo conversation, a chat export); it has
*sessions*; a session has *messages*, numbered by position and grouped into *turns*.
"""

from __future__ import annotations

from dataclasses import dataclass, field
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
    """The source's own id, unique inside its session (``D1:3``). None: it gets ``#position``."""
    parent: str | None = None
    """External id of the message this one answers, where there are branches. None: the one before it."""
    origin: Origin = Origin.SAID
    attachments: str = ""
    """Text of what was attached: captions, pasted files."""
    sent_at_inferred: bool = False
    """True when ``sent_at`` is a neighbour's, taken because the source gave none."""


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
    leaf: str | None = None
    """External id of the message that it went on from, where it has branches. None: the last one."""
    archived: bool = False
    system: str = ""
    """The person's own system prompt for it."""
    source_is_file: bool = False
    """True when ``source`` is only the name of a file: another file of that name is another source."""


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
    ended_at: datetime | None = None
    """When its last message was sent, in UTC."""
    tags: tuple[str, ...] = ()
    archived: bool = False
    """Put away by the person: left out of the chat's list, found all the same."""


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
    parent: str | None = None
    """External id of the message that it follows. None: the one before it. Empty: it begins the session."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that a search found."""

    message: Message
    score: float
    """Fused score; comparable inside one result list only."""
    similarity: float
    """Cosine with the query; 0 where the message has no vector yet."""
    views: tuple[str, ...]
    """What found it: ``lexical``, ``dense``."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A message that an answer may rest on."""

    message: Message
    layer: str
    """The layer it was read at; ``raw`` is the message itself."""
    similarity: float
    """Cosine with the question."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """Something the question asks for, and the messages that met it."""

    text: str
    met_by: tuple[int, ...]
    """Message ids; empty: not found."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """One retrieval call of evidence reconstruction."""

    view: str
    """What was searched: ``pool`` is the first search, which the initial set was composed of."""
    cue: str | int
    """The text looked for, or the id of the message started from."""
    new: tuple[int, ...]
    """Ids of the messages that it brought into the evidence."""


@dataclass(slots=True)
class Ledger:
    """What an answer cost."""

    sessions_opened: int = 0
    sessions: int = 0
    """In the whole memory."""
    records: int = 0
    """Messages taken as evidence."""
    messages: int = 0
    """In the whole memory."""
    layers: tuple[str, ...] = ()
    depth: dict[str, int] = field(default_factory=dict)
    """Sessions opened, by the finest layer they were opened at."""
    steps: int = 0
    """Iterations of the controller."""
    retrieval_calls: int = 0
    """Queries put to the index."""
    model_calls: int = 0
    tokens_read: int = 0
    """Prompt tokens that the model evaluated."""
    tokens_reused: int = 0
    """Prompt tokens whose state was still there."""
    tokens_written: int = 0
    full_history_tokens: int = 0
    """Estimate: what reading the whole memory would have cost (a token is about four characters)."""
    seconds: dict[str, float] = field(default_factory=dict)
    """By stage: ``search``, ``layers``, ``controller``, ``notes``, ``answer``."""
    fallbacks: list[str] = field(default_factory=list)
    """Where a rule answered in a model's place, with the reason."""
    fallbacks_before: int = 0
    """How many there were before the answer was resumed; their reasons are not kept."""
    forced: list[str] = field(default_factory=list)
    """Roles served by a model that its probe did not trust with them, with the reason."""

    @property
    def history_share(self) -> float:
        """Share of the memory's messages that were read, 0 to 1."""
        return self.records / self.messages if self.messages else 0.0


@dataclass(frozen=True, slots=True)
class Stats:
    """How much a memory holds."""

    sessions: int
    messages: int
    characters: int
    """Of the messages' text."""
    pending: int
    """Vectors and summaries that are not made yet; what waits for its vector is found by its words."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a question."""

    text: str
    abstained: bool
    """True when memory holds nothing that answers."""
    citations: tuple[int, ...]
    """Ids of the messages that the text rests on; each is in ``evidence``."""
    evidence: tuple[Evidence, ...]
    notes: tuple[str, ...]
    """The organised notes, in order of time."""
    requirements: tuple[Requirement, ...]
    policy: str
    stop_reason: str
    trace: int
    """Id of the saved trace."""
    ledger: Ledger
    rounds: tuple[Retrieval, ...] = ()
    """How the evidence was reconstructed, call by call; none for policy ``agent``, which has steps."""
