"""Take files into a memory: each is read through once before the first of its messages is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from localmem.errors import ImportFailed
from localmem.importers import expand, read_sessions
from localmem.importers.base import ImportReport
from localmem.types import NewSession


def import_files(
    paths: Sequence[Path],
    format: str,
    store: Callable[[NewSession], list[int]] | None,
    progress: Callable[[ImportReport], None] = lambda report: None,
) -> ImportReport:
    """Read the files and hand their sessions to ``store``; with None, only report (a dry run).

    A file that breaks anywhere is not taken in at all: it is a line in ``failures``, and the others go
    on. Raises :class:`BadInput` for an unknown format or a path that does not exist.
    """
    report = ImportReport()
    for path in expand(paths):
        found = ImportReport()
        try:
            for session in read_sessions(path, format, skipped=found.skipped):
                found.sources.add(session.source)
                found.sessions.add((session.source, session.external_id))
                found.messages += len(session.messages)
        except ImportFailed as error:
            report.failures.append(str(error))
            continue
        report.include(found)
        progress(report)
        if store is not None:
            for session in read_sessions(path, format, skipped=Counter()):
                report.new_messages += len(store(session))
                progress(report)
    return report
