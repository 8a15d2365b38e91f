"""llm (simonw/llm): its ``logs.db``, of either generation; a file that was upgraded has both.

Older: ``conversations(id, name)`` and ``responses(id, conversation_id, prompt, response, datetime_utc)``.
From 0.32: ``threads(id, name, tip_message_hash)``, ``messages(hash, parent_hash, role)``,
``parts(message_hash, position, type, text, payload)``, and ``turns``, which know when.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

import apsw

from localmem.errors import ImportFailed
from localmem.importers.base import Conversation, each
from localmem.importers.fields import moment, name_of, objects_of, text_of
from localmem.importers.inputs import Input, Source
from localmem.importers.json_stream import Shape, reading
from localmem.importers.tree import in_order, lay
from localmem.types import NewMessage, NewSession, Role

_SIGNATURE = b"SQLite format 3\0"
_MOST_BYTES = 200 << 20
"""Size of a database inside an archive, which is read into memory."""
_OLDER = frozenset({"conversations", "responses"})
_NEWER = frozenset({"threads", "messages", "parts", "turns"})


class LLM:
    """The importer: each conversation or thread is a session of the source ``llm``.

    The database is opened for reading only. Threads that fork share messages; each has all of its own.
    System prompts, reasoning and tools are counted and passed over.
    """

    name = "llm"
    looks_for = "a SQLite database with `responses` or `threads` (llm's logs.db)"
    groups = False

    def matches(self, source: Source, head: Shape) -> bool:
        """Whether it is a SQLite database with the tables of a generation."""
        with reading(source) as file:
            if file.read(len(_SIGNATURE)) != _SIGNATURE:
                return False
        with _opened(source) as connection:
            tables = _tables(connection, source)
        return tables >= _OLDER or tables >= _NEWER

    def read(self, source: Source, skipped: Counter[str]) -> Iterator[Conversation | ImportFailed]:
        """Yield the conversations, then the threads; see :class:`localmem.importers.base.Importer`."""
        with _opened(source) as connection:
            logs = _Logs(connection, _tables(connection, source), str(source))
            try:
                if not (logs.tables >= _OLDER or logs.tables >= _NEWER):
                    raise ImportFailed(f"{source}: not {LLM.looks_for}.")
                if logs.tables >= _OLDER:
                    yield from each(logs.conversations(), skipped, logs.conversation)
                if logs.tables >= _NEWER:
                    yield from each(logs.threads(), skipped, logs.thread)
            except (apsw.Error, UnicodeDecodeError) as error:
                raise ImportFailed(f"{source}: the database cannot be read: {error}.") from error


@contextmanager
def _opened(source: Source) -> Iterator[apsw.Connection]:
    """A connection for reading; of a database in an archive to a copy in memory."""
    try:
        if isinstance(source, Input) and not source.on_disk:
            connection = apsw.Connection(":memory:")
            connection.deserialize("main", _bytes(source))
        else:
            path = source.path if isinstance(source, Input) else source
            connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error as error:
        raise ImportFailed(f"{source}: the database cannot be opened: {error}.") from error
    try:
        yield connection
    finally:
        connection.close()


def _bytes(source: Source) -> bytes:
    with reading(source) as file:
        raw = bytearray(file.read(_MOST_BYTES + 1))
    if len(raw) > _MOST_BYTES:
        raise ImportFailed(
            f"{source}: a database of more than {_MOST_BYTES >> 20} MB is not read out of an archive. "
            "Unpack it and import the file."
        )
    raw[18:20] = b"\x01\x01"  # WAL needs a file beside; what was checkpointed is all there is here
    return bytes(raw)


def _tables(connection: apsw.Connection, source: Source) -> set[str]:
    try:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except apsw.Error as error:
        raise ImportFailed(f"{source}: not a SQLite database, or a broken one: {error}.") from error


class _Logs:
    """The conversations of a database, one read after the other."""

    def __init__(self, connection: apsw.Connection, tables: set[str], name: str) -> None:
        self._connection = connection
        self.tables = tables
        self._name = name
        self._ended: dict[Any, Any] = {}  # hash of a turn's last message -> when it was

    def conversations(self) -> Iterator[tuple[str, Any]]:
        """Each conversation of the older generation as key and rows, with its place.

        A response that was asked for alone is a conversation of its own.
        """
        columns = {row[1] for row in self._connection.execute("PRAGMA table_info(responses)")}
        key = "coalesce(conversation_id, id)"
        rows = self._connection.execute(
            f"SELECT {key}, id, prompt, response, datetime_utc, system, "
            f"{'reasoning' if 'reasoning' in columns else 'NULL'} FROM responses "
            f"ORDER BY min(datetime_utc) OVER (PARTITION BY {key}), {key}, datetime_utc, id"
        )
        for name, found in groupby(rows, key=itemgetter(0)):
            yield f"{self._name}, conversation {name!r}", (name, list(found))

    def conversation(self, found: tuple[Any, list[Any]], place: str, skipped: Counter[str]) -> Conversation:
        """A conversation of the older generation."""
        key, rows = found
        messages = []
        for _, identity, prompt, response, at, system, reasoning in rows:
            asked = name_of(identity, "id", place)
            sent_at = moment(at, skipped)
            attached = self._attached(identity)
            for reason, there in (("system prompt", system), ("reasoning", reasoning)):
                if there:
                    skipped[reason] += 1
            said = ((Role.USER, prompt, "prompt", attached), (Role.ASSISTANT, response, "response", ""))
            for role, text, kind, attachments in said:
                if text_of(text) or attachments:
                    message = NewMessage(role, text_of(text), sent_at=sent_at, external_id=f"{asked}:{kind}")
                    messages.append(replace(message, attachments=attachments))
                else:
                    skipped["message without text"] += 1
        title = self._connection.execute("SELECT name FROM conversations WHERE id = ?", (key,)).get
        return _session(name_of(key, "id", place), title, tuple(messages), None, skipped)

    def threads(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Rows of the newer generation's threads, with their place."""
        self._ended = dict(
            self._connection.execute("SELECT tip_message_hash, min(datetime_utc) FROM turns GROUP BY 1")
        )
        rows = self._connection.execute(
            "SELECT id, name, tip_message_hash FROM threads ORDER BY datetime_utc, id"
        ).fetchall()
        return ((f"{self._name}, thread {row[0]!r}", row) for row in rows)

    def thread(self, row: tuple[Any, ...], place: str, skipped: Counter[str]) -> Conversation:
        """A thread: the messages before its tip, and those that its other turns led to."""
        key, title, tip = row
        parents: dict[str, str | None] = {}
        messages: dict[str, NewMessage] = {}
        tips = self._connection.execute("SELECT tip_message_hash FROM turns WHERE thread_id = ?", (key,))
        for end in [tip, *(end for (end,) in tips.fetchall())]:
            node, at = end, None
            while node is not None and node not in parents:
                found = self._connection.execute(
                    "SELECT parent_hash, role FROM messages WHERE hash = ?", (node,)
                ).fetchone()
                if found is None:
                    break
                # A message was sent with the turn that ends at it or next after it.
                at = self._ended.get(node) or at
                identity = name_of(node, "hash", place)
                parents[identity] = found[0] if isinstance(found[0], str) else None
                if (message := self._message(identity, found[1], at, skipped)) is not None:
                    messages[identity] = message
                node = found[0]
        kept, leaf = in_order(lay(parents, tip), messages, skipped)
        return _session(name_of(key, "id", place), title, kept, leaf, skipped)

    def _message(self, identity: str, role: Any, at: Any, skipped: Counter[str]) -> NewMessage | None:
        if role not in ("user", "assistant"):
            names = {"system": "system message", "tool": "tool message"}
            skipped[names.get(role, "message of an unknown role")] += 1
            return None
        texts, attached = [], []
        for kind, text, payload in self._connection.execute(
            "SELECT type, text, payload FROM parts WHERE message_hash = ? ORDER BY position", (identity,)
        ).fetchall():
            if kind == "text":
                texts.append(text if isinstance(text, str) else self._referred(payload))
            elif kind == "attachment":
                attached.append("[attachment]")
            else:
                skipped[str(kind)[:40].replace("_", " ")] += 1
        text, attachments = "".join(texts), "\n".join(attached)
        if not text and not attachments:
            skipped["message without text"] += 1
            return None
        sent_at = moment(at, skipped)
        return NewMessage(Role(role), text, sent_at=sent_at, external_id=identity, attachments=attachments)

    def _referred(self, payload: Any) -> str:
        """A text that is written down as literals and references to fragments."""
        try:
            value = json.loads(payload)
        except (TypeError, ValueError, RecursionError):
            return ""
        found = []
        for piece in objects_of(value.get("text_ref")) if isinstance(value, dict) else []:
            found.append(text_of(piece.get("literal")))
            if isinstance(piece.get("fragment"), int) and "fragments" in self.tables:
                wanted = "SELECT content FROM fragments WHERE id = ?"
                found.append(text_of(self._connection.execute(wanted, (piece["fragment"],)).get))
        return "".join(found)

    def _attached(self, response: Any) -> str:
        """The fragments given with a prompt, and where its attachments are."""
        found: list[Any] = []
        if self.tables >= {"fragments", "prompt_fragments"}:
            found += self._connection.execute(
                "SELECT f.content FROM prompt_fragments p JOIN fragments f ON f.id = p.fragment_id "
                'WHERE p.response_id = ? ORDER BY p."order"',
                (response,),
            )
        if self.tables >= {"attachments", "prompt_attachments"}:
            found += self._connection.execute(
                "SELECT coalesce(a.path, a.url, a.type) FROM prompt_attachments p "
                'JOIN attachments a ON a.id = p.attachment_id WHERE p.response_id = ? ORDER BY p."order"',
                (response,),
            )
        return "\n".join(piece for (piece,) in found if isinstance(piece, str) and piece)


def _session(
    key: str, title: Any, messages: tuple[NewMessage, ...], leaf: str | None, skipped: Counter[str]
) -> Conversation:
    if not messages:
        skipped["conversation without messages"] += 1
        return ()
    return (NewSession(LLM.name, key, messages, title=text_of(title), leaf=leaf),)
