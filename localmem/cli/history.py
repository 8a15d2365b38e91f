"""Commands that bring histories in and look at them."""

from __future__ import annotations

from pathlib import Path

import click

from localmem.cli.context import Context, pass_context, print_json
from localmem.importers import FORMATS
from localmem.importers.base import ImportReport
from localmem.importers.run import import_files
from localmem.text import printable


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
    """Take in conversation histories from files or folders. What is there already is not doubled."""
    store = None if dry_run else context.memory().add
    with context.progress() as bar:
        task = bar.add_task("storing", total=None)

        def progress(report: ImportReport) -> None:
            bar.update(task, total=report.messages, completed=report.new_messages)

        report = import_files(paths, format_name, store, progress)
    if not dry_run:
        context.embed(context.memory())
    if as_json:
        print_json(report.as_json())
    else:
        click.echo(
            f"{len(report.sources)} conversations, {len(report.sessions)} sessions, "
            f"{report.messages} messages; {report.new_messages} new."
        )
        for reason, count in sorted(report.skipped.items()):
            click.echo(f"skipped {count}: {printable(reason)}")
        for failure in report.failures:
            click.echo(f"failed: {printable(failure)}", err=True)
    return 1 if report.failures else 0


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
