"""The arms of the papers' main tables, run in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from localmem.evals.asking import Resources
from localmem.evals.log import Log
from localmem.evals.peers import PEERS, available
from localmem.evals.run import Run, Work, evaluate

OURS = (("hybrid", None), ("fixed", None), ("agent", None))
SAME_STORE = (
    ("mem0-flat", None),
    ("amem-flat", None),
    ("com-flat", None),
    ("mragent-flat", None),
    ("fca-ms", "C0"),
    ("bfr-text", "C3"),
    ("bfr-mv", "C6"),
)
"""The systems of BFR's main table, with the operating points it names."""
DIRECT = (("full-context", None), ("rag-raw", None), ("rag-layers", None))
"""The baselines without a controller of APDMem."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A table's arms over a benchmark."""

    benchmark: str
    arms: tuple[tuple[str, str | None], ...]
    """Each with its operating point."""
    conversation: str | None = None
    peers: bool = True
    """Whether other people's systems are run too, where they are installed."""


SUITES = {
    "paper-locomo": Suite("locomo", (*DIRECT, *SAME_STORE, *OURS)),
    "paper-longmemeval": Suite("longmemeval", (*DIRECT, *SAME_STORE, *OURS)),
    "paper-conv30": Suite("locomo", (("com-flat", None), ("mragent-flat", None), ("bfr-text", "C3"),
                                     ("bfr-mv", "C6"), *OURS), "conv-30", peers=False),
}  # fmt: skip
"""By the name that ``--suite`` takes."""


def runs_of(name: str, settings: Run) -> Iterator[Run]:
    """The runs of a suite with the settings (data, limit, models ...) that all of them share."""
    suite = SUITES[name]
    peers = [(peer, None) for peer in PEERS if suite.peers and available(peer) is None]
    for arm, point in (*suite.arms, *peers):
        yield replace(
            settings, benchmark=suite.benchmark, arm=arm, point=point, conversation=suite.conversation
        )


def missing_peers(name: str) -> dict[str, str]:
    """Systems of a suite that cannot be run, with the reason."""
    if not SUITES[name].peers:
        return {}
    return {peer: reason for peer in PEERS if (reason := available(peer)) is not None}


def run_suite(
    name: str,
    settings: Run,
    resources: Resources,
    out: Path | None,
    progress: Callable[[str, int, int], None],
    *,
    work: Work | None = None,
    skipped: Callable[[str], None] = lambda told: None,
) -> list[Log]:
    """Every run of a suite, one after the other; ``progress`` gets (label, questions done, in all)."""
    logs: list[Log] = []
    for run in runs_of(name, settings):

        def show(done: int, total: int, label: str = run.label) -> None:
            progress(label, done, total)

        tell = skipped if not logs else lambda told: None  # each run leaves out the same
        logs.append(evaluate(run, resources, out, show, work=work, skipped=tell))
    return logs
