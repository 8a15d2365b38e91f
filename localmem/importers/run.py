"""Take files into a memory: a conversation is read whole, stored, and then the next one is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from localmem.errors import BadInput, ImportFailed, SecretRefused
from localmem.importers import FORMATS, conversations, known
from localmem.importers.base import Conversation, Importer, ImportReport
from localmem.importers.inputs import Input, Inputs
from localmem.types import NewSession

UNKNOWN = "file of no known format"
"""Reason under which files are counted that lay beside those of a known one."""

REFUSED = "session refused: it holds a secret"
"""Reason under which sessions are counted that the settings refuse."""


def import_files(
    paths: Sequence[Path],
    format: str,
    store: Callable[[NewSession], list[int]] | None,
    progress: Callable[[ImportReport], None] = lambda report: None,
) -> ImportReport:
    """Read the files and hand their sessions to ``store``; with None, only report (a dry run).

    ``store`` returns the ids of what was new. What breaks is a line in ``failures``: a record is left out
    whole and the next one follows, a file ends where it breaks; what came before stays. Of a folder or an
    archive, files of no known format are counted and named. To take nothing in is a failure too. Raises
    :class:`BadInput` for an unknown format, :class:`ImportFailed` for a path that does not exist and an
    archive that is not safe to open.
    """
    if format != "auto" and format not in FORMATS:
        raise BadInput(f"There is no format {format!r}. Formats: auto, {', '.join(FORMATS)}.")
    with Inputs(paths) as inputs:
        run = _Run(format, store, progress, ImportReport(bytes=sum(file.size for file in inputs.files)))
        for file in inputs.files:
            run.take_in(file)
    report = run.report
    if not report.messages and not report.failures:
        names = ", ".join(map(str, paths))
        report.failures.append(f"{names}: there is no chat history in it; nothing was taken in.")
    return report


class _Run:
    """One import: its report grows with each conversation."""

    def __init__(
        self,
        format: str,
        store: Callable[[NewSession], list[int]] | None,
        progress: Callable[[ImportReport], None],
        report: ImportReport,
    ) -> None:
        self.report = report
        self._format = format
        self._store = store
        self._progress = progress

    def take_in(self, file: Input) -> None:
        before = self.report.bytes_read
        try:
            if self._format == "auto" and not file.given and known(file) is None:
                self.report.skipped[UNKNOWN] += 1
                self.report.unknown.append(str(file))
            else:
                importer, found = conversations(file, self._format, skipped=self.report.skipped)
                for conversation in found:
                    self._take(conversation, importer, file)
                    self.report.bytes_read = before + file.done
                    self._progress(self.report)
        except ImportFailed as error:
            self.report.failures.append(str(error))
        self.report.bytes_read = before + file.size
        self._progress(self.report)

    def _take(self, conversation: Conversation | ImportFailed, importer: Importer, file: Input) -> None:
        if isinstance(conversation, ImportFailed):
            self.report.failures.append(str(conversation))
            return
        for session in conversation:
            name = (session.source,) if importer.groups else (session.source, session.external_id)
            # Two files of one name are two sources, even if memory has not yet told them apart.
            self.report.found(session, (*name, str(file)) if session.source_is_file else name)
            if self._store is not None:
                try:
                    self.report.new_messages += len(self._store(session))
                except SecretRefused:
                    self.report.skipped[REFUSED] += 1
