"""What is to be forgotten: messages, the answers that rest on them, and what else tells of a text."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby

from localmem.errors import BadInput
from localmem.store import Database, SessionStore
from localmem.store.columns import text_from_column
from localmem.text import CUT
from localmem.types import Message, Origin, Session

SHORTEST = 3
"""Bytes of a text to forget. What is shorter stands in almost every message."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is to go. Messages are in order of session and position."""

    messages: tuple[Message, ...]
    """Those that were asked for."""
    answers: tuple[Message, ...]
    """Answers of the chat that rest on one of them: they say it again."""
    sessions: tuple[Session, ...]
    """Those of which nothing is left."""
    text: str | None
    """Everything that holds this text goes; None: messages were named."""
    titles: tuple[Session, ...]
    """Sessions that stay, but whose title tells of it."""

    @property
    def every(self) -> tuple[Message, ...]:
        """All messages that go, each once."""
        return (*self.messages, *self.answers)

    @property
    def empty(self) -> bool:
        """Whether nothing in the store is known to hold it."""
        return not (self.messages or self.sessions or self.titles)


def fold(text: str) -> str:
    """``text`` without differences of case, width, composition and white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def select(
    database: Database,
    *,
    session_id: int | None = None,
    message_id: int | None = None,
    matching: str | None = None,
) -> Selection:
    """What one of these names. Raises :class:`BadInput` unless it is exactly one, and there is such a one."""
    if [session_id, message_id, matching].count(None) != 2:
        raise BadInput("Say what to forget: one of --session ID, --message ID, --matching TEXT.")
    if session_id is not None:
        return select_session(database, session_id)
    if message_id is not None:
        return select_message(database, message_id)
    return select_matching(database, str(matching))


def select_session(database: Database, session_id: int) -> Selection:
    """A whole session. Raises :class:`BadInput` when there is none with this id."""
    session = SessionStore(database).session(session_id)
    messages = SessionStore(database).messages(session_id)
    return _completed(database, messages, None, (session,))


def select_message(database: Database, message_id: int) -> Selection:
    """One message. Raises :class:`BadInput` when there is none with this id."""
    message = SessionStore(database).messages_by_id([message_id]).get(message_id)
    if message is None:
        raise BadInput(f"There is no message {message_id}. `localmem search` and `show` tell the ids.")
    return _completed(database, [message], None)


def select_matching(database: Database, text: str) -> Selection:
    """All messages with ``text`` in what was said, attached, or the speaker's name, in whatever case.

    Raises :class:`BadInput` for a text that is too short to mean anything.
    """
    wanted = fold(text)
    if len(wanted.encode("utf-8", "surrogatepass")) < SHORTEST:
        raise BadInput(f"{text!r} stands in too many words; give a longer text.")
    with database.snapshot() as connection:
        ids = [
            message_id
            for message_id, *columns in connection.execute(
                "SELECT id, text, attachments, speaker FROM message"
            )
            if any(wanted in fold(text_from_column(column)) for column in columns)
        ]
    messages = SessionStore(database).messages_by_id(ids)
    return _completed(database, list(messages.values()), text)


def _completed(
    database: Database, messages: Sequence[Message], text: str | None, whole: tuple[Session, ...] = ()
) -> Selection:
    sessions = {session.id: session for session in SessionStore(database).sessions()}
    ids = {message.id for message in messages}
    answers = _resting_on(database, ids)
    every = _in_order([*messages, *answers])
    gone = {session.id: session for session in whole}
    titles = []
    for session_id, group in groupby(every, key=lambda message: message.session_id):
        lost = list(group)
        session = sessions[session_id]
        if len(lost) == session.messages:
            gone[session_id] = session
        elif _tells_of(session.title, lost):
            titles.append(session)
    if text is not None:
        told = {session.id for session in titles} | gone.keys()
        titles += [s for s in sessions.values() if s.id not in told and fold(text) in fold(s.title)]
    return Selection(
        tuple(_in_order(messages)), tuple(_in_order(answers)), tuple(gone.values()), text, tuple(titles)
    )


def _tells_of(title: str, messages: Sequence[Message]) -> bool:
    """Whether a title was taken from one of these messages."""
    said = fold(title).removesuffix(CUT)
    return bool(said) and any(said in fold(message.text) for message in messages)


def _resting_on(database: Database, ids: Collection[int]) -> list[Message]:
    """The answers that cite one of these messages, or recall what one of them says, and their likes."""
    connection = database.connection()
    cited = {
        message_id: set(json.loads(body)["citations"])
        for message_id, body in connection.execute("SELECT message_id, body FROM reply")
    }
    found: set[int] = set()
    while True:
        more = {i for i, sources in cited.items() if sources & (found | set(ids))} - found - set(ids)
        if not more:
            break
        found |= more
    said = [fold(message.text) for message in SessionStore(database).messages_by_id(list(ids)).values()]
    recalled = connection.execute("SELECT id, text FROM message WHERE origin = ?", (Origin.RECALLED,))
    for message_id, text in recalled:
        if message_id not in ids and any(one and one in fold(text_from_column(text)) for one in said):
            found.add(message_id)
    return list(SessionStore(database).messages_by_id(list(found)).values())


def _in_order(messages: Sequence[Message]) -> list[Message]:
    return sorted(messages, key=lambda message: (message.session_id, message.position))
