"""The command line: thin commands over :class:`localmem.memory.Memory`. stdout is data, stderr is talk."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from pathlib import Path

import click

from localmem import __version__
from localmem.cli.bench import bench_group
from localmem.cli.context import Context, pass_context
from localmem.cli.doctor import doctor_command
from localmem.cli.evaluation import eval_group
from localmem.cli.history import import_command, sessions_command
from localmem.cli.layers import export_command, show_command, stats_command
from localmem.cli.models import models_group
from localmem.cli.questions import ask_command, demo_command, search_command
from localmem.cli.upkeep import build_command
from localmem.errors import LocalmemError
from localmem.text import printable


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--db", type=click.Path(path_type=Path), envvar="LOCALMEM_DB", help="The memory file.")
@click.option(
    "--home",
    type=click.Path(path_type=Path),
    envvar="LOCALMEM_HOME",
    help="The folder for models and settings.",
)
@click.option("--quiet", is_flag=True, help="No progress and no remarks on stderr.")
@click.version_option(__version__, prog_name="localmem")
@click.pass_context
def cli(click_context: click.Context, db: Path | None, home: Path | None, quiet: bool) -> None:
    """A private assistant that remembers. Without a command it opens the chat."""
    click_context.obj = Context(db, home, quiet)
    click_context.call_on_close(click_context.obj.close)
    if click_context.invoked_subcommand is None:
        click_context.invoke(chat_command)


@cli.command("chat")
@click.option("--session", "session_id", type=int, metavar="ID", help="Go on with this session.")
@click.option("--last", is_flag=True, help="Go on with the latest chat.")
@pass_context
def chat_command(context: Context, session_id: int | None, last: bool) -> None:
    """Chat in the terminal, with everything remembered."""
    context.run_chat(session_id, last)


for command in (
    import_command,
    sessions_command,
    show_command,
    search_command,
    ask_command,
    build_command,
    export_command,
    stats_command,
    models_group,
    doctor_command,
    demo_command,
    eval_group,
    bench_group,
):
    cli.add_command(command)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code says how it went (0 done, 1 failed, 2 usage, 3 model, 4 store)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = cli.main(arguments, prog_name="localmem", standalone_mode=False)
    except LocalmemError as error:
        click.echo(f"localmem: {printable(str(error))}", err=True)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        click.echo("localmem: stopped.", err=True)
        return 130
    except BrokenPipeError:
        return 1
    return code if isinstance(code, int) else 0
