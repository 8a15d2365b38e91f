"""Commands about models: list, pull, use, verify."""

from __future__ import annotations

import click
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn

from localmem.cli.context import Context, pass_context, print_json
from localmem.models.catalog import ModelRole, catalog


@click.group("models")
def models_group() -> None:
    """List, fetch, choose and check the models that run on this machine."""


@models_group.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@pass_context
def list_command(context: Context, as_json: bool) -> None:
    """Show each model: installed or not, size, the roles it serves."""
    status = context.library.status()
    if as_json:
        print_json(
            [
                {
                    "name": model.name,
                    "kind": model.kind,
                    "installed": model.installed,
                    "bytes": model.size,
                    "roles": model.roles,
                    "licence": model.licence,
                    "note": model.note,
                }
                for model in status
            ]
        )
        return
    for model in status:
        mark = "installed" if model.installed else "-"
        size = f"{model.size / 1e6:,.0f} MB" if model.size else ""
        click.echo(f"{model.name:20} {model.kind:10} {mark:10} {size:>8}  {', '.join(model.roles)}")


@models_group.command("pull")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@pass_context
def pull_command(context: Context, names: tuple[str, ...]) -> None:
    """Fetch models. This is the only command that uses the network."""
    for name in names:
        with context.progress(TextColumn("{task.description}"), BarColumn(), DownloadColumn()) as bar:
            task = bar.add_task(f"fetching {name}", total=None)

            def show(done: int, total: int, task: TaskID = task, bar: Progress = bar) -> None:
                bar.update(task, completed=done, total=total)

            fresh = context.library.pull(name, show)
        context.say(f"{name}: {'installed' if fresh else 'is already here'}.")


@models_group.command("use")
@click.argument("role", type=click.Choice([role.value for role in ModelRole]))
@click.argument("name")
@pass_context
def use_command(context: Context, role: str, name: str) -> None:
    """Let a model (a name from the list, or the path of a .gguf file) serve a role."""
    context.library.use(role, name)
    context.say(f"{role}: {name}")


@models_group.command("verify")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@pass_context
def verify_command(context: Context, names: tuple[str, ...]) -> None:
    """Check the files of installed models against their hashes."""
    installed = [model.name for model in context.library.status() if model.installed]
    for name in names or installed:
        context.library.verify(name)
        click.echo(f"{name}: intact")
    if not (names or installed):
        context.say(f"No model is installed. Get them: localmem models pull {' '.join(catalog())}")
