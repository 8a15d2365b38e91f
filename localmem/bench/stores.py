"""localmem and the memory stores beside it, in the order of the table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from localmem.bench.corpus import SESSION
from localmem.memory import Memory
from localmem.models.protocols import Embedder
from localmem.peers import PEERS, Peer
from localmem.types import NewMessage, NewSession, Role

ONE_THREAD = {"LANCE_CPU_THREADS": "1", "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
"""Environment that the libraries read at their first use, so that each has one thread where it can be chosen.

Not LANCE_IO_THREADS: with 1, LanceDB 0.40 waits for itself for ever.
"""


class Localmem(Peer):
    """This program: words and meaning, a vector for each piece of a message."""

    name = "localmem"
    package = "localmem-assistant"
    module = "localmem"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        super().__init__(folder, embedder)
        self._memory = Memory(folder / "memory.db", embedder)
        self._numbers: dict[int, int] = {}  # message id -> number

    def add_texts(self, texts: Sequence[str]) -> None:
        """Store the texts as chats; they are found by their words, their vectors follow."""
        roles = (Role.USER, Role.ASSISTANT)
        for first in range(0, len(texts), SESSION):
            part = texts[first : first + SESSION]
            said = tuple(NewMessage(roles[place % 2], text) for place, text in enumerate(part))
            for message_id in self._memory.add(NewSession("bench", str(len(self._numbers)), said)):
                self._numbers[message_id] = len(self._numbers)

    def index(self) -> None:
        """Wait for the vectors."""
        self._memory.wait_embedded()

    def find(self, question: str, k: int) -> list[int]:
        """Numbers of the ``k`` best texts, best first."""
        return [self._numbers[hit.message.id] for hit in self._memory.search(question, k)]

    def clear(self) -> None:
        """Delete all chats."""
        for session in self._memory.sessions():
            self._memory.delete_session(session.id)
        self._numbers.clear()

    def close(self) -> None:
        """Close the file."""
        self._memory.close()


STORES: tuple[type[Peer], ...] = (Localmem, *PEERS.values())
