"""The adapter that every peer has."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from localmem.models.protocols import Embedder
from localmem.types import Message, NewMessage

INSTALL = "pip install 'localmem-assistant[peers]'"


class Peer(ABC):
    """A store of messages that are found by a question.

    A kind of store adds and finds texts, which are numbered from 0 as they come; the messages' external ids
    are kept here.
    """

    name: ClassVar[str]
    package: ClassVar[str]
    """The distribution that it comes with."""
    module: ClassVar[str]
    """What that distribution is imported as."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        """``folder`` is empty and the store's own; the embedder stays the caller's."""
        # Some bring ONNX Runtime, which looks its maker's telemetry host up when it is loaded.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        self._embedder = embedder
        self._ids: list[str] = []  # by number

    @classmethod
    def missing(cls) -> str | None:
        """Why it cannot be opened, with what to do about it; None when it can."""
        if importlib.util.find_spec(cls.module) is None:
            return f"{cls.package} is not installed: {INSTALL}"
        return None

    @classmethod
    def version(cls) -> str:
        """Of the distribution."""
        return importlib.metadata.version(cls.package)

    def add(self, messages: Sequence[NewMessage] | Sequence[Message]) -> None:
        """Store messages. They are found at once."""
        if messages:
            self.add_texts([text_of(message) for message in messages])
            self._ids += [message.external_id or f"#{len(self._ids)}" for message in messages]

    def search(self, question: str, k: int) -> list[str]:
        """External ids of the ``k`` best messages, best first; all that there are when they are fewer."""
        return (
            [self._ids[number] for number in self.find(question, min(k, len(self._ids)))] if self._ids else []
        )

    def reset(self) -> None:
        """Forget every message."""
        self._ids.clear()
        self.clear()

    def index(self) -> None:
        """Make what is made once, after the first messages."""
        return

    def close(self) -> None:
        """Close the files."""
        return

    @abstractmethod
    def add_texts(self, texts: Sequence[str]) -> None:
        """Store one text or more."""

    @abstractmethod
    def find(self, question: str, k: int) -> list[int]:
        """Numbers of the ``k`` best texts, best first. The store is not empty."""

    @abstractmethod
    def clear(self) -> None:
        """Remove all texts; the next one has number 0."""


def text_of(message: NewMessage | Message) -> str:
    """What a peer stores of a message: who said it, the words, and captions of what was attached.

    localmem indexes the same. Lone surrogates become ``?``: no peer takes them.
    """
    lead = f"{message.speaker}: " if message.speaker else ""
    tail = f" {message.attachments}" if message.attachments else ""
    return f"{lead}{message.text}{tail}".encode("utf-8", "replace").decode()
