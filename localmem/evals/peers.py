"""Other people's systems as arms: each is filled with a conversation's messages and asked for records.

A peer that is not installed, or would need the network, is skipped with the reason and has no figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from localmem.models.protocols import Embedder
from localmem.peers import PEERS, Peer, available, opened
from localmem.types import NewSession

__all__ = ["PEERS", "Peer", "available", "filled"]


@contextmanager
def filled(name: str, sessions: Iterable[NewSession], embedder: Embedder) -> Iterator[Peer]:
    """A store of the peer that holds the sessions; it goes when the block ends.

    Raises :class:`BadInput` for a name that there is not and for a peer that is not available.
    """
    with opened(name, embedder) as peer:
        peer.add([message for session in sessions for message in session.messages])
        peer.index()
        yield peer
