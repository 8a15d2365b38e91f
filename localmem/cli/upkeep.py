"""Commands that keep what is derived from messages up to date."""

from __future__ import annotations

import time

import click
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from localmem.cli.context import Context, pass_context, print_json
from localmem.entries import Layer
from localmem.errors import EmbeddingMismatch
from localmem.index.embedding import reembed_file
from localmem.memory import Memory
from localmem.models.catalog import ModelRole
from localmem.models.protocols import ChatModel


@click.command("build")
@click.option(
    "--layer",
    type=click.Choice([layer.value for layer in Layer]),
    help="Build this layer instead of what is searched.",
)
@click.option("--session", "session_id", type=int, metavar="ID", help="Only this session's layer.")
@click.option("--max-seconds", type=click.FloatRange(min=0), metavar="N", help="Stop after so many seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
@pass_context
def build_command(
    context: Context, layer: str | None, session_id: int | None, max_seconds: float | None, as_json: bool
) -> None:
    """Make what is missing: vectors and summaries, or with --layer that layer by the summariser's model.

    All vectors are made anew when the embedding model has changed. It can be stopped at any time and
    goes on where it was.
    """
    try:
        memory = context.memory()
    except EmbeddingMismatch:
        with context.progress() as bar:
            task = bar.add_task("embedding again")
            reembed_file(
                context.database,
                context.library.embedder(),
                lambda done, total: bar.update(task, completed=done, total=total),
                key=context.key(),
            )
        memory = context.memory()
    if not context.embed(memory, max_seconds):
        context.say(f"Time is up; {memory.pending()} pieces of work wait. Go on: localmem build")
        return
    model = None
    if layer is not None:
        model = context.team.if_trusted(ModelRole.SUMMARISER, background=True)
        context.say(f"summariser: {context.team.serving(ModelRole.SUMMARISER)}")
    report = _build(context, memory, model, Layer(layer or Layer.SUMMARY), session_id, max_seconds)
    if as_json:
        print_json(report)
        return
    if layer is None:
        context.say("Every message has its vector and every turn its summary.")
        return
    rejected = f", {report['rejected']} statements rejected" if model else ""
    context.say(
        f"{layer}: {report['made']} made, {report['failed']} failed{rejected}, "
        f"{report['left']} left, {report['seconds']} s"
    )


def _build(
    context: Context,
    memory: Memory,
    model: ChatModel | None,
    layer: Layer,
    session_id: int | None,
    seconds: float | None,
) -> dict[str, object]:
    started = time.monotonic()
    if session_id is not None:
        memory.session(session_id)
    builder = memory.builder(model)
    total = len(builder.missing(layer, session_id))
    made = failed = rejected = 0
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with context.progress(*columns) as bar:
        task = bar.add_task(layer, total=total, rate="")
        for step in builder.build(layer, session_id, seconds=seconds):
            made, failed, rejected = made + step.made, failed + step.failed, rejected + step.rejected
            rate = f"{60 * (made + failed) / (time.monotonic() - started):.0f} a minute"
            bar.update(task, completed=made + failed, rate=rate)
    return {
        "layer": layer,
        "made": made,
        "failed": failed,
        "rejected": rejected,
        "left": len(builder.missing(layer, session_id)),
        "seconds": round(time.monotonic() - started, 1),
    }
