"""Sessions written out: as folders of Markdown files, one for each layer, or as JSONL to import again."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from localmem.entries import Layer
from localmem.errors import BadInput
from localmem.layers import markdown
from localmem.memory import Memory
from localmem.types import NewMessage, NewSession, Origin, Session

NAME_LENGTH = 40
ALL = "memory.jsonl"
"""The file that a whole memory is written to as JSONL."""


def export_markdown(
    memory: Memory,
    out: Path,
    sessions: Sequence[Session],
    progress: Callable[[int], None] = lambda done: None,
) -> list[Path]:
    """Write the four layers of each session below ``out``; return the folders.

    Layers that nobody has read yet are made by rule. The same memory gives the same bytes. Files of the
    same name are replaced, others are left alone. Raises :class:`BadInput` if ``out`` cannot be written.
    """
    folders = []
    for done, session in enumerate(sessions):
        progress(done)
        folder = out / folder_name(session)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in _files(memory, session):
                _write(folder / f"{name}.md", text)
        except OSError as error:
            raise BadInput(f"Cannot write to {folder}: {error.strerror or error}.") from error
        folders.append(folder)
    progress(len(sessions))
    return folders


def export_jsonl(
    memory: Memory,
    out: Path,
    sessions: Sequence[Session],
    name: str = ALL,
    progress: Callable[[int], None] = lambda done: None,
) -> Path:
    """Write the messages of ``sessions`` to one JSONL file in ``out``; return its path.

    The format is :mod:`localmem.importers.jsonl`'s: taken in by an empty memory it gives the same sessions,
    branches and all. Layers and vectors are not in it, for they can be made again. The file is replaced
    when it is whole. Raises :class:`BadInput` if it cannot be written.
    """
    path = out / name
    try:
        out.mkdir(parents=True, exist_ok=True)
        with _whole(path) as partial, partial.open("w", encoding="ascii", newline="\n") as file:
            for done, session in enumerate(sessions):
                progress(done)
                file.writelines(f"{json.dumps(line)}\n" for line in _lines(memory.whole(session.id)))
    except OSError as error:
        raise BadInput(f"Cannot write to {path}: {error.strerror or error}.") from error
    progress(len(sessions))
    return path


def _lines(session: NewSession) -> Iterator[dict[str, object]]:
    """One object for each message; what is said of the session stands in the first."""
    about = {
        "title": session.title,
        "started": session.started_at and session.started_at.isoformat(),
        "tags": session.tags,
        "archived": session.archived,
        "system": session.system,
        "leaf": session.leaf,
    }
    for message in session.messages:
        fields = {**_fields(message), **about}
        about = {}
        yield {
            "source": session.source,
            "session": session.external_id,
            "role": message.role,
            "text": message.text,
            **{
                name: value
                for name, value in fields.items()
                if value or (name == "parent" and value is not None)
            },
        }


def _fields(message: NewMessage) -> dict[str, object]:
    return {
        "at": message.sent_at and message.sent_at.isoformat(),
        "inferred": message.sent_at_inferred,
        "speaker": message.speaker,
        "id": message.external_id,
        "parent": message.parent,
        "origin": "" if message.origin is Origin.SAID else message.origin,
        "attachments": message.attachments,
    }


def folder_name(session: Session) -> str:
    """``000012-a-trip-to-oslo``: plain letters, and an id that no other session has."""
    plain = re.sub(r"[^a-z0-9]+", "-", (session.title or session.external_id).lower())
    return f"{session.id:06}-{plain[:NAME_LENGTH].strip('-')}".rstrip("-")


def _files(memory: Memory, session: Session) -> list[tuple[str, str]]:
    messages = memory.messages(session.id)
    files = []
    for layer in Layer:
        entries = memory.layer(session.id, layer)
        body = markdown.derived(layer, entries, memory.layer_failures(session.id), messages)
        head = markdown.front_matter(session, layer, entries, messages) + markdown.heading(session, layer)
        files.append((layer.value, f"{head}\n{body}"))
    head = markdown.front_matter(session, "raw", (), messages) + markdown.heading(session, "raw")
    return [*files, ("raw", f"{head}\n{markdown.raw(messages)}")]


def _write(path: Path, text: str) -> None:
    with _whole(path) as partial:
        partial.write_bytes(text.encode("utf-8", "surrogatepass"))


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A file to write to, which takes the place of ``path`` when it is whole."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
