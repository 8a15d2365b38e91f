"""Commands that bring histories in and look at them."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

import click
from rich.progress import BarColumn, DownloadColumn, ProgressColumn, TextColumn, TimeRemainingColumn

from localmem.cli.context import Context, pass_context, print_json
from localmem.importers import FORMATS
from localmem.importers.base import ImportReport
from localmem.importers.run import import_files
from localmem.privacy.secrets import Policy
from localmem.text import printable

EMBED_SECONDS = 120.0
"""How long an import waits for vectors once all is stored."""
_NAMED = 10
"""Files of no known format, and failures of a dry run, that are named one by one."""


@click.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["auto", *FORMATS]),
    default="auto",
    help="What the files are; auto looks at their structure.",
)
@click.option("--dry-run", is_flag=True, help="Read and report; store nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@pass_context
def import_command(
    context: Context, paths: tuple[Path, ...], format_name: str, dry_run: bool, as_json: bool
) -> int:
    """Take in conversation histories from files, folders or zip archives.

    What is there already is not doubled. Each conversation can be searched as soon as it is stored; vectors
    follow. It can be stopped at any time and goes on when it is run again.
    """
    memory = None if dry_run else context.memory()
    with nullcontext() if memory is None else memory.storing(), context.progress(*_columns()) as bar:
        task = bar.add_task("reading" if dry_run else "storing", total=None, messages=0)

        def progress(report: ImportReport) -> None:
            bar.update(task, total=report.bytes, completed=report.bytes_read, messages=report.messages)

        try:
            report = import_files(paths, format_name, memory.add if memory else None, progress)
        except KeyboardInterrupt:
            context.say(
                "Stopped. Whole conversations were stored and can be searched; import again to go on."
            )
            raise
    if as_json:
        print_json({**report.as_json(), **(_dry(report) if dry_run else {})})
        sys.stdout.flush()
    else:
        _print(report, dry_run)
    if report.secrets and not dry_run and context.memory().secrets is Policy.WARN:
        context.say("They were kept as they are. `localmem --secrets mask import ...` masks them.")
    for name in report.unknown[:_NAMED]:
        context.say(f"no known format: {name}")
    if memory is not None and report.new_messages:
        try:
            context.embed_for_now(memory, EMBED_SECONDS)
        except KeyboardInterrupt:
            context.say("All is stored and found by its words. `localmem build` makes the missing vectors.")
            raise
    return 1 if report.failures else 0


def _columns() -> tuple[ProgressColumn, ...]:
    """Progress by bytes, with the messages found so far."""
    return (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TextColumn("{task.fields[messages]} messages"),
        TimeRemainingColumn(),
    )


def _dry(report: ImportReport) -> dict[str, object]:
    """What only a dry run reports: it is what one wants to know before."""
    return {
        "branches": report.branches,
        "first": report.first and report.first.isoformat(),
        "last": report.last and report.last.isoformat(),
    }


def _print(report: ImportReport, dry_run: bool) -> None:
    new = "nothing was stored" if dry_run else f"{report.new_messages} new"
    click.echo(
        f"{len(report.conversations)} conversations, {len(report.sessions)} sessions, "
        f"{report.messages} messages; {new}."
    )
    if report.branches:
        click.echo(f"{report.branches} branches kept beside what the conversations went on from")
    if dry_run and report.first and report.last:
        click.echo(f"from {report.first:%Y-%m-%d} to {report.last:%Y-%m-%d}")
    for kind, count in sorted(report.secrets.items()):
        click.echo(f"noticed {count}: {kind}")
    for reason, count in sorted(report.skipped.items()):
        click.echo(f"skipped {count}: {printable(reason)}")
    shown = report.failures[:_NAMED] if dry_run else report.failures
    for failure in shown:
        click.echo(f"failed: {printable(failure)}", err=True)
    if len(shown) < len(report.failures):
        click.echo(f"failed: {len(report.failures) - len(shown)} more", err=True)


@click.command("sessions")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@pass_context
def sessions_command(context: Context, as_json: bool) -> None:
    """List the sessions in memory, newest first."""
    sessions = context.memory().sessions()
    if as_json:
        print_json(
            [
                {
                    "session_id": session.id,
                    "external_id": session.external_id,
                    "source": session.source,
                    "title": session.title,
                    "started_at": session.started_at and session.started_at.isoformat(),
                    "messages": session.messages,
                }
                for session in sessions
            ]
        )
        return
    for session in sessions:
        day = f"{session.started_at:%Y-%m-%d}" if session.started_at else "undated   "
        title = session.title or session.external_id
        click.echo(printable(f"{session.id:6}  {day}  {session.messages:5}  {session.source}  {title}"))
    if not sessions:
        context.say("No sessions yet. `localmem import FILE` takes a history in, `localmem` opens the chat.")
