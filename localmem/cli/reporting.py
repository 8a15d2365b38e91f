"""``localmem eval report``: tables and plots of runs in one file."""

from __future__ import annotations

from pathlib import Path

import click

from localmem.cli.context import Context, pass_context
from localmem.errors import BadInput
from localmem.evals.log import read_logs
from localmem.evals.statistics.extra import needed

NAMES = {"html": "report.html", "markdown": "report.md"}
"""Of the file, by format, where none is given."""


@click.command("report")
@click.argument("logs", metavar="DIR", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--format",
    "kind",
    type=click.Choice(list(NAMES)),
    default="html",
    show_default=True,
    help="A page with plots that needs no network, or its tables as GitHub's Markdown.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where to.  [default: report.html or report.md in DIR]",
)
@click.option(
    "--baseline",
    metavar="LABEL",
    help="The run that others are compared with.  [default: rag-raw, else bm25]",
)
@pass_context
def report_command(context: Context, logs: Path, kind: str, out: Path | None, baseline: str | None) -> None:
    """Write a report of the runs in DIR: results with intervals, paired tests, costs, examples."""
    with needed():  # templates and statistics are an extra
        from localmem.evals.report import build_report, html, markdown
    folder = logs if logs.is_dir() else logs.parent
    target = out or folder / NAMES[kind]
    report = build_report(read_logs(logs), baseline)
    text = html(report) if kind == "html" else markdown(report)
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{target} cannot be written: {error.strerror}.") from error
    context.say(f"Written: {target}")
