"""The command line: thin commands over :class:`localmem.memory.Memory`. stdout is data, stderr is talk."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from pathlib import Path

import click

from localmem import __version__
from localmem.cli.bench import bench_group
from localmem.cli.chat import chat_command
from localmem.cli.context import Context
from localmem.cli.damage import GroupOfCommands
from localmem.cli.doctor import doctor_command
from localmem.cli.evaluation import eval_group
from localmem.cli.history import import_command, sessions_command
from localmem.cli.layers import export_command, show_command, stats_command
from localmem.cli.models import models_group
from localmem.cli.privacy import (
    backup_command,
    check_command,
    decrypt_command,
    encrypt_command,
    forget_command,
    rekey_command,
)
from localmem.cli.questions import ask_command, demo_command, search_command
from localmem.cli.serving import mcp_command, serve_command
from localmem.cli.upkeep import build_command
from localmem.errors import LocalmemError
from localmem.models.network import RECORD, offline
from localmem.privacy.secrets import Policy
from localmem.text import printable


@click.group(
    cls=GroupOfCommands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option("--db", type=click.Path(path_type=Path), envvar="LOCALMEM_DB", help="The memory file.")
@click.option(
    "--home",
    type=click.Path(path_type=Path),
    envvar="LOCALMEM_HOME",
    help="The folder for models and settings.",
)
@click.option(
    "--key-file",
    type=click.Path(path_type=Path),
    envvar="LOCALMEM_KEY_FILE",
    help="The key of an encrypted memory is in this file.",
)
@click.option(
    "--secrets",
    type=click.Choice([policy.value for policy in Policy]),
    envvar="LOCALMEM_SECRETS",
    help="Keys, card numbers and passwords in what is stored: keep and tell, mask, or refuse them. "
    'Else as "secrets" in settings.json of the home says, else warn.',
)
@click.option("--quiet", is_flag=True, help="No progress and no remarks on stderr.")
@click.version_option(__version__, prog_name="localmem")
@click.pass_context
def cli(
    click_context: click.Context,
    db: Path | None,
    home: Path | None,
    key_file: Path | None,
    secrets: str | None,
    quiet: bool,
) -> None:
    """A private assistant that remembers. Without a command it opens the chat."""
    click_context.obj = Context(db, home, quiet, key_file, Policy(secrets) if secrets else None)
    click_context.with_resource(offline(click_context.obj.home / RECORD))
    click_context.call_on_close(click_context.obj.close)
    if click_context.invoked_subcommand is None:
        click_context.invoke(chat_command)


for command in (
    chat_command,
    import_command,
    sessions_command,
    show_command,
    search_command,
    ask_command,
    build_command,
    export_command,
    stats_command,
    forget_command,
    check_command,
    backup_command,
    encrypt_command,
    decrypt_command,
    rekey_command,
    models_group,
    doctor_command,
    demo_command,
    mcp_command,
    serve_command,
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
    except OSError as error:  # a disk that is full, a folder that is not ours
        if error.strerror is None:
            raise
        place = error.filename2 or error.filename
        click.echo(f"localmem: {printable(f'{place}: ' if place else '')}{error.strerror}.", err=True)
        return 1
    return code if isinstance(code, int) else 0
