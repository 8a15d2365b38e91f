"""Forgetting from end to end, and the receipt for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from localmem.privacy.caches import fingerprints, forget_logs, forget_vectors
from localmem.privacy.copies import Copy, known_copies
from localmem.privacy.forget import Removed, forget
from localmem.privacy.needles import needles_of, words_of
from localmem.privacy.proof import Proof, prove, unexplained
from localmem.privacy.purge import WAIT, purge
from localmem.privacy.selection import Selection
from localmem.store import Database

OUT_OF_REACH = (
    "copies that you or other programs made, and the files that it was imported from",
    "snapshots of the file system, its freed blocks and the spare ones of an SSD",
    "the memory of programs that run now",
)
"""What no program can take back from here."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was forgotten, and what that could not reach."""

    selection: Selection
    removed: Removed
    home: Mapping[str, int]
    """What was taken out of the home: ``vectors`` of the evaluation's cache, ``log lines``."""
    proof: Proof | None
    """None: it was not asked for."""
    copies: tuple[Copy, ...]
    """Backups and exports of this memory that are still where they were made."""

    @property
    def clean(self) -> bool:
        """Whether nothing was found that should be gone; without a proof nothing was looked for."""
        return self.proof is None or not self.proof.hits

    def not_reached(self) -> list[str]:
        """Where it may still be, one sentence each."""
        found = [f"the {copy.kind} made on {copy.made_at[:10]}: {copy.path}" for copy in self.copies]
        found += [f"a file beside the store: {path}" for path in (self.proof.elsewhere if self.proof else ())]
        return [*found, *OUT_OF_REACH]

    def as_json(self) -> dict[str, object]:
        """The receipt as JSON; it repeats nothing of what was forgotten."""
        selection, proof = self.selection, self.proof
        return {
            "forgotten": {
                "messages": len(selection.messages),
                "answers": len(selection.answers),
                "sessions": len(selection.sessions),
            },
            "removed": dict(self.removed.rows),
            "rebuilt": {layer.value: count for layer, count in self.removed.rebuilt.items()},
            "home": dict(self.home),
            "proof": proof
            and {
                "looked_for": {kind.value: count for kind, count in proof.needles.items()},
                "scanned": proof.scanned,
                "bytes": sum(proof.scanned.values()),
                "hits": len(proof.hits),
                "found": [[hit.kind.value, hit.place, hit.offset] for hit in proof.hits],
                "decrypted": proof.decrypted,
                "own_word": proof.own_word,
            },
            "not_reached": self.not_reached(),
        }


def carry_out(
    database: Database, selection: Selection, home: Path | None, *, proving: bool, wait: float = WAIT
) -> Receipt:
    """Forget a selection, get its bytes out of the files, and with ``proving`` look for them.

    ``home``: its caches and logs are gone through too. Raises :class:`StoreLocked` when another program keeps
    the bytes in the file; it can be called again then, with what was selected anew.
    """
    needles = needles_of(database.connection(), selection)
    removed = forget(database, selection)
    wanted = unexplained(database.connection(), [*needles, *words_of(selection, removed.words)])
    taken = {}
    if home is not None:
        taken = {
            "vectors": forget_vectors(home, selection.every, fingerprints(database)),
            "log lines": forget_logs(home, wanted),
        }
    purge(database, wait)
    proof = prove(database, wanted, home) if proving else None
    copies = tuple(copy for copy in known_copies(database) if Path(copy.path).exists())
    return Receipt(selection, removed, taken, proof, copies)
