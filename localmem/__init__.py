"""localmem: a private assistant that remembers, in one SQLite file, with no network.

``from localmem import Memory`` is the way in. The name is imported at its first use, because the child
process that hosts a model imports this package too and needs nothing of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from localmem.memory import Memory

__all__ = ["Memory", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "Memory":
        from localmem.memory import Memory

        return Memory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
