"""localmem: a private assistant that remembers, in one SQLite file, with no network.

``from localmem import Memory`` is the way in; ``with localmem.offline():`` keeps the whole process off the
network (:mod:`localmem.models.network`). Names are imported at their first use, because the child process
that hosts a model imports this package too and needs nothing of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from localmem.memory import Memory
    from localmem.models.network import offline

__all__ = ["Memory", "__version__", "offline"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "Memory":
        from localmem.memory import Memory

        return Memory
    if name == "offline":
        from localmem.models.network import offline

        return offline
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
