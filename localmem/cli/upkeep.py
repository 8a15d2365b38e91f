"""Commands that keep what is derived from messages up to date."""

from __future__ import annotations

import click

from localmem.cli.context import Context, pass_context
from localmem.errors import EmbeddingMismatch
from localmem.memory import reembed_file


@click.command("build")
@pass_context
def build_command(context: Context) -> None:
    """Make the vectors that are missing; all of them anew when the embedding model has changed."""
    try:
        memory = context.memory()
    except EmbeddingMismatch:
        with context.progress() as bar:
            task = bar.add_task("embedding again")
            reembed_file(
                context.database,
                context.library.embedder(),
                lambda done, total: bar.update(task, completed=done, total=total),
            )
        return
    context.embed(memory)
