"""Other people's memory stores behind the calls that localmem is measured by.

All get the same texts and, through the same embedder, the same vectors. Settings are each library's defaults
but for this: nothing is sent out or fetched. They come with the extra ``peers`` and none is imported before
it is opened.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from localmem.errors import BadInput
from localmem.models.protocols import Embedder
from localmem.peers.base import INSTALL, Peer
from localmem.peers.chroma import Chroma
from localmem.peers.lance import LanceDense, LanceHybrid
from localmem.peers.mem0 import Mem0

__all__ = ["INSTALL", "PEERS", "Peer", "available", "opened"]

PEERS: dict[str, type[Peer]] = {
    "peer-chromadb": Chroma,
    "peer-lancedb": LanceHybrid,
    "peer-lancedb-dense": LanceDense,
    "peer-mem0": Mem0,
}
"""By the name that ``--arm`` takes."""


def available(name: str) -> str | None:
    """Why the peer cannot be measured here, with what to do about it; None when it can."""
    return _known(name).missing()


@contextmanager
def opened(name: str, embedder: Embedder) -> Iterator[Peer]:
    """An empty store of the peer in a folder of its own, which goes when it is closed.

    Raises :class:`BadInput` for a name not in :data:`PEERS` and for a peer that is not :func:`available`.
    """
    kind = _known(name)
    if reason := kind.missing():
        raise BadInput(reason)
    with (
        tempfile.TemporaryDirectory(prefix="localmem-peer-", ignore_cleanup_errors=True) as folder,
        closing(kind(Path(folder), embedder)) as peer,
    ):
        yield peer


def _known(name: str) -> type[Peer]:
    if name not in PEERS:
        raise BadInput(f"There is no peer {name!r}. Peers: {', '.join(PEERS)}.")
    return PEERS[name]
