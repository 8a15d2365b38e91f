"""Bring histories in: exports of chat programs, transcripts, JSONL, benchmarks, told apart by structure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from localmem.errors import BadInput, ImportFailed
from localmem.importers.base import Conversation, Importer, ImportReport
from localmem.importers.chatgpt import ChatGPT
from localmem.importers.claude import Claude
from localmem.importers.inputs import Source, expand
from localmem.importers.json_stream import check_utf8, reading, shape
from localmem.importers.jsonl import Jsonl
from localmem.importers.letta import Letta
from localmem.importers.llm_logs import LLM
from localmem.importers.lmstudio import LMStudio
from localmem.importers.locomo import LoCoMo
from localmem.importers.longmemeval import LongMemEval
from localmem.importers.markdown import Markdown
from localmem.importers.openwebui import OpenWebUI
from localmem.types import NewSession

__all__ = ["FORMATS", "ImportReport", "Importer", "conversations", "detect", "expand", "read_sessions"]

_IMPORTERS: tuple[Importer, ...] = (
    *(ChatGPT(), Claude(), OpenWebUI(), LMStudio(), LLM(), Letta()),
    *(LoCoMo(), LongMemEval(), Jsonl(), Markdown()),
)
FORMATS: dict[str, Importer] = {importer.name: importer for importer in _IMPORTERS}
"""Importers by the name that ``--format`` takes, in the order in which they are tried."""


def detect(source: Source) -> Importer:
    """Return the importer whose structure the file has; its name plays no part.

    Raises :class:`ImportFailed` when it is none, saying what it looks like and what was looked for.
    """
    found = known(source)
    if found is not None:
        return found
    with reading(source) as file:
        if not file.read(1):
            raise ImportFailed(f"{source}: the file is empty.")
    check_utf8(source)
    wanted = "; ".join(f"{importer.name}: {importer.looks_for}" for importer in FORMATS.values())
    raise ImportFailed(f"{source}: no known format. It looks like {_looks(source)}. Looked for {wanted}.")


def known(source: Source) -> Importer | None:
    """Return the importer whose structure the file has, or None."""
    head = shape(source)
    return next((importer for importer in FORMATS.values() if importer.matches(source, head)), None)


def _looks(source: Source) -> str:
    found = shape(source)
    names = ", ".join(sorted(repr(key)[:40] for key in found.keys if "." not in key)[:8])
    keys = f" with {names}" if names else ""
    return {
        "array": f"a JSON array of objects{keys}" if keys else "a JSON array",
        "object": f"a JSON object{keys}",
        "text": "a JSON text",
        "other": "a text without such a structure",
    }[found.top]


def conversations(
    source: Source, format: str = "auto", *, skipped: Counter[str]
) -> tuple[Importer, Iterator[Conversation | ImportFailed]]:
    """Read a file's conversations, and count in ``skipped`` what is passed over; also by which importer.

    ``format`` is ``auto`` or a name in ``FORMATS``; another one is :class:`BadInput`. What cannot be read of
    it comes as a value or is raised, as :class:`localmem.importers.base.Importer` says; a file without any
    message raises :class:`ImportFailed` at its end.
    """
    if format != "auto" and format not in FORMATS:
        raise BadInput(f"There is no format {format!r}. Formats: auto, {', '.join(FORMATS)}.")
    importer = detect(source) if format == "auto" else FORMATS[format]
    return importer, _not_empty(importer.read(source, skipped), source)


def _not_empty(
    found: Iterator[Conversation | ImportFailed], source: Source
) -> Iterator[Conversation | ImportFailed]:
    empty = True
    for conversation in found:
        if isinstance(conversation, ImportFailed) or conversation:
            empty = False
            yield conversation
    if empty:
        raise ImportFailed(f"{source}: there is no message in it to take in.")


def read_sessions(source: Source, format: str = "auto", *, skipped: Counter[str]) -> Iterator[NewSession]:
    """Read the sessions of one file; raises :class:`ImportFailed` for the first that cannot be read.

    See :func:`conversations`.
    """
    for conversation in conversations(source, format, skipped=skipped)[1]:
        if isinstance(conversation, ImportFailed):
            raise conversation
        yield from conversation
