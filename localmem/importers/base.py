"""The importer interface: a format is a name, a sniff by structure, and a reader.

A reader yields one conversation after the other and never holds more than one record of the file, so that a
large export is read in bounded memory. What it passes over it counts by reason. A record that cannot be
read is a value among them, and the next one follows; a file that cannot be read on raises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from localmem.errors import ImportFailed
from localmem.importers.inputs import Source
from localmem.importers.json_stream import Shape
from localmem.privacy.secrets import kinds
from localmem.types import NewSession

Read = TypeVar("Read")
Conversation = Sequence[NewSession]
"""What is read whole before any of it is stored: one session, of a benchmark all sessions of a record."""


@dataclass(slots=True)
class ImportReport:
    """What an import found and did."""

    conversations: set[int] = field(default_factory=set)
    """Hashes of the names of the conversations that the files hold."""
    sessions: set[int] = field(default_factory=set)
    """Hashes of (source, external id) of each session that the files hold."""
    messages: int = 0
    """What the files hold, taken in before or not."""
    new_messages: int = 0
    branches: int = 0
    """Ways that a conversation once took beside the one it went on from; all are kept."""
    first: datetime | None = None
    """When the earliest message was sent."""
    last: datetime | None = None
    skipped: Counter[str] = field(default_factory=Counter)
    """Reason -> how many items were passed over for it."""
    unknown: list[str] = field(default_factory=list)
    """Files of no known format that lay in a folder or an archive beside others."""
    secrets: Counter[str] = field(default_factory=Counter)
    """Kind -> how many keys, card numbers and the like the files hold."""
    failures: list[str] = field(default_factory=list)
    """One line for each file or record that could not be read; nothing of that record was taken in."""
    bytes_read: int = 0
    bytes: int = 0
    """Of all files."""

    def found(self, session: NewSession, conversation: tuple[str, ...]) -> None:
        """Count a session that a file holds, and the conversation that it is part of."""
        self.conversations.add(hash(conversation))
        self.sessions.add(hash((*conversation, session.source, session.external_id)))
        self.messages += len(session.messages)
        self.branches += branches(session)
        for message in session.messages:
            self.secrets.update(map(str, kinds(message)))
            if message.sent_at is not None:
                self.first = min(self.first or message.sent_at, message.sent_at, key=_comparable)
                self.last = max(self.last or message.sent_at, message.sent_at, key=_comparable)

    def as_json(self) -> dict[str, object]:
        """The fields of ``import --json``; ``secrets`` is one of them only when some were noticed."""
        return {
            "conversations": len(self.conversations),
            "sessions": len(self.sessions),
            "messages": self.messages,
            "new_messages": self.new_messages,
            "skipped": dict(self.skipped),
            "failures": self.failures,
            **({"secrets": dict(self.secrets)} if self.secrets else {}),
        }


def branches(session: NewSession) -> int:
    """How many ways a session has beside one: for each message, the messages that follow it but one."""
    following = Counter(message.parent for message in session.messages if message.parent is not None)
    return sum(count - 1 for count in following.values())


def _comparable(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class Importer(Protocol):
    """One file format."""

    name: str
    """As given to ``--format``."""
    looks_for: str
    """The structure that ``matches`` wants, in words for the person whose file has no known format."""
    groups: bool
    """Whether a conversation is all sessions of one source; else each session is one."""

    def matches(self, source: Source, head: Shape) -> bool:
        """Whether the file's structure (never its name) is this format's. Reads only its beginning.

        ``head`` is its shape as JSON, looked at once for all importers.
        """
        ...

    def read(self, source: Source, skipped: Counter[str]) -> Iterator[Conversation | ImportFailed]:
        """Yield the conversations of a file in its order; count what is passed over in ``skipped``.

        A record that cannot be read is yielded as the error, naming the record and what was wrong. Raises
        :class:`ImportFailed` where the file cannot be read any further.
        """
        ...


def each(
    records: Iterable[tuple[str, Read]],
    skipped: Counter[str],
    parse: Callable[[Read, str, Counter[str]], Conversation],
) -> Iterator[Conversation | ImportFailed]:
    """Parse records into conversations; what ``parse`` raises as :class:`ImportFailed` becomes a value."""
    for place, record in records:
        counted: Counter[str] = Counter()
        try:
            conversation = parse(record, place, counted)
        except ImportFailed as error:
            yield error
            continue
        skipped.update(counted)
        yield conversation
