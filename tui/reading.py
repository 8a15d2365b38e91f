"""What is read from memory for the screen, in threads: a session, and its messages ready to be shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content

from localmem.answering.dialogue import Dialogue
from localmem.answering.prompting import REPLY_TOKENS
from localmem.memory import Memory
from localmem.tui.markdown import Block, blocks_of
from localmem.tui.text import attached_line, cost_line, end_note, label_of, shown
from localmem.types import Message, Role, Session

BATCH_MESSAGES = 24
"""Messages that are shown at first: a screenful or more."""
MORE_MESSAGES = 6
"""Messages that are read when an end of what is shown is near: no more than a key can wait for."""
BATCH_CHARACTERS = 20_000
"""Of their texts; with these it is a batch, however few it has."""

Source = tuple[Message, str]
"""A cited message and the title of its session."""


@dataclass(slots=True)
class Way:
    """The session on the screen: every message on the way to where it goes on. It grows as more is said."""

    session: Session | None
    """None: nothing was said yet, or it is private."""
    messages: list[Message]
    versions: dict[int, list[int]]
    """Of messages that have several: the ids of all."""
    focus: int | None = None
    """Id of the message to be shown; None: the last."""

    def place(self, message_id: int) -> int | None:
        """Where a message stands on the way; None: not on it."""
        return next((i for i, message in enumerate(self.messages) if message.id == message_id), None)


@dataclass(frozen=True, slots=True)
class Entry:
    """A message, ready to be shown."""

    message: Message
    label: str
    text: str
    blocks: Sequence[Block]
    """The text as it is drawn; empty for what a person said."""
    attached: str
    version: str
    """``2/3``: which of its versions it is; empty: the only one."""
    cost: str
    sources: tuple[Source, ...]
    thought: str = ""
    """What the model thought before it answered; empty: nothing, or it is not known any more."""

    @property
    def user(self) -> bool:
        """Whether a person said it."""
        return self.message.role is Role.USER


def read_way(memory: Memory, dialogue: Dialogue, focus: int | None = None) -> Way:
    """The way of a dialogue; with ``focus`` the one that has this message on it."""
    if focus is not None and focus not in {message.id for message in dialogue.path()}:
        dialogue.show(focus)
    session = memory.session(dialogue.session_id) if dialogue.session_id is not None else None
    return Way(session, dialogue.path(), dialogue.versions(), focus)


def entries_before(memory: Memory, way: Way, end: int, most: int = BATCH_MESSAGES) -> list[Entry]:
    """The batch of messages that ends before place ``end``, in their order."""
    start, characters = end, 0
    while start > 0 and end - start < most and characters < BATCH_CHARACTERS:
        start -= 1
        characters += len(way.messages[start].text)
    return _entries(memory, way, start, end)


def entries_after(memory: Memory, way: Way, start: int, most: int = BATCH_MESSAGES) -> list[Entry]:
    """The batch of messages that begins at place ``start``, in their order."""
    end, characters = start, 0
    while end < len(way.messages) and end - start < most and characters < BATCH_CHARACTERS:
        characters += len(way.messages[end].text)
        end += 1
    return _entries(memory, way, start, end)


def version_mark(versions: Sequence[int], message_id: int) -> str:
    """``2/3`` for the second of three; empty when there is one."""
    return f"{versions.index(message_id) + 1}/{len(versions)}" if len(versions) > 1 else ""


def sources_of(memory: Memory, ids: Sequence[int]) -> tuple[Source, ...]:
    """Cited messages that are still there, each with its session's title."""
    found = memory.messages_by_id(ids)
    return tuple(with_titles(memory, [found[i] for i in ids if i in found]))


def with_titles(memory: Memory, messages: Sequence[Message]) -> list[Source]:
    """Messages, each with its session's title."""
    sessions = {i: memory.session(i) for i in {message.session_id for message in messages}}
    titles = {i: session.title or session.external_id for i, session in sessions.items()}
    return [(message, titles[message.session_id]) for message in messages]


def blocks_for(message: Message, text: str) -> Sequence[Block]:
    """What is drawn of a message: an answer is Markdown; nothing for what a person said."""
    if message.role is Role.USER:
        return ()
    return blocks_of(text) if message.role is Role.ASSISTANT else (Block(Content(text)),)


def _entries(memory: Memory, way: Way, start: int, end: int) -> list[Entry]:
    messages = way.messages[start:end]
    replies = memory.replies([message.id for message in messages])
    entries: list[Entry] = []
    for message in messages:
        text = shown(message.text, message.session_id or None)
        kept = replies.get(message.id)
        note = end_note(kept.stop_reason, REPLY_TOKENS) if kept else ""
        entries.append(
            Entry(
                message=message,
                label=label_of(message),
                text=text,
                blocks=blocks_for(message, text),
                attached=attached_line(message.attachments),
                version=version_mark(way.versions.get(message.id, ()), message.id),
                cost=cost_line(kept.ledger, note) if kept else "",
                sources=sources_of(memory, kept.citations) if kept else (),
            )
        )
    return entries
