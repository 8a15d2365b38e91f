"""Every session as a folder of Markdown files, one for each layer."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from localmem.entries import Layer
from localmem.errors import BadInput
from localmem.layers import markdown
from localmem.memory import Memory
from localmem.types import Session

NAME_LENGTH = 40


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
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(text.encode("utf-8", "surrogatepass"))
    partial.replace(path)
